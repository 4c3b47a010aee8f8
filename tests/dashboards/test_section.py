"""The sections of a page: what is shown, cleared and shown again follows from their inputs."""

import html
from collections.abc import Callable
from types import SimpleNamespace

import ipywidgets as widgets

from nmtlab.analysis.attention.confidence import CONFIDENCE
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.views import answers
from nmtlab.dashboards.widgets.note import Note
from nmtlab.errors import NmtlabError
from nmtlab.runs.run import Run

ABOUT = About(place=0, group="Why", title="Numbers", question="Which?", name="numbers")
BAD = 99


class Numbers:
    """A page with three numbers, `a` to `c`, and a list of what was shown, by the names of the notes."""

    def __init__(self) -> None:
        self.numbers = {name: widgets.IntText(value=1) for name in "abc"}
        self.notes: dict[str, Note] = {}
        self.shown: list[str] = []
        self._sections: list[Section] = []

    def section(self, note: str, inputs: str, also: Callable[[], None] = lambda: None) -> None:
        """Add a section with a note of its inputs' values, if all are above 0; a bad one is an error."""
        self.notes[note] = Note()

        def show() -> None:
            self.shown.append(note)
            values = [self.numbers[name].value for name in inputs]
            if BAD in values:
                raise NmtlabError(f"{note} is bad", "take another number")
            also()
            if min(values) > 0:
                self.notes[note].say(str(values))

        self._sections.append(Section(inputs, (self.notes[note],), show))

    def open(self) -> None:
        """Make the page, which shows everything, and forget that."""
        self.page = Page(ABOUT, self.numbers, self._sections, list(self.notes.values()))
        self.shown.clear()

    def set(self, **values: int) -> list[str]:
        """Change numbers, one after the other, and return what this shows."""
        self.shown.clear()
        for name, value in values.items():
            self.numbers[name].value = value
        return list(self.shown)

    @property
    def told(self) -> str:
        return self.page._message.value

    @property
    def said(self) -> dict[str, str]:
        return {name: note.value for name, note in self.notes.items()}


def opened(**inputs: str) -> Numbers:
    numbers = Numbers()
    for note, names in inputs.items():
        numbers.section(note, names)
    numbers.open()
    return numbers


def test_sections_are_shown_in_their_order_and_only_those_with_a_changed_input():
    numbers = opened(last="c", both="ab", first="a")
    assert numbers.said == {"last": "[1]", "both": "[1, 1]", "first": "[1]"}
    assert numbers.set(a=2) == ["both", "first"]
    assert numbers.set(b=3, c=4) == ["both", "last"]
    assert numbers.said == {"last": "[4]", "both": "[2, 3]", "first": "[2]"}
    assert numbers.set(a=2) == []


def test_a_part_that_its_section_does_not_show_is_cleared_and_no_other():
    numbers = opened(first="a", both="ab")
    assert numbers.set(b=0) == ["both"]
    assert numbers.said == {"first": "[1]", "both": ""}
    numbers.set(b=2)
    assert numbers.said == {"first": "[1]", "both": "[1, 2]"}


def test_parts_without_a_way_to_show_them_are_cleared_when_an_input_changes():
    note = Note("pressed")
    number, other = widgets.IntText(), widgets.IntText()
    Page(ABOUT, {"a": number, "b": other}, [Section(("a",), (note,))], [note])
    note.say("pressed")
    other.value = 1
    assert note.value == "pressed"
    number.value = 1
    assert note.value == ""


def test_what_a_section_changes_reaches_the_sections_after_it_and_not_those_before():
    numbers = Numbers()
    numbers.section("before", "b")
    numbers.section("changes b", "a", lambda: numbers.numbers["b"].set_trait("value", 10 * numbers.numbers["a"].value))
    numbers.section("after", "b")
    numbers.open()
    assert numbers.set(a=2) == ["changes b", "after"]
    assert numbers.said == {"before": "[1]", "changes b": "[2]", "after": "[20]"}
    assert numbers.page._browser.query == "a=2&b=20&c=1"


def test_a_section_that_fails_is_cleared_and_leaves_the_others_shown():
    numbers = opened(first="a", bad="ab", last="a")
    numbers.set(b=BAD)
    assert numbers.said == {"first": "[1]", "bad": "", "last": "[1]"}
    assert numbers.told == "bad is bad; take another number"
    assert numbers.set(a=2) == ["first", "bad", "last"]
    assert numbers.said == {"first": "[2]", "bad": "", "last": "[2]"}


def test_of_several_problems_the_first_is_told():
    numbers = opened(fine="b", one="a", other="a")
    numbers.set(a=BAD)
    assert numbers.told == "one is bad; take another number"


def test_what_failed_is_shown_again_with_the_next_change_with_all_that_depends_on_what_had_changed():
    numbers = opened(alone="c", bad="ab", also="b")
    assert numbers.set(b=BAD) == ["bad", "also"]
    numbers.numbers["b"].unobserve_all()  # as if what is behind it were mended
    numbers.numbers["b"].value = 3
    assert numbers.set(c=2) == ["alone", "bad", "also"]
    assert numbers.said == {"alone": "[2]", "bad": "[1, 3]", "also": "[3]"}
    assert numbers.told == ""
    assert numbers.set(c=3) == ["alone"]


def test_a_section_of_answers_says_what_the_runs_lack_that_it_fits_none_of(zoo):
    chosen: list[Run] = []
    section = answers(CONFIDENCE, SimpleNamespace(chosen=chosen))
    section.show()
    assert section.answer.value == ""
    chosen.append(zoo("learned"))
    section.show()
    lacking = f"Run '{chosen[0].name}': no sentences are packed with it; choose a packed run with sentences."
    assert lacking in html.unescape(section.answer.value)
