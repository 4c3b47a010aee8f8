"""How did a training go: scores on the development text, and the gradient at every update? (thesis Figures 3.4, 3.5)"""

import pandas as pd

from nmtlab.runs.run import Run

WINDOW = 101
"""Updates that a gradient norm is compared with, itself in their middle."""

SPIKE = 3.0
"""A gradient norm of so many times the median around it is a spike."""


def dev_curve(run: Run) -> pd.DataFrame:
    """Return a run's evaluations on dev, without a row if there was none.

    Returns:
        A row for each: `run`; `step`, the updates before it; `minutes` of training; `bleu` and `perplexity`; `best`,
        whether this is the checkpoint that is kept.
    """
    logged = run.metrics("validation").reindex(columns=["step", "seconds", "bleu", "perplexity"])
    curve = logged.assign(run=run.name, minutes=logged["seconds"] / 60, best=logged["step"] == run.best_step)
    return curve[["run", "step", "minutes", "bleu", "perplexity", "best"]]


def gradient_curve(run: Run, window: int = WINDOW, spike: float = SPIKE) -> pd.DataFrame:
    """Return the global norm of the gradient before clipping, at every update.

    Args:
        run: neural; of any other there is no row.
        window: updates whose median is taken, at least 1; fewer at both ends.
        spike: how many times that median a spike is, above 1.

    Returns:
        A row for each update: `run`, `step`, `norm`; `median` of the window around it; `spike`, whether it is one: a
        norm that is not finite always is.
    """
    logged = run.gradient_norms()
    finite = logged["norm"].where(logged["norm"].abs() < float("inf"))
    median = finite.rolling(window, center=True, min_periods=1).median()
    curve = logged.assign(run=run.name, median=median, spike=~(logged["norm"] <= spike * median))
    return curve[["run", "step", "norm", "median", "spike"]]


def spike_counts(curve: pd.DataFrame, parts: int = 4) -> pd.DataFrame:
    """Count spikes in equal parts of each training.

    Args:
        curve: rows of `gradient_curve`, of one run or several.
        parts: of how many updates each run is cut into, at least 1.

    Returns:
        A row for each run and part: `run`; `part`, from 1; `first_step`, `last_step`; `updates`; `median`, of the norm;
        `spikes`, and `per_thousand` updates.
    """
    rows = []
    for name, own in curve.groupby("run", sort=False):
        cut = pd.Series(range(len(own)), index=own.index) * parts // len(own) + 1
        for part, some in own.groupby(cut):
            first, last, spikes = some["step"].iloc[0], some["step"].iloc[-1], int(some["spike"].sum())
            rate = 1000 * spikes / len(some)
            rows.append((name, part, first, last, len(some), some["norm"].median(), spikes, rate))
    columns = ["run", "part", "first_step", "last_step", "updates", "median", "spikes", "per_thousand"]
    return pd.DataFrame(rows, columns=columns)
