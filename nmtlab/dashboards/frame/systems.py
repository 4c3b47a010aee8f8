"""Cached systems, and which of the chosen runs a page shows."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from nmtlab.analysis.access.needs import DECODING, unmet
from nmtlab.analysis.access.opened import opened
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import Direction
from nmtlab.translation import Translator

_MAX_OPEN = 8
_MAX_PARAMETERS = 50_000_000
_MAX_NAMED, _MAX_SEEDS = 2, 5  # corpora and seeds that are named


def system_of(run: Run) -> Translator:
    """Return the best checkpoint of a run as a translator in its direction, cached.

    Raises:
        RunError: a phrase-based run, or one without weights.
    """
    return _open(run.folder, run.checkpoints.best_step, run.direction if run.other_direction else None)


def can_decode(run: Run) -> bool:
    """Return whether a run is neural and its weights are available."""
    return unmet(run, DECODING) is None


def has_quick_gradients(run: Run) -> bool:
    """Return whether integrated gradients of a run take seconds, and not minutes in which a page would not answer."""
    return sum(parameter.numel() for parameter in system_of(run).model.parameters()) <= _MAX_PARAMETERS


def of_one_pair(runs: Sequence[Run], pair: Direction | None = None) -> list[Run]:
    """Return the runs that translate a language pair, in this direction; that of the first run if not given."""
    return [run.directed(*(pair or runs[0].direction)) for run in runs if run.translates(*(pair or runs[0].direction))]


def of_one_source(runs: Sequence[Run]) -> list[Run]:
    """Return the runs with the same source language as the first."""
    return [run for run in runs if run.direction[0] == runs[0].direction[0]]


def mentioned(runs: Iterable[Run]) -> str:
    """Return the labels of runs for a sentence, those with commas in quotation marks."""
    return ", ".join(f"“{run.label}”" if "," in run.label else run.label for run in runs)


def left_out(runs: Sequence[Run], shown: Sequence[Run]) -> str:
    """Describe which runs are not shown because of their languages; empty if all are shown.

    Args:
        runs: the chosen runs.
        shown: those of them that are shown.
    """
    names = {run.name for run in shown}
    omitted: dict[str, list[Run]] = {}
    for run in runs:
        if run.name not in names:
            omitted.setdefault("-".join(run.direction), []).append(run)
    reasons = "; ".join(
        f"{mentioned(group)} {'translates' if len(group) == 1 else 'translate'} {pair}"
        for pair, group in omitted.items()
    )
    return f"{len(shown)} of {len(runs)} shown: {reasons}." if reasons else ""


def described_runs(runs: Iterable[Run], text: str = "") -> str:
    """Return what a figure is of, for its subtitle: `small-tr-en (tr → en), dev, seeds 1–3`.

    Args:
        text: the text, if the figure is of one: `dev`, `a typed sentence`.
    """
    listed = list(runs)
    trained = dict.fromkeys(f"{run.recipe.corpus.name} ({' → '.join(run.direction)})" for run in listed)
    corpora = " and ".join(trained) if len(trained) <= _MAX_NAMED else f"{len(trained)} corpora"
    seeds = sorted({run.recipe.training.seed for run in listed if run.recipe.model.neural})
    return ", ".join(filter(None, [corpora, text, _named_seeds(seeds)]))


def _named_seeds(seeds: Sequence[int]) -> str:
    if len(seeds) < 2:
        return "".join(f"seed {seed}" for seed in seeds)
    if seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"seeds {seeds[0]}–{seeds[-1]}"
    return f"seeds {', '.join(map(str, seeds))}" if len(seeds) <= _MAX_SEEDS else f"{len(seeds)} seeds"


@lru_cache(maxsize=_MAX_OPEN)
def _open(folder: Path, step: int | None, direction: Direction | None) -> Translator:
    return opened(Run(folder)) if direction is None else _open(folder, step, None).directed(*direction)
