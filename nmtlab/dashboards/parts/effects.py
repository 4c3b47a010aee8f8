"""How the difference between systems develops over training, from the measured tables."""

from contextlib import suppress

import ipywidgets as widgets
import pandas as pd

from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.widgets.controls import offer
from nmtlab.errors import NmtlabError
from nmtlab.figures.view import View
from nmtlab.grids.declared.labels import row_label
from nmtlab.grids.results.curves import with_dev_curves
from nmtlab.grids.results.kept import Kept
from nmtlab.thesis.measured import all_measured
from nmtlab.thesis.shown.effects import effect_view
from nmtlab.thesis.tables.listing import find_table
from nmtlab.workspace import Workspace

_MISSING = "No table here has dev scores of its trainings: run 'nmtlab reproduce TABLE --save'."
_FIRST = "related-parents: gl-en (4,000)"


class Effects(ViewSection):
    """The systems of a measured table against one of them; `text` selects table and row, `than` the system.

    `state` holds the widgets that an address stores.
    """

    def __init__(self, workspace: Workspace) -> None:
        available = _available(workspace)
        self._systems = {f"{table}: {text}": (table, text, names) for (table, text), names in available.items()}
        labels = [f"{table}: {_label(table, text)}" for table, text in available]
        options = list(zip(labels, self._systems, strict=True))
        self.text = widgets.Dropdown(description="Table", options=options, layout={"width": "100%"})
        self.than = widgets.Dropdown(description="Against", layout={"width": "100%"})
        if _FIRST in self._systems:
            self.text.value = _FIRST
        self.text.observe(lambda _: self._offer(), "value")
        self._offer()
        self.state = {"table": self.text, "than": self.than}
        super().__init__(self._view, self.state, "At the end, in points of dev BLEU", shown=_named)

    def _view(self) -> View | None:
        if not self.text.value:
            self.answer.say("" if self._systems else _MISSING)
            return None
        table, text, _ = self._systems[self.text.value]
        return effect_view(table, text, self.than.value)

    def _offer(self) -> None:
        """Offer the systems of the selected table; the one to compare with stays if the table has it."""
        if self.text.value:
            offer(self.than, self._systems[self.text.value][2])


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


def _named(ends: pd.DataFrame) -> pd.DataFrame:
    return ends.rename(columns={"step": "updates", "rising": "seeds not yet converged"})
