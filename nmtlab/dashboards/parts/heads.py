"""All attention heads of a Transformer at a glance."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from nmtlab.analysis.attention.heads import HEADS, KINDS, all_heads, heads_figure
from nmtlab.dashboards.frame.systems import system_of
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import show_if
from nmtlab.dashboards.widgets.note import heading
from nmtlab.runs.run import Run


class Heads(widgets.VBox):
    """Small heatmaps of every layer and head of the first Transformer among some runs; hidden without one.

    Args:
        on_choice: called with the layer and the head of a heatmap of cross-attention that is clicked, from 1; the head
            is 0 for the mean of the heads.
    """

    def __init__(self, on_choice: Callable[[int, int], None]) -> None:
        self._on_choice = on_choice
        self.fresh = False
        self.kind = widgets.ToggleButtons(options=KINDS, style={"button_width": "14em"})
        self.chart = Chart()
        self.chart.on_click(self._clicked)
        super().__init__([heading("All heads"), self.kind, self.chart], layout={"display": "none"})

    def show(self, runs: Sequence[Run], source: str, target: str | None) -> None:
        """Show the heads of the first Transformer among some runs.

        Args:
            runs: neural, with weights.
            source: a sentence.
            target: its translation; the system's own if not given.
        """
        self.fresh = True
        run = next((run for run in runs if HEADS.fits(run)), None)
        show_if(run, self)
        if run is not None:
            weights = all_heads(system_of(run), source, target).assign(run=run.label)
            self.chart.show(heads_figure(weights, self.kind.value))

    def clear(self) -> None:
        """Show nothing."""
        self.layout.display = "none"

    def _clicked(self, point: dict[str, Any]) -> None:
        if self.kind.value == "cross-attention":
            self._on_choice(*point["meta"])
