"""Blind judging: which of two translations is better?"""

from functools import partial
from html import escape

import ipywidgets as widgets

from nmtlab.analysis.comparison.judging import Choice, Item, Sheet, agreement, preference
from nmtlab.dashboards.widgets.controls import button
from nmtlab.dashboards.widgets.note import Note, html
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Guarded
from nmtlab.grids.results.summary import rounded


class JudgingSheet(widgets.VBox):
    """A sheet for a person: sentence by sentence, two translations without their names, and three buttons."""

    def __init__(self, guarded: Guarded) -> None:
        self._guarded = guarded
        self._sheet: Sheet | None = None
        self._item: Item | None = None
        self.fresh = False
        self.person = widgets.Text(description="Your name", continuous_update=False)
        self.person.observe(lambda _: self._next(), "value")
        self.item, self.note, self.result = html(), Note(), Note()
        self.people = Table("Agreement of people on the sentences that both judged")
        choices: dict[str, Choice] = {"Left is better": "left", "Equal": "equal", "Right is better": "right"}
        self.buttons = {choice: button(name, partial(self._judge, choice), guarded) for name, choice in choices.items()}
        about = "It names the systems: judge first"
        self.show = button("Show the result", self._show_result, guarded, tooltip=about)
        controls = widgets.HBox([*self.buttons.values(), self.show])
        super().__init__([self.person, self.note, self.item, controls, self.result, self.people])
        self.clear()

    def offer(self, sheet: Sheet) -> None:
        """Offer a sheet; the judgements so far are kept with the run."""
        self._sheet, self.fresh, self.layout.display = sheet, True, ""
        self.result.clear()
        self.people.clear()
        self._next()

    def clear(self) -> None:
        """Show nothing."""
        self._sheet = self._item = None
        self.item.value = ""
        self.layout.display = "none"

    def _next(self) -> None:
        with self._guarded():
            sheet, person = self._sheet, self.person.value.strip()
            self._item = sheet.next_item(person) if sheet and person else None
            for one in self.buttons.values():
                one.disabled = self._item is None
            self.item.value = _shown(self._item) if self._item else ""
            self.note.say(self._progress(sheet, person) if sheet else "")

    def _progress(self, sheet: Sheet, person: str) -> str:
        if not len(sheet):
            return "The two systems translate every sentence alike: nothing to judge."
        if not person:
            return f"{len(sheet)} sentences that the two systems translate differently. Enter your name to begin."
        done = int((sheet.judgements()["person"] == person).sum())
        return f"{done} of {len(sheet)} judged by {person}; every judgement is kept, and you can go on at any time."

    def _judge(self, choice: Choice) -> None:
        if self._sheet and self._item:
            self._sheet.judge(self.person.value, self._item.line, choice)
        self.result.clear()
        self.people.clear()
        self._next()

    def _show_result(self) -> None:
        if self._sheet is None:
            return
        judgements = self._sheet.judgements()
        self.result.say(_result(preference(judgements), self._sheet))
        pairs = agreement(judgements)
        if len(pairs):
            self.people.show(rounded(pairs))


def _shown(item: Item) -> str:
    """Return a sentence to judge, as markup."""
    cells = "".join(f"<td>{escape(text)}</td>" for text in (item.left, item.right))
    return (
        f"<div class='nmtlab-judged'><p>Source: {escape(item.source)}</p><p>Reference: {escape(item.reference)}</p>"
        f"<table><tr><th>left</th><th>right</th></tr><tr>{cells}</tr></table></div>"
    )


def _result(found: dict[str, float], sheet: Sheet) -> str:
    if not found["sentences"]:
        return "Nothing is judged yet."
    counts = (
        f"Of {found['sentences']:.0f} sentences, judged by {found['people']:.0f}: {sheet.system} better in "
        f"{found['system']:.0f}, {sheet.than} in {found['than']:.0f}, equal {found['equal']:.0f}."
    )
    if found["share"] != found["share"]:
        return counts
    return (
        f"{counts} {sheet.system} is preferred in {found['share']:.0%} of those with a preference "
        f"({found['low']:.0%} to {found['high']:.0%}, 95 %, Wilson)."
    )
