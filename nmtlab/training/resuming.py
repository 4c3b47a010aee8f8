"""Is a training the one that a run was begun with? Then it goes on exactly where it was."""

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from torch import Tensor

from nmtlab.errors import RecipeError, RunError
from nmtlab.recipe import CorpusSettings, MachineSettings, Recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.schedules import Schedule
from nmtlab.training.stopping import DevScore, EarlyStopping
from nmtlab.training.stream import BatchStream

_MAY_CHANGE = ("about", "machine.device", "machine.threads", "text.annotate_from")
"""Fields that do not change a training that has begun: suggestions are kept with the run."""


def check_same_training(run: Run, recipe: Recipe, corpus: ParallelCorpus, processes: int) -> None:
    """Check that a run can be resumed.

    Args:
        recipe: as asked for now; device, threads and the name of the first corpus do not matter.

    Raises:
        RecipeError: a field of the recipe is not what it was.
        RunError: the direction or the number of processes is not what it was.
    """
    begun, wanted = _compared(run.recipe, recipe), _compared(recipe, run.recipe)
    for field, value in begun.items():
        may_change = field in _MAY_CHANGE or (field.startswith("corpus.") and field != "corpus.rotation")
        if not may_change and wanted.get(field) != value:
            raise RecipeError(
                f"--resume: run {run.name!r} was begun with {field} = {value!r}, not {wanted.get(field)!r}",
                "leave out the change, or train a new run with another --name",
            )
    languages = run.recipe.corpus
    if (corpus.source, corpus.target) != (languages.source, languages.target):
        raise RunError(
            f"run {run.name!r}: translates {languages.source} to {languages.target}, but the corpus was opened as "
            f"{corpus.source} to {corpus.target}",
            f"resume it with --source {languages.source} --target {languages.target}, or without both",
        )
    if processes != (before := run.environment.get("processes", 1)):
        raise RunError(
            f"run {run.name!r}: started with {before} processes, whose dropout differs from that of {processes}",
            f"resume it with {before}" + (" under torchrun" if before > 1 else ""),
        )


def check_same_text(run: Run, corpora: Sequence[ParallelCorpus], checksums: Sequence[str]) -> None:
    """Check that a run was begun on the text of these corpora.

    Raises:
        RunError: it was not.
    """
    if run.checksums != list(checksums):
        if marked := [f"{corpus.name}/{file}" for corpus in corpora for file in corpus.marked_files()]:
            raise RunError(
                f"run {run.name!r}: started on other text, perhaps when byte order marks were read as text, as in "
                f"{marked[0]}",
                "train a new run, or resume it on the corpus it was started on",
            )
        raise RunError(f"run {run.name!r}: started on other text", "resume it on the corpus it was started on")
    documents = [corpus.documents_checksum() for corpus in corpora if corpus.context]
    if documents != run.environment.get("documents", []):
        raise RunError(f"run {run.name!r}: started on other documents", "give the text those it was started on")


def resumed_recipe(run: Run, machine: MachineSettings) -> Recipe:
    """Return a run's recipe with another device and number of threads, which do not change the training."""
    changed = run.recipe.machine.model_copy(update={"device": machine.device, "threads": machine.threads})
    return run.recipe.model_copy(update={"machine": changed})


def _compared(recipe: Recipe, other: Recipe) -> dict[str, object]:
    """Return the fields of a recipe, with the names and rotations of further corpora.

    A name is followed by a direction where both recipes give one and these differ; opening infers the others.
    """
    named = zip_longest(recipe.more_corpora, other.more_corpora[: len(recipe.more_corpora)])
    rotations = [corpus.rotation for corpus in recipe.more_corpora]
    return {**recipe.fields(), "more_corpora": [_title(*both) for both in named], "more_corpora.rotation": rotations}


def _title(corpus: CorpusSettings, other: CorpusSettings | None) -> str:
    ways = [(one.source, one.target) for one in (corpus, other) if one and one.name == corpus.name]
    differ = any(all(codes) and codes[0] != codes[1] for codes in zip(*ways, strict=True)) if len(ways) > 1 else False
    return f"{corpus.name}:{corpus.source}-{corpus.target}" if differ else corpus.name


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


def checkpoint_facts(
    step: int,
    stream: BatchStream,
    seconds: float,
    schedule: Schedule,
    stopping: EarlyStopping,
    pending: list[list[float]],
) -> dict[str, Any]:
    """Return the facts of a checkpoint: the position in the data and the state of schedule and early stopping.

    `pending` are the updates since the last full line of the log, as from `Meter.noted`.
    """
    return {
        "step": step,
        "epoch": stream.epoch,
        "batch": stream.batch,
        "seconds": seconds,
        "factor": schedule.factor,
        "best": stopping.best.bleu if stopping.evaluations else None,
        "best_chrf": stopping.best.chrf,
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
        chrf = facts.get("best_chrf", 0.0)
        stopping.best = DevScore(facts["best"], math.inf if perplexity is None else perplexity, chrf)
    stopping.since_best, stopping.evaluations = facts["since_best"], facts["evaluations"]
