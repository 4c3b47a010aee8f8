"""Layouts of controls, which of them are seen, and what they offer."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from nmtlab.dashboards.widgets.work import Guarded


def columns(*parts: widgets.Widget) -> widgets.HBox:
    """Return parts in columns of equal width."""
    box = widgets.HBox(list(parts))
    box.add_class("nmtlab-columns")
    return box


def row(*controls: widgets.Widget) -> widgets.HBox:
    """Return small controls in a row that wraps."""
    box = widgets.HBox(list(controls))
    box.add_class("nmtlab-row")
    return box


def button(text: str, press: Callable[[], None], guarded: Guarded, **look: Any) -> widgets.Button:
    """Return a button; errors in what it does are reported, and `look` are further arguments of the widget."""

    def pressed(_: widgets.Button) -> None:
        with guarded():
            press()

    made = widgets.Button(description=text, **look)
    made.on_click(pressed)
    return made


def show_if(wanted: object, *parts: widgets.Widget) -> None:
    """Show parts if something is true, and hide them otherwise."""
    for part in parts:
        part.layout.display = "" if wanted else "none"


def offer(chooser: widgets.Dropdown, options: Sequence[Any], otherwise: Any = None) -> None:
    """Offer options, values or pairs of a label and a value.

    The chosen value stays chosen if it is offered; if not, `otherwise` is chosen, or else the first.
    """
    if tuple(options) == tuple(chooser.options):
        return
    before = chooser.value
    chooser.options = tuple(options)
    values = [value for _, value in chooser._options_full]
    chooser.value = next((value for value in (before, otherwise, *values) if value in values), None)
