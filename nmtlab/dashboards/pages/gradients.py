"""Gradient norms during training (thesis Figure 3.5), and the signals that enter each normalisation."""

import pandas as pd

from nmtlab.analysis.access.needs import NEURAL
from nmtlab.analysis.dynamics.curves import GRADIENT_CURVE, GRADIENT_SIZES, gradient_quantiles
from nmtlab.analysis.dynamics.signals import SIGNALS
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import mentioned
from nmtlab.dashboards.frame.views import answers
from nmtlab.dashboards.pages.dynamics import FIRST, NONE
from nmtlab.dashboards.parts.signals import Signals
from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

PAGE = About(
    place=52,
    group="Why",
    title="Gradients",
    question="Whose gradient norms stay small and stable, and how do gradients change from layer to layer? "
    "(thesis Figure 3.5)",
    name="gradients",
    needs=(NEURAL,),
    illustrates=(GRADIENT_SIZES, GRADIENT_CURVE, SIGNALS),
)


class GradientsPage(Page):
    """Gradient norms of several runs at every update, and their signals into each normalisation."""

    def __init__(self, workspace: Workspace) -> None:
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none=NONE)
        self.norms = answers(GRADIENT_CURVE, self.runs, "Gradient norm by quarter of the training", shown=_named)
        self.missing = Note()
        self.quantiles = Table("Quantiles of the gradient norm divided by √parameters, × 1,000")
        self.signals = Signals(workspace, self.guarded)
        sections = [
            self.norms,
            Section(("runs",), (self.missing,), self._explain),
            Section(("runs",), (self.quantiles,), self._show_quantiles),
            Section(("runs",), (self.signals,), lambda: self.signals.show(self.runs.chosen)),
        ]
        body = [
            self.norms.answer, self.missing, self.norms.chart,
            Fold("quarters", "How large is it, and how often does it spike, in each quarter?", self.norms.table),
            Fold("sizes", "How large is it where the number of parameters does not count?", self.quantiles),
            Fold("signals", "Which signals enter each normalisation layer?", self.signals),
        ]  # fmt: skip
        super().__init__(PAGE, {"runs": self.runs.table}, sections, body, [self.runs], self.runs.refresh)

    def _explain(self) -> None:
        without = [run for run in self.runs.chosen if run.log.gradient_norms().empty]
        self.missing.say(f"No gradient norms were logged with {mentioned(without)}." if without else "")

    def _show_quantiles(self) -> None:
        if chosen := self.runs.chosen:
            self.quantiles.show(_quantiles(chosen))


def gradients_page(workspace: Workspace | None = None) -> GradientsPage:
    """Return the page."""
    return GradientsPage(workspace or Workspace.find())


def _named(spikes: pd.DataFrame) -> pd.DataFrame:
    return spikes.rename(columns={"part": "quarter"})


def _quantiles(runs: list[Run]) -> pd.DataFrame:
    """Return a row for each run and a column for each quantile of its gradient norm divided by √parameters."""
    found = pd.concat([gradient_quantiles(run) for run in runs], ignore_index=True)
    names = (100 * found["quantile"]).map("{:g} %".format)
    wide = found.assign(quantile=names, component=1000 * found["component"]).pivot(
        index=["run", "parameters"], columns="quantile", values="component"
    )
    return wide[list(dict.fromkeys(names))].round(2).reset_index()
