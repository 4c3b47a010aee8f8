"""How did training go: scores on the development text, and the gradient at every update? (thesis Figures 3.4, 3.5)"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import pandas as pd
import torch

from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.training.prepare import model_for

WINDOW = 101
"""Updates in the window that a gradient norm is compared with, centred on its own update."""

SPIKE = 3.0
"""A gradient norm of more than so many times the median around it is a spike."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""From usual to rare gradient norms."""


def dev_curve(run: Run) -> pd.DataFrame:
    """Return a run's evaluations on dev, an empty table if there are none.

    Returns:
        A row for each: `run`; `step`, the updates before it; `minutes` of training; `bleu` and `perplexity`; `best`,
        whether this is the best checkpoint.
    """
    logged = run.metrics("validation").reindex(columns=["step", "seconds", "bleu", "perplexity"])
    curve = logged.assign(run=run.label, minutes=logged["seconds"] / 60, best=logged["step"] == run.best_step)
    return curve[["run", "step", "minutes", "bleu", "perplexity", "best"]]


def loss_curve(run: Run) -> pd.DataFrame:
    """Return a run's training loss and the terms that add up to it, per target token.

    Returns:
        A row for each logged update and term: `run`; `step`; `term`, "loss" for their sum (all that a run of version
        0.1 has); `value`.
    """
    rows = [
        (run.label, int(step), term, value)
        for step, loss, terms in _logged_losses(run)
        for term, value in {"loss": loss, **terms}.items()
    ]
    return pd.DataFrame(rows, columns=["run", "step", "term", "value"])


def _logged_losses(run: Run) -> Iterator[tuple[int, float, dict[str, float]]]:
    logged = run.metrics("train").reindex(columns=["step", "loss", "terms"])
    for step, loss, terms in logged.itertuples(index=False, name=None):
        yield step, loss, terms if isinstance(terms, dict) else {}


def gradient_curve(run: Run, window: int = WINDOW, spike: float = SPIKE) -> pd.DataFrame:
    """Return the global norm of the gradient before clipping, at every update.

    Args:
        run: a neural one; others have no rows.
        window: number of updates whose median is taken, at least 1; fewer at both ends.
        spike: a norm of more than so many times that median is a spike, above 1.

    Returns:
        A row for each update: `run`, `step`, `norm`; `median` of the window around it; `spike`, whether it is one; a
        norm that is not finite always is.
    """
    logged = run.gradient_norms()
    finite = logged["norm"].where(logged["norm"].abs() < float("inf"))
    median = finite.rolling(window, center=True, min_periods=1).median()
    curve = logged.assign(run=run.label, median=median, spike=~(logged["norm"] <= spike * median))
    return curve[["run", "step", "norm", "median", "spike"]]


def spike_counts(curve: pd.DataFrame, parts: int = 4) -> pd.DataFrame:
    """Count the spikes in equal parts of each run.

    Args:
        curve: rows of `gradient_curve`, of one run or several.
        parts: number of parts that the updates of each run are divided into, at least 1.

    Returns:
        A row for each run and part: `run`; `part`, from 1; `first_step`, `last_step`; `updates`; `median`, of the norm;
        `spikes`, and `per_thousand` updates.
    """
    rows = []
    for name, updates in curve.groupby("run", sort=False):
        part_of = pd.Series(range(len(updates)), index=updates.index) * parts // len(updates) + 1
        for part, some in updates.groupby(part_of):
            first, last, spikes = some["step"].iloc[0], some["step"].iloc[-1], int(some["spike"].sum())
            rate = 1000 * spikes / len(some)
            rows.append((name, part, first, last, len(some), some["norm"].median(), spikes, rate))
    columns = ["run", "part", "first_step", "last_step", "updates", "median", "spikes", "per_thousand"]
    return pd.DataFrame(rows, columns=columns)


def gradient_quantiles(run: Run, first: int = 1, quantiles: Sequence[float] = QUANTILES) -> pd.DataFrame:
    """Return quantiles of the gradient's size that are comparable across systems of different sizes.

    LayerNorm has more parameters than ScaleNorm, and the gradient norm grows with their number (thesis 3.3.4.1); the
    root mean square of its components does not.

    Args:
        run: a neural one; others have no rows.
        first: update from which norms count, to exclude the warm-up.
        quantiles: each from 0 to 1.

    Returns:
        A row for each quantile: `run`, `parameters`, `quantile`; `norm`; `component`, the norm divided by the root of
        the number of parameters. A norm that is not finite counts as the largest.
    """
    logged = run.gradient_norms()
    norms = logged.loc[logged["step"] >= first, "norm"].fillna(math.inf)
    if norms.empty:
        return pd.DataFrame(columns=["run", "parameters", "quantile", "norm", "component"])
    found = norms.quantile(list(quantiles), interpolation="lower")  # no interpolation between a number and infinity
    parameters = _parameters(run)
    return pd.DataFrame(
        {
            "run": run.label,
            "parameters": parameters,
            "quantile": found.index,
            "norm": found.to_numpy(),
            "component": found.to_numpy() / math.sqrt(parameters),
        }
    )


def _parameters(run: Run) -> int:
    """Return the number of trained parameters."""
    return _counted(run.folder, run.recipe)


@lru_cache(maxsize=128)  # building a deep model takes a tenth of a second, and pages call this repeatedly
def _counted(folder: Path, recipe: Recipe) -> int:
    run = Run(folder)
    with torch.device("meta"):
        model = model_for(recipe, run.pipeline, run.translation_table)
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
