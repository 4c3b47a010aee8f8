"""The state of a page as text, for its address."""

import math
from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets

from nmtlab.dashboards.widgets.table import Table


def read_state(state: Mapping[str, widgets.Widget]) -> dict[str, str]:
    """Return the value of each widget as text; widgets without a value are omitted."""
    texts = {key: _text(widget.value) for key, widget in state.items()}
    return {key: text for key, text in texts.items() if text}


def write_state(state: Mapping[str, widgets.Widget], requested: Mapping[str, str]) -> list[str]:
    """Set widgets to the values requested by an address; return those that cannot be set, as `key = value`."""
    return [
        f"{key} = {requested[key][:100]}"
        for key, widget in state.items()
        if key in requested and requested[key] != _text(widget.value) and not _set(widget, requested[key])
    ]


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


def _set(widget: widgets.Widget, text: str) -> bool:
    """Set a widget to a value given as text; return whether it accepted the whole value."""
    if isinstance(widget, Table):
        if text:
            widget.choose(text.split(",") if widget.multiple else [text])
        else:
            widget.unpick()
    elif isinstance(widget, widgets.Dropdown | widgets.ToggleButtons | widgets.SelectionSlider):
        fitting = [value for _, value in widget._options_full if str(value) == text]
        widget.value = fitting[0] if fitting else widget.value
    elif isinstance(widget, widgets.Checkbox):
        widget.value = {"True": True, "False": False}.get(text, widget.value)
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
