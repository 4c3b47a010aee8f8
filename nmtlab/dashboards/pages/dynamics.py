"""Training dynamics (thesis Figures 3.4 and 3.5) and convergence (Tables 3.12 and 3.15)."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import NEURAL
from nmtlab.analysis.access.translations import TRANSLATED
from nmtlab.analysis.comparison.recipes import RECIPES, differing_settings
from nmtlab.analysis.dynamics.convergence import CONVERGENCE, FLOOR, TRAIN_PERPLEXITY, learned
from nmtlab.analysis.dynamics.curves import DEV_CURVE, GRADIENT_CURVE, GRADIENT_SIZES, LOSS_CURVE, gradient_quantiles
from nmtlab.analysis.dynamics.signals import SIGNALS
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import mentioned
from nmtlab.dashboards.frame.views import ViewSection, answers
from nmtlab.dashboards.parts.effects import Effects
from nmtlab.dashboards.parts.signals import Signals
from nmtlab.dashboards.widgets.controls import columns, row
from nmtlab.dashboards.widgets.note import Note, heading
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.figures.view import View
from nmtlab.grids.trainability import MAP, map_path
from nmtlab.runs.run import Run
from nmtlab.thesis.shown.trainability import trainability_view
from nmtlab.workspace import Workspace

PAGE = About(
    place=50,
    group="Why",
    title="Training dynamics",
    question="Which systems learn faster, and whose gradient norms stay stable? (thesis Figures 3.4 and 3.5)",
    name="dynamics",
    needs=(NEURAL,),
    illustrates=(TRANSLATED, TRAIN_PERPLEXITY, CONVERGENCE, GRADIENT_SIZES, GRADIENT_CURVE, SIGNALS),
)

FIRST = tuple(f"deep-de-en.{name}" for name in ("post-layernorm", "pre-layernorm", "post-scalenorm", "pre-scalenorm"))
_VERDICTS = {
    "step": "reached at update", "best_bleu": "best BLEU", "bleu": "last BLEU", "perplexity": "last perplexity",
    "rising": "still rising at the end",
}  # fmt: skip


class DynamicsPage(Page):
    """Dev scores and gradients of several runs, finished or still training; which Transformers converge."""

    def __init__(self, workspace: Workspace) -> None:
        none = "No runs yet: start one on the page Train."
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none=none)
        self.score = widgets.ToggleButtons(
            description="Score", options=[("BLEU", "bleu"), ("perplexity", "perplexity")]
        )
        self.over = widgets.ToggleButtons(description="Over", options=[("updates", "step"), ("minutes", "minutes")])
        self.live = Note()
        self.dev = answers(DEV_CURVE, self.runs, "Best evaluation of each run", score=self.score, over=self.over)
        self.losses = answers(
            LOSS_CURVE, self.runs, "Loss at the last logged update, with its terms", digits=3, shown=_named_terms
        )
        self.gradients = answers(GRADIENT_CURVE, self.runs, "Gradient norm by quarter of the training", digits=3)
        self.verdicts = Table(
            f"Learned to translate (dev BLEU {FLOOR:g} or more)? Still rising: the last evaluation is the best"
        )
        self.quantiles = Table("Quantiles of the gradient norm divided by √parameters, × 1,000")
        self.recipes = Table(RECIPES, height="20em")
        self.signals, self.effects = Signals(workspace, self.guarded), Effects(workspace)
        trainings, no_maps = _trainings(workspace)
        self.training = widgets.Dropdown(
            description="Training", options=trainings, layout={"width": "64em", "max_width": "100%"}
        )
        self.maps = ViewSection(self._map, ("training",))
        state = {
            "runs": self.runs.table, "score": self.score, "over": self.over, "training": self.training,
            **self.effects.state,
        }  # fmt: skip
        tables = (self.verdicts, self.quantiles, self.recipes)
        sections = [
            self.effects.section, self.dev, self.gradients,
            Section(("runs",), tables, self._show_tables),
            Section(("runs",), (self.live,), lambda: self.live.say(_progress(self.runs.chosen))),
            Section(("runs",), (), lambda: self.signals.show(self.runs.chosen)),
        ]  # fmt: skip
        body = [
            self.live, self.dev.chart, columns(self.dev.table, self.verdicts),
            self.losses, self.gradients.chart, columns(self.gradients.table, self.quantiles),
            self.recipes,
            heading("Which signals enter each normalisation layer?"), self.signals,
            heading("Which Transformers converge?"), row(self.training), Note(no_maps), self.maps,
            heading("Does a change gain, or does it only gain time?"), self.effects,
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs, self.score, self.over], self.runs.refresh)

    def _map(self) -> View | None:
        return trainability_view(self.training.value) if self.training.value else None

    def _show_tables(self) -> None:
        if chosen := self.runs.chosen:
            self.verdicts.show(_verdicts([run for run in chosen if run.origin.imported is None]))
            self.quantiles.show(_quantiles(chosen))
            self.recipes.show(differing_settings(chosen))


def dynamics_page(workspace: Workspace | None = None) -> DynamicsPage:
    """Return the page."""
    return DynamicsPage(workspace or Workspace.find())


def _named_terms(losses: pd.DataFrame) -> pd.DataFrame:
    return losses.rename(columns=lambda term: term.replace("_", " "))


def _verdicts(runs: list[Run]) -> pd.DataFrame:
    """Return whether runs learned, and whether they were still rising."""
    found = learned(runs).round(2)
    return found.assign(rising=found["rising"].map({True: "yes", False: "no"})).rename(columns=_VERDICTS)


def _quantiles(runs: list[Run]) -> pd.DataFrame:
    """Return a row for each run and a column for each quantile of its gradient norm divided by √parameters."""
    found = pd.concat([gradient_quantiles(run) for run in runs], ignore_index=True)
    names = (100 * found["quantile"]).map("{:g} %".format)
    wide = found.assign(quantile=names, component=1000 * found["component"]).pivot(
        index=["run", "parameters"], columns="quantile", values="component"
    )
    return wide[list(dict.fromkeys(names))].round(3).reset_index()


def _progress(runs: list[Run]) -> str:
    """Describe which runs are still training, and which have no score yet."""
    training = mentioned(run for run in runs if run.status == "training")
    unscored = mentioned(run for run in runs if run.log.metrics("validation").empty)
    live = f"Still training, with live updates: {training}. " if training else ""
    return live + (f"No evaluation yet: {unscored}." if unscored else "")


def _trainings(workspace: Workspace) -> tuple[list[str], str]:
    """Return the training settings of the available maps, and a message if there are none."""
    try:
        maps = MAP.read(map_path(workspace))
    except NmtlabError as error:
        return [], str(error)
    missing = "" if len(maps) else "No trainability map yet: run 'nmtlab trainability'."
    return list(dict.fromkeys(maps["training"])), missing
