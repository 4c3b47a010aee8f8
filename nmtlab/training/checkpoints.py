"""All that a training needs to go on as if nothing had happened, in the run's last checkpoint."""

import math
from typing import Any

from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.training.data import BatchStream
from nmtlab.training.schedules import Schedule
from nmtlab.training.stopping import EarlyStopping


def last_checkpoint(run: Run) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Any]] | None:
    """Return weights, optimiser's state and facts of where a training was; None if it was not saved yet.

    Raises:
        RunError: the training has ended, or there is no whole checkpoint.
    """
    if run.status in ("finished", "diverged"):
        raise RunError(f"run {run.name!r}: it has {run.status}", "there is nothing to resume; train a new run")
    if not run.has_weights("last"):
        return None
    weights, facts = run.weights("last")
    moments, same_facts = run.optimiser(facts["step"])
    if facts != same_facts:
        raise RunError(f"run {run.name!r}: its optimiser's state is of another checkpoint", "train it again")
    return weights, moments, facts


def facts(
    step: int,
    stream: BatchStream,
    seconds: float,
    schedule: Schedule,
    stopping: EarlyStopping,
    pending: list[list[float]],
) -> dict[str, Any]:
    """Return where a training is.

    Args:
        step: updates so far.
        stream: of its batches.
        seconds: of training so far.
        schedule, stopping: as they are now.
        pending: the updates since the last full line of the log, as `Meter.noted` gives them.
    """
    return {
        "step": step,
        "epoch": stream.epoch,
        "batch": stream.batch,
        "seconds": seconds,
        "factor": schedule.factor,
        "best": None if stopping.best == -math.inf else stopping.best,
        "since_best": stopping.since_best,
        "evaluations": stopping.evaluations,
        "reported": step - len(pending),
        "pending": pending,
    }


def restore_evaluations(facts: dict[str, Any], schedule: Schedule, stopping: EarlyStopping) -> None:
    """Bring schedule and early stopping back to where they were."""
    schedule.factor = facts["factor"]
    stopping.best = -math.inf if facts["best"] is None else facts["best"]
    stopping.since_best, stopping.evaluations = facts["since_best"], facts["evaluations"]
