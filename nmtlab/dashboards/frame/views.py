"""Sections that show a view: what it says, a chart and its numbers."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import check_needs
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import described_runs
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.note import Answer
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import RunError
from nmtlab.figures.theme import with_subtitle
from nmtlab.figures.view import View
from nmtlab.runs.run import Run


class ViewSection(Section):
    """A view as an `answer`, a `chart` and a `table`.

    `frame` is the table before it is rounded, empty if nothing is shown.

    Args:
        view: returns it; None if there is nothing to show.
        inputs: names of the page's state that it depends on.
        title: of the table; without one, it is not seen.
        digits: decimals in the table.
        shown: from the view's table to the one that is shown.
        missing: says what is missing if there is nothing to show.
    """

    def __init__(
        self,
        view: Callable[[], View | None],
        inputs: Collection[str],
        title: str = "",
        digits: int = 2,
        shown: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table,
        missing: Callable[[], str] = lambda: "",
    ) -> None:
        self._view, self._digits, self._to_show, self._missing = view, digits, shown, missing
        self.answer, self.chart, self.table, self.frame = Answer(), Chart(), Table(title), pd.DataFrame()
        parts = (self.answer, self.chart, self.table) if title else (self.answer, self.chart)
        super().__init__(inputs, parts, self._draw)

    def _draw(self) -> None:
        self.frame = pd.DataFrame()
        if view := self._view():
            self.frame = view.frame
            self.answer.say(view.finding)
            if view.figure.data:
                self.chart.show(view.figure)
            self.table.show(self._to_show(view.frame).round(self._digits).reset_index(drop=True))
        elif missing := self._missing():  # else the view has said it
            self.answer.say(missing)


def answers(
    analysis: Analysis,
    runs: RunChooser,
    title: str = "",
    digits: int = 2,
    shown: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table,
    of: str = "",
    **arguments: widgets.ToggleButtons,
) -> ViewSection:
    """Return a section with the answers of an analysis, as a `ViewSection`, for the chosen runs that it fits.

    If it fits none, the section says what the first one lacks. Runs and text are in the subtitle of the figure.

    Args:
        of: the text that the answers are of, as of `described_runs`.
        arguments: controls whose values are arguments of the analysis, named as in the page's state.
    """

    def view() -> View | None:
        given = {name: control.value for name, control in arguments.items()}
        return view_of(analysis, runs.chosen, of, **given)

    return ViewSection(view, ("runs", *arguments), title, digits, shown, lambda: _lacking(analysis, runs.chosen))


def _lacking(analysis: Analysis, runs: Sequence[Run]) -> str:
    """Say what the first of some runs, none of which an analysis fits, lacks for it; empty if there are none."""
    try:
        for run in runs:
            check_needs(run, analysis.needs)
    except RunError as error:
        return f"{str(error)[0].upper()}{str(error)[1:]}."
    return ""


def view_of(analysis: Analysis, runs: Iterable[Run], of: str = "", **arguments: Any) -> View | None:
    """Return the answers for those of some runs that an analysis fits, and of what they are in the subtitle."""
    fitting = [run for run in runs if analysis.fits(run)]
    if not fitting:
        return None
    view = analysis.view(fitting, **arguments)
    with_subtitle(view.figure, described_runs(fitting, of))
    return view
