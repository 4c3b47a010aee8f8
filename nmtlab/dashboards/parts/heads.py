"""All attention heads of a Transformer at a glance."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from nmtlab.analysis.attention.heads import HEADS, KINDS, all_heads, heads_figure, heads_finding
from nmtlab.dashboards.frame.systems import described_runs, system_of
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import show_if
from nmtlab.dashboards.widgets.note import Answer
from nmtlab.figures.theme import with_subtitle
from nmtlab.runs.run import Run


class Heads(widgets.VBox):
    """Small heatmaps of every layer and head of the first Transformer among some runs, and what they show.

    Args:
        on_choice: called with the layer and the head of a heatmap of cross-attention that is clicked, from 1; the head
            is 0 for the mean of the heads.
    """

    def __init__(self, on_choice: Callable[[int, int], None]) -> None:
        self._on_choice = on_choice
        self.fresh = False
        self.kind = widgets.ToggleButtons(options=KINDS, style={"button_width": "14em"})
        self.answer, self.chart = Answer(), Chart()
        self.chart.on_click(self._clicked)
        super().__init__([self.answer, self.kind, self.chart])
        self.clear()

    def show(self, runs: Sequence[Run], source: str, target: str | None, about: str) -> None:
        """Show the heads of the first Transformer among some runs.

        Args:
            runs: neural, with weights.
            source: a sentence.
            target: its translation; the system's own if not given.
            about: where it is, for the subtitle.
        """
        self.fresh = True
        run = next((run for run in runs if HEADS.fits(run)), None)
        show_if(run, self.kind, self.chart)
        if run is None:
            self.answer.say("None of these runs is a Transformer.")
            return
        weights = all_heads(system_of(run), source, target).assign(run=run.label)
        self.answer.say(heads_finding(weights, self.kind.value))
        has_heads = self.kind.value in set(weights["kind"])
        show_if(has_heads, self.chart)
        if has_heads:
            self.chart.show(with_subtitle(heads_figure(weights, self.kind.value), described_runs([run], about)))

    def clear(self) -> None:
        """Show nothing."""
        self.answer.clear()
        show_if(False, self.kind, self.chart)

    def _clicked(self, point: dict[str, Any]) -> None:
        if self.kind.value == "cross-attention":
            self._on_choice(*point["meta"])
