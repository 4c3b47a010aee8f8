"""How far is a training?"""

from typing import NamedTuple

from nmtlab.runs.run import Run


class TrainingProgress(NamedTuple):
    """How far a training is.

    Args:
        step: updates made.
        updates: maximum number of updates; None before the first evaluation if evaluations are once per epoch.
        rate: learning rate of the last logged update.
        bleu: dev BLEU of the last evaluation; None before the first one.
        best: best dev BLEU.
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
