"""State as text: what is read can be given back, and what cannot is named."""

import ipywidgets as widgets
import pandas as pd
import pytest

from nmtlab.dashboards.widgets.state import read_state, write_state
from nmtlab.dashboards.widgets.table import Table

ROWS = pd.DataFrame({"x": [1, 2, 3]}, index=["a", "b", ","])


def table(pick: str, frame: pd.DataFrame = ROWS) -> Table:
    shown = Table("some", pick=pick)
    shown.show(frame)
    return shown


MADE = {
    "one row": (lambda: table("one"), "b", "b"),
    "a row whose key is a comma": (lambda: table("one"), ",", ","),
    "a row whose key is a number": (lambda: table("one", ROWS.set_axis([1, 2, 3])), "2", 2),
    "rows": (lambda: table("many"), "b,a", ("b", "a")),
    "dropdown of numbers": (lambda: widgets.Dropdown(options=[1, 2]), "2", 2),
    "dropdown with labels": (lambda: widgets.Dropdown(options=[("one", "x"), ("two", "y")]), "y", "y"),
    "toggle": (lambda: widgets.ToggleButtons(options=[("BLEU", "bleu"), ("perplexity", "p")]), "p", "p"),
    "slider of choices": (lambda: widgets.SelectionSlider(options=["s", "m"]), "m", "m"),
    "on": (lambda: widgets.Checkbox(value=False), "True", True),
    "off": (lambda: widgets.Checkbox(value=True), "False", False),
    "whole number": (lambda: widgets.IntSlider(value=1, max=9), "7", 7),
    "number": (lambda: widgets.FloatSlider(value=1, max=9), "2.5", 2.5),
    "text": (lambda: widgets.Text(), "<b> &=?%", "<b> &=?%"),
    "lines": (lambda: widgets.Textarea(), "one\ntwo", "one\ntwo"),
}


@pytest.mark.parametrize("kind", MADE)
def test_what_is_given_as_text_is_read_again(kind):
    make, text, value = MADE[kind]
    widget = make()
    assert write_state({"w": widget}, {"w": text}) == []
    assert widget.value == value
    assert read_state({"w": widget}) == {"w": text}


REFUSED = {
    "one row": (lambda: table("one"), "z"),
    "one of two rows": (lambda: table("many"), "a,z"),
    "dropdown": (lambda: widgets.Dropdown(options=[1, 2]), "3"),
    "toggle": (lambda: widgets.ToggleButtons(options=["a", "b"]), "c"),
    "checkbox": (lambda: widgets.Checkbox(value=True), "yes"),
    "whole number": (lambda: widgets.IntSlider(value=1, max=9), "1.5"),
    "beyond": (lambda: widgets.IntSlider(value=1, max=9), "10"),
    "no number": (lambda: widgets.FloatSlider(value=1, max=9), "nan"),
    "no end": (lambda: widgets.FloatSlider(value=1, max=9), "inf"),
    "word for number": (lambda: widgets.FloatSlider(value=1, max=9), "two"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_given_is_named(kind):
    make, text = REFUSED[kind]
    assert write_state({"w": make()}, {"w": text}) == [f"w = {text}"]


def test_rows_that_are_not_there_leave_the_choice_as_it_was():
    for pick, value in (("one", "b"), ("many", ("b",))):
        shown = table(pick)
        shown.choose(["b"])
        assert write_state({"w": shown}, {"w": "z"}) == ["w = z"]
        assert shown.value == value


def test_what_is_named_is_not_endless():
    (named,) = write_state({"w": widgets.Dropdown(options=[1])}, {"w": "x" * 10_000})
    assert len(named) < 120


def test_what_has_no_value_is_not_in_the_address():
    state = {"row": table("one"), "rows": table("many"), "none": widgets.Dropdown(options=[]), "text": widgets.Text()}
    assert read_state(state) == {}


def test_names_that_are_not_asked_for_stay():
    number = widgets.IntSlider(value=5)
    assert write_state({"w": number}, {"other": "7"}) == []
    assert number.value == 5
