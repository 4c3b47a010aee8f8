"""A section that shows the answers of an analysis."""

from collections.abc import Callable

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.table import Table


class Answers(Section):
    """The answers of an analysis for those of the chosen runs that can be asked, as a `chart` and a `table`.

    `frame` is the table before it is rounded; empty if nothing is shown.

    Args:
        analysis: with a figure.
        runs: the chooser.
        title: of the table.
        digits: decimals in the table.
        shown: from the analysis' table to the one that is shown.
        arguments: controls whose values are arguments of the analysis, by name; the page's state has the same names.
    """

    def __init__(
        self,
        analysis: Analysis,
        runs: RunChooser,
        title: str,
        digits: int = 2,
        shown: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table,
        **arguments: widgets.ToggleButtons | widgets.Dropdown,
    ) -> None:
        self._analysis, self._runs, self._digits, self._to_show = analysis, runs, digits, shown
        self._arguments, self.frame = arguments, pd.DataFrame()
        self.chart, self.table = Chart(), Table(title)
        super().__init__(("runs", *arguments), (self.chart, self.table), self._show)

    def _show(self) -> None:
        self.frame = pd.DataFrame()
        if runs := [run for run in self._runs.chosen if self._analysis.fits(run)]:
            view = self._analysis.view(runs, **{name: control.value for name, control in self._arguments.items()})
            self.frame = view.frame
            self.chart.show(view.figure)
            self.table.show(self._to_show(view.frame).round(self._digits).reset_index(drop=True))
