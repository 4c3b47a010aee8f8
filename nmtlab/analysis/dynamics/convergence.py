"""How far is a training, and did it converge? (thesis 3.3.3.2 and 3.3.3.4, Tables 3.12 and 3.15)"""

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.dynamics.curves import dev_curve, is_rising
from nmtlab.figures.words import listed
from nmtlab.runs.run import Run

Verdict = Literal["converged", "plateaued", "diverged", "too early"]

FLOOR = 5.0
"""Dev BLEU, in percent, below which hardly any words are right and differences are meaningless."""

PATIENCE = 4
"""Evaluations without progress after which training has plateaued."""

GAIN = 0.02
"""Share by which the perplexity must fall over these evaluations to count as progress."""


def convergence(
    runs: Sequence[Run], floor: float = FLOOR, patience: int = PATIENCE, gain: float = GAIN
) -> pd.DataFrame:
    """Judge from their logs whether runs converged.

    Args:
        runs: neural ones, finished or not.
        floor: dev BLEU that a converged run reaches, above 0.
        patience: number of evaluations considered, the last ones, at least 1.
        gain: share by which they must lower the best perplexity before them to count as progress, 0 to 1.

    Returns:
        A row for each run: `run`; `verdict`; `step`, the update from which it holds; `best_bleu`; `bleu` and
        `perplexity` of the last evaluation; `updates` in all. Verdicts: `diverged`, when the loss was not finite;
        `converged`, since the first evaluation at or above the floor, if any of the last ones reaches it; `plateaued`,
        since the best perplexity before the last ones, if none of them reaches the floor or lowers the perplexity;
        `too early`, if they still lower it.
    """
    return pd.DataFrame([_row(run, floor, patience, gain) for run in runs], columns=_COLUMNS)


_COLUMNS = ["run", "verdict", "step", "best_bleu", "bleu", "perplexity", "updates"]


def _row(run: Run, floor: float, patience: int, gain: float) -> dict[str, Any]:
    curve = dev_curve(run)
    steps = [run.log.metrics(kind).get("step", ()) for kind in ("train", "validation", "end")]
    updates = max(chain(*steps), default=0)
    row = {"run": run.label, "best_bleu": curve["bleu"].max(), "updates": updates}
    if len(curve):
        row |= {name: curve[name].iloc[-1] for name in ("bleu", "perplexity")}
    verdict, step = ("diverged", updates) if run.status == "diverged" else _judged(curve, floor, patience, gain)
    return row | {"verdict": verdict, "step": step}


def _judged(curve: pd.DataFrame, floor: float, patience: int, gain: float) -> tuple[Verdict, int | None]:
    """Return the verdict on a run whose loss stayed finite, and the update from which it holds."""
    before, last = curve.iloc[:-patience], curve.iloc[-patience:]
    if (last["bleu"] >= floor).any():
        return "converged", int(curve.loc[curve["bleu"] >= floor, "step"].iloc[0])
    if before.empty or last["perplexity"].min() < (1 - gain) * before["perplexity"].min():
        return "too early", None if curve.empty else int(curve["step"].iloc[-1])
    return "plateaued", int(before.loc[before["perplexity"].idxmin(), "step"])


_OUTCOMES = {"converged": "learned to translate", "too early": "too early to tell", "diverged": "diverged"}


def learned(runs: Sequence[Run]) -> pd.DataFrame:
    """Return in words whether runs learned to translate; what `convergence` calls `converged` may still improve.

    Returns:
        The rows of `convergence`, with `verdict`: learned to translate, if one of the last evaluations reaches `FLOOR`;
        collapsed, if only earlier ones did; never learned; diverged; too early to tell; and `rising`, whether the last
        evaluation is the best.
    """
    found = convergence(runs)
    verdicts = found["verdict"].map(_OUTCOMES).fillna("never learned")
    lost = (found["best_bleu"] >= FLOOR) & (found["verdict"] != "converged")
    rising = [bool(len(curve)) and is_rising(curve["bleu"]) for curve in map(dev_curve, runs)]
    return found.assign(verdict=verdicts.mask(lost, "collapsed"), rising=rising)


def _said(found: pd.DataFrame) -> str:
    """Say how many runs learned to translate, and which did not."""
    if found.empty:
        return ""
    well = found["verdict"] == "converged"
    others = listed(found.loc[~well, "run"].tolist())
    rising = listed(found.loc[found["bleu"] == found["best_bleu"], "run"].tolist())
    count = f"{well.sum()} of {len(found)} learned to translate (dev BLEU {FLOOR:g} or more)"
    return f"{count}{f', not {others}' if others else ''}.{f' Still rising at the end: {rising}.' if rising else ''}"


class TrainingProgress(NamedTuple):
    """How far a training is.

    Args:
        updates: maximum number of updates; None before the first evaluation if evaluations are once per epoch.
        bleu: dev BLEU of the last evaluation; None before the first one.
        seconds_left: at most, at the mean speed so far; None if `updates` is not known.
    """

    step: int
    updates: int | None
    rate: float
    bleu: float | None
    best: float | None
    seconds_left: float | None


def training_progress(run: Run) -> TrainingProgress | None:
    """Return the progress of a neural run; None before its first logged update."""
    trained, validated = run.log.metrics("train"), run.log.metrics("validation")
    if trained.empty:
        return None
    settings, last = run.recipe.training, trained.iloc[-1]
    interval = settings.validate_every or (int(validated["step"].iloc[0]) if len(validated) else 0)
    updates = interval * settings.max_evaluations or None
    scores = validated["bleu"] if len(validated) else None
    return TrainingProgress(
        step=int(last["step"]),
        updates=updates,
        rate=float(last["rate"]),
        bleu=None if scores is None else float(scores.iloc[-1]),
        best=None if scores is None else float(scores.max()),
        seconds_left=None if updates is None else float(last["seconds"]) / last["step"] * (updates - last["step"]),
    )


def last_perplexity(run: Run) -> float:
    """Return the training perplexity per token, with dropout, since the last evaluation but one.

    In the recurrent recipes these are the updates of the last epoch. It is the geometric mean of the logged values,
    weighted by updates; NaN if nothing was logged.
    """
    train, validations = run.log.metrics("train"), run.log.metrics("validation")
    if not len(train):
        return np.nan
    updates = train["step"].diff().fillna(train["step"])
    last_but_one = validations["step"].iloc[-2] if len(validations) > 1 else 0
    last = train["step"] > last_but_one
    return float(np.exp(np.average(np.log(train.loc[last, "perplexity"]), weights=updates[last])))


def last_train_perplexity(run: Run) -> pd.DataFrame:
    """Return `last_perplexity` as `perplexity`, in one row."""
    return pd.DataFrame([{"perplexity": last_perplexity(run)}])


TRAIN_PERPLEXITY = Analysis(
    "What is the perplexity of the training text at the end of training?",
    last_train_perplexity,
    source="thesis Table 3.8",
    metrics=(
        Metric(
            "train-perplexity", "train perplexity", better="lower", split="",
            read=lambda found: found["perplexity"].item(),
        ),
    ),
)  # fmt: skip


def converged(run: Run) -> pd.DataFrame:
    """Return the row of `convergence` of one run."""
    return convergence([run])


CONVERGENCE = Analysis(
    "Did training converge, and from which update on?",
    converged,
    source="thesis Tables 3.12 and 3.15",
    finding=_said,
    metrics=(
        Metric(
            "converged", "converged", "outcome", split="", if_diverged=0.0,
            read=lambda found: {"converged": 1.0, "too early": math.nan}.get(found["verdict"].item(), 0.0),
        ),
    ),
)  # fmt: skip
