"""Did a training converge, and when could one tell? (thesis 3.3.3.2 and 3.3.3.4, Tables 3.12 and 3.15)"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal

import pandas as pd

from nmtlab.analysis.dynamics.curves import dev_curve
from nmtlab.runs.run import Run

Verdict = Literal["alive", "plateaued", "diverged", "too early"]

FLOOR = 5.0
"""Dev BLEU, in percent, below which there are a few words in the right place, and differences mean nothing."""

PATIENCE = 4
"""Evaluations in which nothing happens before a training is called dead."""

GAIN = 0.02
"""Share by which the perplexity has to fall in these for a training to be learning still."""


def convergence(
    runs: Sequence[Run], floor: float = FLOOR, patience: int = PATIENCE, gain: float = GAIN
) -> pd.DataFrame:
    """Judge by their logs whether trainings converged.

    Args:
        runs: neural ones, finished or not.
        floor: dev BLEU that a living training reaches, above 0.
        patience: evaluations that are looked at, the last ones, at least 1.
        gain: share of the best perplexity before them by which theirs has to be lower, 0 to 1.

    Returns:
        A row for each run: `run`; `verdict`; `step`, since when it holds; `best_bleu`; `bleu` and `perplexity` of the
        last evaluation; `updates` in all. The verdicts are `diverged`, when the loss was not finite; `alive`, since the
        first evaluation at the floor, if any of the last ones is there; `plateaued`, since the best perplexity before
        the last ones, if none of them reaches the floor or lowers the perplexity; `too early`, if they still do.
    """
    return pd.DataFrame([_row(run, floor, patience, gain) for run in runs], columns=_COLUMNS)


_COLUMNS = ["run", "verdict", "step", "best_bleu", "bleu", "perplexity", "updates"]


def _row(run: Run, floor: float, patience: int, gain: float) -> dict[str, Any]:
    curve = dev_curve(run)
    steps = [run.metrics(kind).get("step", ()) for kind in ("train", "validation", "end")]
    updates = max(chain(*steps), default=0)
    row = {"run": run.name, "best_bleu": curve["bleu"].max(), "updates": updates}
    if len(curve):
        row |= {name: curve[name].iloc[-1] for name in ("bleu", "perplexity")}
    verdict, step = ("diverged", updates) if run.status == "diverged" else _judged(curve, floor, patience, gain)
    return row | {"verdict": verdict, "step": step}


def _judged(curve: pd.DataFrame, floor: float, patience: int, gain: float) -> tuple[Verdict, int | None]:
    """Return the verdict on a training whose loss stayed finite, and since when it holds."""
    before, last = curve.iloc[:-patience], curve.iloc[-patience:]
    if (last["bleu"] >= floor).any():
        return "alive", int(curve.loc[curve["bleu"] >= floor, "step"].iloc[0])
    if before.empty or last["perplexity"].min() < (1 - gain) * before["perplexity"].min():
        return "too early", None if curve.empty else int(curve["step"].iloc[-1])
    return "plateaued", int(before.loc[before["perplexity"].idxmin(), "step"])
