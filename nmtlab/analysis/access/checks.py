"""Checks on a run before an analysis starts."""

from nmtlab.analysis.access.needs import COUNTS
from nmtlab.errors import CorpusError, RunError
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline


def in_direction(run: Run, corpus: ParallelCorpus) -> Run:
    """Return a run in the direction of a corpus, trained or not.

    Raises:
        CorpusError: the run does not translate between these languages.
    """
    direction = corpus.source, corpus.target
    if run.direction == direction:
        return run
    if not run.translates(*direction):
        known = ", ".join(f"{source} to {target}" for source, target in run.directions)
        raise CorpusError(
            f"corpus {corpus.name!r} is {corpus.source} to {corpus.target}, run {run.name!r} translates {known}",
            "choose a corpus in the run's languages, or give --source and --target",
        )
    return run.directed(*direction)


def overlap(run: Run, corpus: ParallelCorpus, split: str) -> str:
    """Return the warning for a run's score on a text that overlaps its training text; empty for any other text."""
    shared = run.environment.get("overlap", {})
    if not shared or (checksum := corpus.checksum()) not in run.checksums:
        return ""
    index = run.checksums.index(checksum)
    title = f"{split} of {run.recipe.corpora[index].name}" if index else split
    affected = shared.get(title) or any(index and part.startswith(f"{title} ") for part in shared)
    return f"run {run.name!r}: {run.overlap}" if affected else ""


def check_counts(pipeline: Pipeline) -> None:
    """Raise `RunError` if it is not known how often a run's types occur in training, as of an imported model."""
    if not pipeline.counts_known:
        raise RunError(COUNTS.problem, COUNTS.remedy)
