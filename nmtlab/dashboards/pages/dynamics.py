"""Training dynamics (thesis Figures 3.4 and 3.5) and convergence (Tables 3.12 and 3.15)."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import NEURAL
from nmtlab.analysis.access.translations import TRANSLATED
from nmtlab.analysis.comparison.recipes import RECIPES, differing_settings
from nmtlab.analysis.dynamics.convergence import CONVERGENCE, FLOOR, TRAIN_PERPLEXITY, convergence
from nmtlab.analysis.dynamics.curves import DEV_CURVE, GRADIENT_CURVE, GRADIENT_SIZES, LOSS_CURVE, gradient_quantiles
from nmtlab.analysis.dynamics.signals import SIGNALS
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.page import Note, Page, heading
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.systems import mentioned
from nmtlab.dashboards.parts.effects import Effects
from nmtlab.dashboards.parts.signals import Signals
from nmtlab.dashboards.parts.trainability import Maps
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.columns import columns, row
from nmtlab.dashboards.widgets.table import Table
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

PAGE = About(
    place=6,
    title="Training dynamics",
    question="Which systems learn faster, and whose gradient norms stay stable? (thesis Figures 3.4 and 3.5)",
    name="dynamics",
    needs=(NEURAL,),
    illustrates=(TRANSLATED, TRAIN_PERPLEXITY, CONVERGENCE, GRADIENT_SIZES, GRADIENT_CURVE, SIGNALS),
)

FIRST = tuple(f"deep-de-en.{name}" for name in ("post-layernorm", "pre-layernorm", "post-scalenorm", "pre-scalenorm"))
_VERDICTS = {
    "step": "since update", "best_bleu": "best BLEU", "bleu": "last BLEU", "perplexity": "last perplexity",
    "rising": "still rising at the end",
}  # fmt: skip


class DynamicsPage(Page):
    """Dev scores and gradients of several runs, finished or still training; which Transformers converge."""

    def __init__(self, workspace: Workspace) -> None:
        self.runs = RunChooser(workspace, needs=PAGE.needs, first=FIRST)
        self.score = widgets.ToggleButtons(
            description="Score", options=[("BLEU", "bleu"), ("perplexity", "perplexity")]
        )
        self.over = widgets.ToggleButtons(description="Over", options=[("updates", "step"), ("minutes", "minutes")])
        self.live, self.dev, self.best = Note(), Chart(), Table("Best evaluation of each run")
        self.verdicts = Table(
            f"Learned to translate (dev BLEU {FLOOR:g} or more)? Still rising: the last evaluation is the best"
        )
        self.losses, self.last_losses = Chart(), Table("Loss at the last logged update, with its terms")
        self.gradients, self.spikes = Chart(), Table("Gradient norm by quarter of the training")
        self.quantiles = Table("Quantiles of the gradient norm divided by √parameters, × 1,000")
        self.signals, self.maps = Signals(workspace, self.guarded), Maps(workspace)
        self.effects, self.recipes = Effects(workspace), Table(RECIPES, height="20em")
        state = {
            "runs": self.runs.table, "score": self.score, "over": self.over, "training": self.maps.training,
            "table": self.effects.text, "than": self.effects.than,
        }  # fmt: skip
        by_run = (
            self.losses,
            self.last_losses,
            self.gradients,
            self.spikes,
            self.verdicts,
            self.quantiles,
            self.recipes,
        )
        parts = {
            **dict.fromkeys((self.live, self.dev, self.best), ("runs", "score", "over")),
            **dict.fromkeys(by_run, ("runs",)),
        }
        body = [
            self.runs, row(self.score, self.over), self.live, self.dev, columns(self.best, self.verdicts),
            self.losses, self.last_losses, self.gradients, columns(self.spikes, self.quantiles),
            self.recipes,
            heading("Which signals enter each normalisation layer?"), self.signals,
            heading("Which Transformers converge?"), self.maps,
            heading("Does a change gain, or does it only gain time?"), self.effects,
        ]  # fmt: skip
        super().__init__(PAGE, state, self._answer, body, self.runs.refresh, parts)

    def _answer(self, changed: set[str]) -> None:
        if "training" in changed:
            self.maps.show()
        if changed & {"table", "than"}:
            self.effects.show()
        chosen = self.runs.chosen
        if "runs" in changed:
            self.signals.show(chosen)
        if not chosen:
            self.live.say(self.runs.none_chosen("No runs yet: start one on the page Train."))
            return
        view = DEV_CURVE.view(chosen, score=self.score.value, over=self.over.value)
        self.dev.show(view.figure)
        self.best.show(view.frame.round(2).reset_index(drop=True))
        if "runs" in changed:
            view = LOSS_CURVE.view(chosen)
            self.losses.show(view.figure)
            self.last_losses.show(_named_terms(view.frame))
            view = GRADIENT_CURVE.view(chosen)
            self.gradients.show(view.figure)
            self.spikes.show(view.frame.round(3).reset_index(drop=True))
            trained = [run for run in chosen if run.origin.imported is None]
            self.verdicts.show(_verdicts(trained))
            self.quantiles.show(_quantiles(chosen))
            self.recipes.show(differing_settings(chosen))
        self.live.say(_progress(chosen))


def dynamics_page(workspace: Workspace | None = None) -> DynamicsPage:
    """Return the page."""
    return DynamicsPage(workspace or Workspace.find())


def _named_terms(losses: pd.DataFrame) -> pd.DataFrame:
    return losses.rename(columns=lambda term: term.replace("_", " ")).round(3)


def _verdicts(runs: list[Run]) -> pd.DataFrame:
    """Return whether runs learned; `convergence` says `converged` of a training that may still improve."""
    found = convergence(runs).round(2)
    verdicts = found["verdict"].replace({"converged": "learned", "plateaued": "did not learn"})
    rising = (found["bleu"] == found["best_bleu"]).map({True: "yes", False: "no"})
    return found.assign(verdict=verdicts, rising=rising).rename(columns=_VERDICTS)


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
