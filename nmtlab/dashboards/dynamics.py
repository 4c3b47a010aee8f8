"""Training dynamics (thesis Figures 3.4 and 3.5)."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.convergence import FLOOR, convergence
from nmtlab.dashboards.about import DYNAMICS
from nmtlab.dashboards.chart import Chart
from nmtlab.dashboards.columns import columns, row
from nmtlab.dashboards.page import Note, Page, heading
from nmtlab.dashboards.runs import RunChooser
from nmtlab.dashboards.systems import is_neural
from nmtlab.dashboards.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.experiments.stored import RESULTS
from nmtlab.experiments.trainability import COLUMNS, read_map
from nmtlab.plots import trainability_figure
from nmtlab.runs.run import Run
from nmtlab.views import dev_view, gradient_view
from nmtlab.workspace import Workspace

FIRST = tuple(f"deep-de-en.{name}" for name in ("post-layernorm", "pre-layernorm", "post-scalenorm", "pre-scalenorm"))
_VERDICTS = {
    "step": "since update", "best_bleu": "best BLEU", "bleu": "last BLEU", "perplexity": "last perplexity"
}  # fmt: skip


def dynamics_page(workspace: Workspace | None = None) -> Page:
    """Return the page: dev scores and gradient norms of several runs, a running one among them."""
    runs = RunChooser(workspace or Workspace.find(), accepts=is_neural, first=FIRST)
    score = widgets.ToggleButtons(description="Score", options=[("BLEU", "bleu"), ("perplexity", "perplexity")])
    over = widgets.ToggleButtons(description="Over", options=[("updates", "step"), ("minutes", "minutes")])
    dev, gradients, live = Chart(), Chart(), Note()
    best, spikes = Table("Best evaluation of each run"), Table("Gradient norm by quarter of the training")
    verdicts = Table(f"Did they converge? Alive is one that has reached dev BLEU {FLOOR:g}")

    maps, without = _maps()
    training = widgets.Dropdown(
        description="Training", options=list(dict.fromkeys(maps["training"])), layout={"width": "50em"}
    )
    trainable, about_map = Chart(), Note(without)

    def update(changed: set[str]) -> None:
        if "training" in changed and training.value:
            trainable.show(trainability_figure(maps[maps["training"] == training.value]))
        chosen = runs.chosen
        if not chosen:
            live.say("There is no run yet: start one on the page Train.")
            return
        view = dev_view(chosen, score.value, over.value)
        dev.show(view.figure)
        best.show(view.frame.round(2).reset_index(drop=True))
        if "runs" in changed:
            view = gradient_view(chosen)
            gradients.show(view.figure)
            spikes.show(view.frame.round(3).reset_index(drop=True))
            verdicts.show(convergence(chosen).round(2).rename(columns=_VERDICTS))
        live.say(_told(chosen))

    return Page(
        DYNAMICS,
        {"runs": runs.table, "score": score, "over": over, "training": training},
        update,
        [
            runs,
            row(score, over),
            live,
            dev,
            gradients,
            columns(best, spikes),
            verdicts,
            heading("Which Transformers learn at all?"),
            row(training),
            about_map,
            trainable,
        ],
        runs.refresh,
    )


def _maps() -> tuple[pd.DataFrame, str]:
    """Return the maps of trainability that are here, and what is to be said if there is none."""
    try:
        maps = read_map(RESULTS / "trainability.csv")
    except NmtlabError as error:
        return pd.DataFrame(columns=COLUMNS), str(error)
    return maps, "" if len(maps) else "No map yet: nmtlab trainability makes one."


def _told(runs: list[Run]) -> str:
    """Say which runs go on while one looks, and which have no score yet."""
    going = ", ".join(run.name for run in runs if run.status == "training")
    fresh = ", ".join(run.name for run in runs if run.metrics("validation").empty)
    told = f"In training now, and drawn anew as it goes on: {going}. " if going else ""
    return told + (f"Without an evaluation so far: {fresh}." if fresh else "")
