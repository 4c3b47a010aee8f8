"""The frame of every page: question, controls, results, address and error messages."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from urllib.parse import parse_qsl, urlencode

import ipywidgets as widgets

from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold, OpenFolds, homes_of, placed, sections_of
from nmtlab.dashboards.frame.log import page_log
from nmtlab.dashboards.frame.saved import saved_page
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.widgets.browser import Browser
from nmtlab.dashboards.widgets.chart import SERVED, PlotlyScript
from nmtlab.dashboards.widgets.note import Note, html
from nmtlab.dashboards.widgets.state import read_state, write_state
from nmtlab.errors import NmtlabError, error_of_the_machine

_log = page_log()

ASKED = "QUERY_STRING"
"""Environment variable with the query of the address, set by Voila for kernels that were started for a page."""


class Page(widgets.VBox):
    """A page.

    Args:
        about: name, title and question.
        state: widgets with a `value` that the address stores, by their names there. They are restored in this order.
        sections: what follows from the state. After a change, those with a changed input are shown, in this order; all
            when the page is created. One whose parts are all in closed folds waits until a fold is opened. Of a section
            that failed, the changed inputs count as changed the next time, too.
        body: the answer, its figure, and folds with what else there is, from top to bottom; a section, too, which then
            comes after `sections`, and for which its parts are seen.
        rail: what is shown is chosen here, beside the body.
        refresh: called when the page is opened and periodically while it is visible; returns the names of `state` with
            new data.
    """

    def __init__(
        self,
        about: About,
        state: Mapping[str, widgets.Widget],
        sections: Sequence[Section],
        body: Sequence[widgets.Widget | Section],
        rail: Sequence[widgets.Widget] = (),
        refresh: Callable[[], Collection[str]] = lambda: (),
    ) -> None:
        self.folds = [one for one in body if isinstance(one, Fold)]
        self.about, self._refresh, self.sections = about, refresh, [*sections, *sections_of(body)]
        self.state = {**state, "open": OpenFolds(self.folds)} if self.folds else state
        self.body, self.rail = widgets.VBox(placed(body)), widgets.VBox([*rail])
        self._homes = dict(homes_of((self.rail, self.body)))
        self._waiting: dict[Section, set[str]] = {}
        self._browser = Browser(self._opened, self._looking, self._tell_copied, self._go_back)
        self._message, self._copied = html("", "nmtlab-message"), Note()
        self._changes: set[str] | None = None
        self._failed: set[str] = set()
        head = html(f"<h1>{escape(about.title)}</h1><div class='nmtlab-question'>{escape(about.question)}</div>")
        script = [] if SERVED in os.environ else [PlotlyScript()]
        split = widgets.HBox([self.rail, self.body] if rail else [self.body])
        super().__init__([self._browser, *script, head, self._message, split, self._foot()])
        for widget, style in ((self, "page"), (split, "split"), (self.rail, "rail"), (self.body, "body")):
            widget.add_class(f"nmtlab-{style}")
        self._name_what_follows()
        self.tell("")
        for key, widget in self.state.items():
            widget.observe(lambda _, key=key: self._changed(key), "value")
        self._restore(os.environ.get(ASKED, ""), new=self.state)

    def _name_what_follows(self) -> None:
        """Mark controls and parts by names of the state, so that the browser can dim what a change makes stale."""
        for key, widget in self.state.items():
            if isinstance(widget, widgets.DOMWidget):
                widget.add_class(f"nmtlab-sets-{key}")
        for section in self.sections:
            for part in section.parts:
                if isinstance(part, widgets.DOMWidget):
                    part._dom_classes += tuple(f"nmtlab-of-{key}" for key in section.inputs)

    def tell(self, problem: str) -> None:
        """Show a message, or hide it if `problem` is empty."""
        self._message.value = escape(problem)
        self._message.layout.display = "" if problem else "none"

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Show what the user can mend as a message in the page; log any other error and point to the log."""
        try:
            yield
        except Exception as error:
            self.tell(self._problem(error))

    def _problem(self, error: Exception) -> str:
        known = error if isinstance(error, NmtlabError) else error_of_the_machine(error)
        if known is None:
            _log.error("page %s, %s", self.about.name, self._browser.query, exc_info=error)
            return f"Internal error ({type(error).__name__}): see data/logs/dashboards.log for details."
        return str(known)

    def _changed(self, *keys: str) -> None:
        """Show what depends on the changed names; those that a section changes are added while it runs."""
        if self._changes is not None:
            self._changes.update(keys)
        elif keys:
            with self._together() as changes:
                changes.update(keys)

    @contextmanager
    def _together(self, action: bool = True) -> Iterator[set[str]]:
        """Show all changes of a block at its end, at once; only a user action clears the message."""
        self._changes = set()
        try:
            yield self._changes
            if self._changes:
                if action:
                    self.tell("")
                self._show_sections(self._changes)
                self._browser.query = urlencode(read_state(self.state))
                self._copied.clear()
        finally:
            self._changes = None

    def _show_sections(self, changes: set[str]) -> None:
        """Show the sections that depend on these changes or on those of failed ones; tell the first problem."""
        changes |= self._failed
        self._failed = set()
        problems = [problem for section in self.sections if (problem := self._show_section(section, changes))]
        if problems:
            self.tell(problems[0])

    def _show_section(self, section: Section, changes: set[str]) -> str:
        """Show a section if an input has changed, and clear the parts that it does not show; return its problem."""
        changed, waiting = changes.intersection(section.inputs), self._waiting.pop(section, set())
        folded = self._is_folded(section)
        if folded and changed | waiting:
            self._waiting[section] = changed | waiting
        if not changed and (folded or not waiting):
            return ""
        for part in section.parts:
            part.fresh = False
        problem = ""
        try:
            if not folded:
                section.show()
        except Exception as error:
            self._failed |= changed | waiting
            problem = self._problem(error)
        for part in section.parts:
            if not part.fresh:
                part.clear()
        return problem

    def _is_folded(self, section: Section) -> bool:
        """Return whether all parts of a section that the page has are in closed folds."""
        homes = [self._homes[id(part)] for part in section.parts if id(part) in self._homes]
        return bool(homes) and not any(home is None or home.opened for home in homes)

    def _opened(self, query: str) -> None:
        with self.guarded():
            with self._together():
                self._changed(*self._refresh())
            if query.removeprefix("?") != self._browser.query:
                self._restore(query)

    def _go_back(self, query: str) -> None:
        """Restore an earlier address; what is typed now and was not then is emptied."""
        emptied = dict.fromkeys(read_state(self.state), "")
        self._restore(urlencode(emptied | _read(query)), report=False)

    def _restore(self, query: str, new: Collection[str] = (), report: bool = True) -> None:
        """Set the state that an address asks for, as far as there is such, and tell what there is not.

        What is set at once is shown at once; the rest is tried again after that, as earlier choices offer later ones.

        Args:
            query: of the address.
            new: names of the state that are shown whether they change or not.
            report: whether to tell.
        """
        requested, before = _read(query), [""]
        unknown = self._apply(requested, new)
        while requested and unknown != before:
            before, unknown = unknown, self._apply(requested)
        if unknown and report:
            self.tell(f"Some of this link is not available here: {', '.join(unknown)}.")

    def _apply(self, requested: Mapping[str, str], new: Collection[str] = ()) -> list[str]:
        unknown: list[str] = []
        with self.guarded(), self._together():
            unknown = write_state(self.state, requested)
            self._changed(*new)
        return unknown

    def _looking(self) -> None:
        before = self._message.value
        with self.guarded(), self._together(action=False):
            self._changed(*self._refresh())
        self._message.value = before or self._message.value  # the message of an action stays until the next action

    def _foot(self) -> widgets.Widget:
        save = widgets.Button(description="Save this page", tooltip="As one HTML file with its figures and tables")
        copy = widgets.Button(description="Copy the link", tooltip="The address that restores this state of the page")
        save.on_click(lambda _: self._save())
        copy.on_click(lambda _: self._browser.copy_address())
        foot = widgets.HBox([save, copy, self._copied])
        foot.add_class("nmtlab-foot")
        return foot

    def _tell_copied(self, address: str, copied: bool) -> None:
        self._copied.say("Copied." if copied else f"This browser does not let pages copy; the link is {address}")

    def saved(self) -> str:
        """Return the page as it stands, as one HTML file."""
        return saved_page(self.about.title, self.about.question, read_state(self.state), [self.body, self.rail])

    def _save(self) -> None:
        with self.guarded():
            self._browser.save(f"nmtlab-{self.about.name}.html", self.saved())


def _read(query: str) -> dict[str, str]:
    return dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
