"""The frame of every page: question, controls, results, address and error messages."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from types import MappingProxyType
from typing import Protocol
from urllib.parse import parse_qsl, urlencode

import ipywidgets as widgets

from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.log import page_log
from nmtlab.dashboards.frame.saved import saved_page
from nmtlab.dashboards.widgets.browser import Browser
from nmtlab.dashboards.widgets.chart import SERVED, PlotlyScript
from nmtlab.dashboards.widgets.state import read_state, write_state
from nmtlab.errors import NmtlabError, error_of_the_machine

_log = page_log()

Update = Callable[[set[str]], None]


class Part(Protocol):
    """What an update shows: a chart, a table, a note, or work in progress."""

    fresh: bool
    """Whether it was shown or started since this was last set to False."""

    def clear(self) -> None:
        """Show nothing and stop any work."""


class Page(widgets.VBox):
    """A page.

    Args:
        about: name, title and question.
        state: widgets with a `value` that the address stores, by their names there. They are restored in this order.
        update: called with the changed names of `state`, and with all names when the page is created. Names that it
            changes itself are added to that set while it runs and do not trigger another call.
        body: controls and results, from top to bottom.
        refresh: called when the page is opened and periodically while it is visible; returns the names of `state` with
            new data.
        parts: what updates show, each with the names of `state` that it depends on. A part that depends on a changed
            name but was not shown by the update is stale, and is cleared.
    """

    def __init__(
        self,
        about: About,
        state: Mapping[str, widgets.Widget],
        update: Update,
        body: Sequence[widgets.Widget],
        refresh: Callable[[], Collection[str]] = lambda: (),
        parts: Mapping[Part, Collection[str]] = MappingProxyType({}),
    ) -> None:
        self.about = about
        self.state, self._update, self._refresh, self._parts = state, update, refresh, parts
        self._browser = Browser(self._opened, self._looking, self._tell_copied)
        self._message, self._copied = html("", "nmtlab-message"), Note()
        self._changes: set[str] | None = None
        self._failed: set[str] = set()
        self.body = list(body)
        head = html(f"<h1>{escape(about.title)}</h1><div class='nmtlab-question'>{escape(about.question)}</div>")
        script = [] if SERVED in os.environ else [PlotlyScript()]
        super().__init__([self._browser, *script, head, self._message, *self.body, self._foot()])
        self.add_class("nmtlab-page")
        self.tell("")
        for key, widget in state.items():
            widget.observe(lambda _, key=key: self._changed(key), "value")
        self._changed(*state)

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
            known = error if isinstance(error, NmtlabError) else error_of_the_machine(error)
            if known is None:
                _log.exception("page %s, %s", self.about.name, self._browser.query)
                known = f"Internal error ({type(error).__name__}): see data/logs/dashboards.log for details."
            self.tell(str(known))

    def _changed(self, *keys: str) -> None:
        """Update for the changed names; names that an update changes itself are added to the set it was given."""
        if self._changes is not None:
            self._changes.update(keys)
        elif keys:
            with self._together():
                self._changes.update(keys)

    @contextmanager
    def _together(self, action: bool = True) -> Iterator[None]:
        """Update once at the end of the block for all changes made in it; only a user action clears the message."""
        self._changes = set()
        try:
            yield
            if self._changes:
                if action:
                    self.tell("")
                self._answer_all(self._changes)
                self._browser.query = urlencode(read_state(self.state))
                self._copied.clear()
        finally:
            self._changes = None

    def _answer_all(self, changes: set[str]) -> None:
        """Update for these changes and those of a failed earlier update, then clear stale parts."""
        changes |= self._failed
        self._failed = changes
        for part in self._parts:
            part.fresh = False
        with self.guarded():
            self._update(changes)
            self._failed = set()
        for part, names in self._parts.items():
            if not part.fresh and changes.intersection(names):
                part.clear()

    def _opened(self, query: str) -> None:
        requested = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
        with self.guarded():
            with self._together():
                self._changed(*self._refresh())
            unknown = []
            for key, widget in self.state.items():  # in order: later options depend on earlier choices
                with self._together():
                    unknown += write_state({key: widget}, requested)
            if unknown:
                self.tell(f"The address requests unavailable values: {', '.join(unknown)}. The rest was applied.")

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

    def _save(self) -> None:
        with self.guarded():
            content = saved_page(self.about.title, self.about.question, read_state(self.state), self.body)
            self._browser.save(f"nmtlab-{self.about.name}.html", content)


def html(text: str = "", style: str = "") -> widgets.HTML:
    """Return an HTML widget for trusted markup; escape any other text first."""
    widget = widgets.HTML(text)
    if style:
        widget.add_class(style)
    return widget


class Note(widgets.HTML):
    """A short text beside a figure."""

    def __init__(self, text: str = "", more: str = "") -> None:
        super().__init__()
        self.add_class("nmtlab-note")
        self.say(text, more)

    def say(self, text: str, more: str = "") -> None:
        """Show a text, and what can be unfolded below it; markup in them is escaped."""
        unfolded = f"<details><summary>How to read this</summary><div>{escape(more)}</div></details>" if more else ""
        self.value = escape(text) + unfolded
        self.fresh = True

    def clear(self) -> None:
        """Show nothing."""
        self.say("")


def heading(text: str) -> widgets.HTML:
    """Return a section heading."""
    return html(f"<h2>{escape(text)}</h2>")
