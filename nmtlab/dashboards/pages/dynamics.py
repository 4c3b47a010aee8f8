"""Training curves (thesis Figure 3.4) and convergence (Tables 3.12 and 3.15)."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import NEURAL
from nmtlab.analysis.access.translations import TRANSLATED
from nmtlab.analysis.comparison.recipes import RECIPES, differing_settings
from nmtlab.analysis.dynamics.convergence import CONVERGENCE, FLOOR, TRAIN_PERPLEXITY, learned
from nmtlab.analysis.dynamics.curves import DEV_CURVE, LOSS_CURVE
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import mentioned
from nmtlab.dashboards.frame.views import answers
from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.figures.words import listed
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

PAGE = About(
    place=50,
    group="Why",
    title="Training curves",
    question="Which systems learn faster, and which become better? (thesis Figure 3.4)",
    name="dynamics",
    needs=(NEURAL,),
    illustrates=(TRANSLATED, TRAIN_PERPLEXITY, CONVERGENCE),
)

FIRST = tuple(f"deep-de-en.{name}" for name in ("post-layernorm", "pre-layernorm", "post-scalenorm", "pre-scalenorm"))
NONE = "No runs yet: start one on the page Train."
_VERDICTS = {
    "step": "reached at update", "best_bleu": "best BLEU", "bleu": "last BLEU", "perplexity": "last perplexity",
    "rising": "still rising at the end",
}  # fmt: skip


class DynamicsPage(Page):
    """Dev scores and losses of several runs, finished or still training, and what differs in their recipes."""

    def __init__(self, workspace: Workspace) -> None:
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none=NONE)
        self.score = widgets.ToggleButtons(
            description="Score", options=[("BLEU", "bleu"), ("perplexity", "perplexity")]
        )
        self.over = widgets.ToggleButtons(description="Over", options=[("updates", "step"), ("minutes", "minutes")])
        self.live, self.differing = Note(), Note()
        self.dev = answers(
            DEV_CURVE, self.runs, "Best evaluation of each run", shown=_named, of="dev",
            score=self.score, over=self.over,
        )  # fmt: skip
        self.losses = answers(
            LOSS_CURVE, self.runs, "Loss at the last logged update, with its terms", digits=3, shown=_named_terms
        )
        self.verdicts = Table(
            f"Learned to translate (dev BLEU {FLOOR:g} or more)? Still rising: the last evaluation is the best"
        )
        self.recipes = Table(RECIPES, height="20em")
        sections = [
            self.dev,
            Section(("runs",), (self.live,), lambda: self.live.say(_progress(self.runs.chosen))),
            Section(("runs",), (self.differing, self.recipes), self._show_recipes),
            Section(("runs",), (self.verdicts,), self._judge),
        ]
        body = [
            self.live, self.dev.answer, self.differing, self.dev.chart,
            Fold("learned", "Did each learn to translate, and was it still rising?", self.verdicts, self.dev.table),
            Fold("losses", "How did the training loss and its terms fall?", self.losses),
            Fold("recipes", "In what do their recipes differ?", self.recipes),
        ]  # fmt: skip
        state = {"runs": self.runs.table, "score": self.score, "over": self.over}
        super().__init__(PAGE, state, sections, body, [self.runs, self.score, self.over], self.runs.refresh)

    def _show_recipes(self) -> None:
        if chosen := self.runs.chosen:
            differing = differing_settings(chosen)
            self.recipes.show(differing)
            names = [setting.rpartition(".")[2].replace("_", " ") for setting in differing["setting"]]
            self.differing.say(f"Their recipes differ in {listed(names)}." if names else "")

    def _judge(self) -> None:
        if chosen := [run for run in self.runs.chosen if run.origin.imported is None]:
            self.verdicts.show(_verdicts(chosen))


def dynamics_page(workspace: Workspace | None = None) -> DynamicsPage:
    """Return the page."""
    return DynamicsPage(workspace or Workspace.find())


def _named(best: pd.DataFrame) -> pd.DataFrame:
    return best.round({"bleu": 1}).rename(columns={"step": "at update", "bleu": "BLEU"})


def _named_terms(losses: pd.DataFrame) -> pd.DataFrame:
    return losses.rename(columns=lambda term: {"step": "at update"}.get(term, term.replace("_", " ")))


def _verdicts(runs: list[Run]) -> pd.DataFrame:
    """Return whether runs learned, and whether they were still rising."""
    found = learned(runs).round({"best_bleu": 1, "bleu": 1, "perplexity": 2})
    return found.assign(rising=found["rising"].map({True: "yes", False: "no"})).rename(columns=_VERDICTS)


def _progress(runs: list[Run]) -> str:
    """Describe which runs are still training, and which have no score yet."""
    training = mentioned(run for run in runs if run.status == "training")
    unscored = mentioned(run for run in runs if run.log.metrics("validation").empty)
    live = f"Still training, with live updates: {training}. " if training else ""
    return live + (f"No evaluation yet: {unscored}." if unscored else "")
