"""Side-by-side layouts."""

import ipywidgets as widgets


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
