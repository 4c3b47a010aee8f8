"""How the difference between systems develops over training, from the measured tables."""

from contextlib import suppress

import ipywidgets as widgets

from nmtlab.dashboards.frame.page import Note
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.columns import row
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.experiments.measured import all_measured
from nmtlab.experiments.results.curves import with_dev_curves
from nmtlab.experiments.results.kept import Kept
from nmtlab.experiments.shown.effects import effect_view
from nmtlab.experiments.tables.labels import row_label
from nmtlab.experiments.tables.listing import find_table
from nmtlab.workspace import Workspace

_MISSING = "No table here has dev scores of its trainings: run 'nmtlab reproduce TABLE --save'."
_RISING = "seeds that were still rising"


class Effects(widgets.VBox):
    """The systems of a measured table against one of them; `text` selects table and row, `than` the system."""

    def __init__(self, workspace: Workspace) -> None:
        available = _available(workspace)
        self._systems = {f"{table}: {text}": (table, text, names) for (table, text), names in available.items()}
        labels = [f"{table}: {_label(table, text)}" for table, text in available]
        options = list(zip(labels, self._systems, strict=True))
        self.text = widgets.Dropdown(description="Table", options=options, layout={"width": "30em"})
        self.than = widgets.Dropdown(description="Minus", layout={"width": "24em"})
        self.text.observe(lambda _: self._offer(), "value")
        self._offer()
        self._chart, self._ends = Chart(), Table("At the end, in points of dev BLEU")
        missing = "" if self._systems else _MISSING
        super().__init__([row(self.text, self.than), Note(missing), self._chart, self._ends])

    def show(self) -> None:
        """Show the selected table, if any."""
        if not self.text.value:
            return
        table, text, _ = self._systems[self.text.value]
        view = effect_view(table, text, self.than.value)
        self._chart.show(view.figure)
        self._ends.show(view.frame.round(2).rename(columns={"step": "updates", "rising": _RISING}))

    def _offer(self) -> None:
        """Offer the systems of the selected table; the one to compare with stays if the table has it."""
        if self.text.value:
            systems = self._systems[self.text.value][2]
            before = self.than.value
            self.than.options = systems
            self.than.value = before if before in systems else systems[0]


def _available(workspace: Workspace) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the systems with dev scores of each table and row, the table's baseline first."""
    found, kept = {}, Kept.of(workspace)
    for stored in all_measured(workspace):
        with suppress(NmtlabError):  # a damaged file must not take the page with it
            for text, systems in with_dev_curves(stored.table, stored.cells, kept).items():
                if stored.scale == "small" and len(systems) > 1:
                    found[stored.table.name, text] = tuple(
                        sorted(systems, key=lambda name: name != stored.table.baseline)
                    )
    return found


def _label(table: str, row: str) -> str:
    (declared,) = find_table(table).only([row]).rows
    return row_label(declared, "small")
