"""The state of a page as text, for its address."""

import math
from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets

from nmtlab.dashboards.table import Table


def read_state(state: Mapping[str, widgets.Widget]) -> dict[str, str]:
    """Return each widget's value as text, without those that have none."""
    texts = {key: _text(widget.value) for key, widget in state.items()}
    return {key: text for key, text in texts.items() if text}


def write_state(state: Mapping[str, widgets.Widget], asked: Mapping[str, str]) -> list[str]:
    """Give widgets the values that an address asks for, and return what cannot be given."""
    return [
        f"{key} = {asked[key][:100]}"
        for key, widget in state.items()
        if key in asked and asked[key] != _text(widget.value) and not _give(widget, asked[key])
    ]


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


def _give(widget: widgets.Widget, text: str) -> bool:
    """Give a widget the value of a text; return whether it has taken all of it."""
    if isinstance(widget, Table):
        widget.choose(text.split(",") if widget.multiple else [text])
    elif isinstance(widget, widgets.Dropdown | widgets.ToggleButtons | widgets.SelectionSlider):
        fitting = [value for _, value in widget._options_full if str(value) == text]
        widget.value = fitting[0] if fitting else widget.value
    elif isinstance(widget, widgets.Checkbox):
        widget.value = text == "True"
    elif isinstance(widget, widgets.FloatSlider | widgets.IntSlider):
        try:
            number = type(widget.value)(text)
        except ValueError:
            return False
        if not math.isfinite(number):
            return False
        widget.value = number
    else:
        widget.value = text
    return _text(widget.value) == text
