"""The frame of every page: its question, its controls and what they answer; its address; errors in words."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from types import MappingProxyType
from typing import Protocol
from urllib.parse import parse_qsl, urlencode

import ipywidgets as widgets

from nmtlab.dashboards.about import About
from nmtlab.dashboards.browser import Browser
from nmtlab.dashboards.chart import SERVED, PlotlyScript
from nmtlab.dashboards.log import page_log
from nmtlab.dashboards.saved import saved_page
from nmtlab.dashboards.state import read_state, write_state
from nmtlab.errors import NmtlabError

_log = page_log()

Update = Callable[[set[str]], None]


class Part(Protocol):
    """What an update shows: a chart, a table, a note, or work under way."""

    fresh: bool
    """Whether it was shown, or begun, since this was last set to False."""

    def clear(self) -> None:
        """Show nothing, and do nothing more."""


class Page(widgets.VBox):
    """A page.

    Args:
        about: its name, title and question.
        state: what the address keeps, by name there: widgets with a `value`. They are restored in this order.
        update: called with the names of `state` that have changed, of all when the page is made. What it changes itself
            is added to them while it runs, and does not call it again.
        body: controls and what answers them, from top to bottom.
        refresh: called when the page is opened and while it is looked at; says which names of `state` have something
            new behind them.
        parts: what updates show, each with the names of `state` that it depends on. What an update did not show though
            one of these has changed would be of an earlier choice: it is cleared.
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
        self._browser = Browser(self._opened, self._looking)
        self._message = html("", "nmtlab-message")
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
        """Show a person a sentence, or nothing."""
        self._message.value = escape(problem)
        self._message.layout.display = "" if problem else "none"

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Tell of errors in words: those a person can mend as they are, others by a pointer to the log."""
        try:
            yield
        except NmtlabError as error:
            self.tell(str(error))
        except Exception:
            _log.exception("page %s, %s", self.about.name, self._browser.query)
            self.tell("Something went wrong here, and it is not your doing: data/logs/dashboards.log says what.")

    def _changed(self, *keys: str) -> None:
        """Update for what has changed; what an update itself changes, it finds among the names that it was given."""
        if self._changes is not None:
            self._changes.update(keys)
        elif keys:
            with self._together():
                self._changes.update(keys)

    @contextmanager
    def _together(self, action: bool = True) -> Iterator[None]:
        """Update once, behind the block, for all that is changed in it; only an action takes a message away."""
        self._changes = set()
        try:
            yield
            if self._changes:
                if action:
                    self.tell("")
                self._answer_all(self._changes)
                self._browser.query = urlencode(read_state(self.state))
        finally:
            self._changes = None

    def _answer_all(self, changes: set[str]) -> None:
        """Update for changes, and for those of an update that failed before, and clear what is of an earlier choice."""
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
        asked = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
        with self.guarded():
            with self._together():
                self._changed(*self._refresh())
            unknown = []
            for key, widget in self.state.items():  # in turn: what there is to choose from depends on those before
                with self._together():
                    unknown += write_state({key: widget}, asked)
            if unknown:
                self.tell(f"The address asks for what is not here: {', '.join(unknown)}. The rest is as it asks.")

    def _looking(self) -> None:
        before = self._message.value
        with self.guarded(), self._together(action=False):
            self._changed(*self._refresh())
        self._message.value = before or self._message.value  # what an action has said stands until the next one

    def _foot(self) -> widgets.Widget:
        save = widgets.Button(description="Save this page", tooltip="One HTML file with these figures and tables")
        copy = widgets.Button(description="Copy the link", tooltip="The address that opens the page as it is now")
        save.on_click(lambda _: self._save())
        copy.on_click(lambda _: self._browser.copy_address())
        foot = widgets.HBox([save, copy])
        foot.add_class("nmtlab-foot")
        return foot

    def _save(self) -> None:
        with self.guarded():
            content = saved_page(self.about.title, self.about.question, read_state(self.state), self.body)
            self._browser.save(f"nmtlab-{self.about.name}.html", content)


def html(text: str = "", style: str = "") -> widgets.HTML:
    """Return a place for markup of ours; text from anywhere else has to be escaped before."""
    place = widgets.HTML(text)
    if style:
        place.add_class(style)
    return place


class Note(widgets.HTML):
    """A place for a sentence beside a figure."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.add_class("nmtlab-note")
        self.say(text)

    def say(self, text: str) -> None:
        """Show text, whatever stands in it, as text."""
        self.value = escape(text)
        self.fresh = True

    def clear(self) -> None:
        """Say nothing."""
        self.say("")


def heading(text: str) -> widgets.HTML:
    """Return the heading of a part of a page."""
    return html(f"<h2>{escape(text)}</h2>")
