"""The run's last checkpoint: all that a training needs to resume exactly where it was."""

import math
from typing import Any

from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.training.data import BatchStream
from nmtlab.training.schedules import Schedule
from nmtlab.training.stopping import DevScore, EarlyStopping


def last_checkpoint(run: Run) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Any]] | None:
    """Return weights, optimiser state and facts of the last checkpoint; None if there is none yet.

    Raises:
        RunError: the training has ended, or the checkpoint is incomplete or damaged.
    """
    if run.status in ("finished", "diverged"):
        raise RunError(f"run {run.name!r}: it has {run.status} and cannot be resumed", "train a new run")
    if not run.checkpoints.has_weights("last"):
        return None
    weights, facts = run.checkpoints.weights("last")
    moments, same_facts = run.checkpoints.optimiser(facts["step"])
    if facts != same_facts:
        raise RunError(f"run {run.name!r}: its optimiser state belongs to another checkpoint", "train it again")
    return weights, moments, facts


def facts(
    step: int,
    stream: BatchStream,
    seconds: float,
    schedule: Schedule,
    stopping: EarlyStopping,
    pending: list[list[float]],
) -> dict[str, Any]:
    """Return the facts of a checkpoint: the position in the data and the state of schedule and early stopping.

    Args:
        step: updates so far.
        stream: of the training's batches.
        seconds: of training so far.
        schedule, stopping: in their current state.
        pending: the updates since the last full line of the log, as returned by `Meter.noted`.
    """
    return {
        "step": step,
        "epoch": stream.epoch,
        "batch": stream.batch,
        "seconds": seconds,
        "factor": schedule.factor,
        "best": stopping.best.bleu if stopping.evaluations else None,
        "best_perplexity": stopping.best.perplexity if math.isfinite(stopping.best.perplexity) else None,
        "unscheduled": list(stopping.unscheduled) if math.isfinite(sum(stopping.unscheduled)) else None,
        "since_best": stopping.since_best,
        "evaluations": stopping.evaluations,
        "reported": step - len(pending),
        "pending": pending,
    }


def restore_evaluations(facts: dict[str, Any], schedule: Schedule, stopping: EarlyStopping) -> None:
    """Restore schedule and early stopping from the facts of a checkpoint."""
    schedule.factor = facts["factor"]
    perplexity = facts.get("best_perplexity")  # version 0.1 did not note it: the next tie then counts as better
    stopping.unscheduled = DevScore(*facts.get("unscheduled") or ())
    if facts["best"] is not None:
        stopping.best = DevScore(facts["best"], math.inf if perplexity is None else perplexity)
    stopping.since_best, stopping.evaluations = facts["since_best"], facts["evaluations"]
