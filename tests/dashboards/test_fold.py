"""Folds: what is in a closed one waits, and an address remembers which are open."""

import ipywidgets as widgets
import pandas as pd
import pytest

from nmtlab.dashboards.frame import page as page_module
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.table import Table

ABOUT = About(place=0, group="Why", title="Folded", question="Which?", name="folded")


class Folded:
    """A page of a number, with its answer in sight, details in a fold, and a note that is in both."""

    def __init__(self) -> None:
        self.number, self.calls = widgets.IntSlider(value=1), []
        self.answer, self.details, self.aside, self.both = Note(), Note(), Note(), (Note(), Note())
        self.fold = Fold(
            "more", "More & more?", self.details, Section(("number",), (self.aside,), lambda: self._show("aside"))
        )
        sections = [
            Section(("number",), (self.answer,), lambda: self._show("answer")),
            Section(("number",), (self.details,), lambda: self._show("details")),
            Section(("number",), self.both, lambda: self._show("both")),
        ]
        second = Fold("second", "Second", self.both[1])
        self.page = Page(ABOUT, {"number": self.number}, sections, [self.answer, self.both[0], self.fold, second])

    def _show(self, name: str) -> None:
        self.calls.append(name)
        if self.number.value < 50:
            for part in self.both if name == "both" else (getattr(self, name),):
                part.say(f"{name} {self.number.value}")


def test_what_is_in_a_closed_fold_is_shown_when_it_is_opened_and_then_follows_its_inputs():
    folded = Folded()
    assert folded.calls == ["answer", "both"]
    folded.number.value = 2
    folded.number.value = 3
    assert folded.calls[2:] == ["answer", "both"] * 2
    folded.fold.opened = True
    assert folded.calls[6:] == ["details", "aside"]
    assert (folded.details.value, folded.aside.value) == ("details 3", "aside 3")
    folded.number.value = 4
    assert folded.calls[8:] == ["answer", "details", "both", "aside"]


def test_what_has_become_stale_in_a_closed_fold_is_not_seen_again():
    folded = Folded()
    folded.fold.opened = True
    folded.fold.opened = False
    folded.number.value = 60
    assert folded.details.value == ""
    folded.fold.opened = True
    assert folded.calls[-2:] == ["details", "aside"]
    assert folded.details.value == ""


def test_a_fold_that_is_closed_and_opened_again_is_not_computed_again():
    folded = Folded()
    for opened in (True, False, True):
        folded.fold.opened = opened
    assert folded.calls.count("details") == 1


def test_an_address_says_which_folds_are_open_and_opens_them():
    folded = Folded()
    folded.fold.opened = True
    assert folded.page._browser.query == "number=1&open=more"
    again = Folded()
    again.page._opened("?number=7&open=more,second,unknown")
    assert again.fold.opened
    assert again.page._browser.query == "number=7&open=more%2Csecond"
    assert again.details.value == "details 7"


def test_an_address_known_from_the_start_is_read_before_anything_is_shown(monkeypatch):
    monkeypatch.setenv(page_module.ASKED, "number=9&open=second")
    folded = Folded()
    assert folded.calls == ["answer", "both"]
    assert folded.answer.value == "answer 9"
    folded.page._opened("?number=9&open=second")
    assert folded.calls == ["answer", "both"]


def test_going_back_restores_numbers_and_closes_folds():
    folded = Folded()
    folded.number.value, folded.fold.opened = 5, True
    folded.page._browser._answer(None, {"back": "?number=1"}, None)
    assert (folded.number.value, folded.fold.opened) == (1, False)
    assert folded.page._message.layout.display == "none"


@pytest.mark.parametrize("event", [1, 7])
def test_the_browser_learns_which_event_was_the_last_to_be_shown(event):
    browser = Folded().page._browser
    browser._answer(None, {"event": event}, None)
    browser._answer(None, {"looking": True}, None)
    assert (browser.done, browser.answered) == (event, 2)


def test_parts_and_controls_are_marked_by_the_names_that_they_depend_on_and_set():
    folded = Folded()
    assert "nmtlab-of-number" in folded.answer._dom_classes
    assert "nmtlab-sets-number" in folded.number._dom_classes


def test_going_back_empties_what_was_empty_and_leaves_a_checkbox_that_the_address_does_not_name():
    table, box = Table("t", pick="one"), widgets.Checkbox(value=True)
    page = Page(ABOUT, {"t": table, "c": box}, (), [table, box])
    table.show(pd.DataFrame({"x": [1]}, index=["r"]))
    table.choose(["r"])
    page._browser._answer(None, {"back": ""}, None)
    assert table.value is None
    assert box.value is True
    page._browser._answer(None, {"back": "?t=r&c=False"}, None)
    assert (table.value, box.value) == ("r", False)
