"""What is chosen from a long list as chips, and the list as a panel over the page."""

from pathlib import Path

import anywidget
import ipywidgets as widgets
import traitlets

from nmtlab.dashboards.widgets.table import Table

_HERE = Path(__file__).parent


class LongTable(Table):
    """A table in a panel, which has no rows in the browser before `send_rows`; all else is as in any table."""

    def __init__(self, title: str, pick: str) -> None:
        super().__init__(title, pick, height="62vh")
        self._sent = False

    def send_rows(self) -> None:
        """Send the rows to the browser, now and whenever they change."""
        self._sent = True
        self._send_content()

    def _send_content(self) -> None:
        if self._sent:
            super()._send_content()


class Chips(anywidget.AnyWidget):
    """Chips, and a button that opens the panel in the same chooser; a chip is removed by its cross.

    Args:
        label: of the button.
        table: the list in the panel; its rows are sent to the browser when the panel is first opened.
        sets: name of the page's state that a removed chip changes.
    """

    _esm, _css = _HERE / "chips.js", _HERE / "runs.css"
    label = traitlets.Unicode().tag(sync=True)
    sets = traitlets.Unicode().tag(sync=True)
    chips = traitlets.List(traitlets.Dict()).tag(sync=True)
    """Each with a `key` of the table, a `label`, a `title` for its tooltip, and the `group` that it is under."""
    removable = traitlets.Bool().tag(sync=True)
    opened = traitlets.Bool().tag(sync=True)
    sent = traitlets.Bool().tag(sync=True)

    def __init__(self, label: str, table: LongTable, sets: str = "") -> None:
        super().__init__(label=label, sets=sets, removable=table.multiple)
        self._table = table
        self.observe(lambda _: self._open(), "opened")
        self.on_msg(lambda _, content, __: self._remove(content["remove"]))

    def _open(self) -> None:
        self._table.send_rows()
        self.sent = True

    def _remove(self, key: str) -> None:
        self._table.chosen = [other for other in self._table.chosen if other != key]


def panel(*parts: widgets.Widget) -> widgets.VBox:
    """Return a box that is seen only while the button of its chooser's `Chips` has it open."""
    box = widgets.VBox(parts)
    box.add_class("nmtlab-panel")
    return box
