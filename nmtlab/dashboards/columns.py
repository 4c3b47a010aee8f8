"""Parts of a page beside each other."""

import ipywidgets as widgets


def columns(*parts: widgets.Widget) -> widgets.HBox:
    """Return parts in columns of the same width."""
    box = widgets.HBox(list(parts))
    box.add_class("nmtlab-columns")
    return box


def row(*controls: widgets.Widget) -> widgets.HBox:
    """Return small controls in a row that wraps."""
    box = widgets.HBox(list(controls))
    box.add_class("nmtlab-row")
    return box
