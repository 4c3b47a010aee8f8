"""The choice of one system with weights among the chosen runs."""

import ipywidgets as widgets

from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.systems import can_decode, of_one_pair
from nmtlab.dashboards.widgets.controls import offer
from nmtlab.runs.run import Run


class SystemMenu(widgets.Dropdown):
    """A menu of the chosen runs with weights; `run` is the selected one, if there is any."""

    def __init__(self, runs: RunChooser) -> None:
        self._runs = runs
        super().__init__(description="System", options=[])

    def fill(self) -> None:
        """Offer the chosen runs."""
        offer(self, [(run.label, run.name) for run in self.able])

    @property
    def able(self) -> list[Run]:
        """The chosen runs with weights."""
        return [run for run in self._runs.chosen if can_decode(run)]

    @property
    def run(self) -> Run | None:
        """The selected run."""
        return next((run for run in self.able if run.name == self.value), None)

    @property
    def of_its_pair(self) -> list[Run]:
        """The chosen runs with weights that translate the language pair of the selected one."""
        return of_one_pair(self.able, self.run.direction) if self.run else []
