"""What a grid will take: time and disk space."""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import pandas as pd

from nmtlab.errors import CorpusError
from nmtlab.grids.declared.corpora import Corpus, opened_beside
from nmtlab.grids.running.cells import (
    ENDED,
    NEED_DIVERGED,
    Cell,
    is_made,
    made_run,
    run_seconds,
    status_of,
    trainings,
)
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.cost import estimate_cost
from nmtlab.workspace import Workspace

# A phrase-based system takes about two minutes on 5,000 pairs, mostly for tuning.
_PHRASE_MINUTES_A_PAIR = 2 / 5000
_PHRASE_MIB = 50.0

COLUMNS = ["run", "row", "column", "seed", "status", "minutes", "disk_mib", "problem"]

Known = Sequence[tuple[Cell, float]]
"""Cells, and the seconds that they took or are expected to take."""


def expected_seconds(cell: Cell, known: Known) -> float | None:
    """Return the mean time of the known cells most similar to a cell, or None if no cell is known.

    Most similar is the same system on the same text, then the same model family on the same text, then the same
    family, then any.
    """

    def similarity(other: Cell) -> int:
        family = type(other.recipe.model) is type(cell.recipe.model)
        text = other.corpus == cell.corpus
        return 3 if text and other.label == cell.label else 2 if text and family else 1 if family else 0

    most = max((similarity(other) for other, _ in known), default=0)
    similar = [seconds for other, seconds in known if similarity(other) == most]
    return fmean(similar) if similar else None


def seconds_left(waiting: Collection[Cell], running: Mapping[str, float], known: Known, workers: int) -> float | None:
    """Return the seconds that a grid will still take, or None if the time of a waiting cell is unknown.

    Args:
        waiting: cells not yet started.
        running: remaining seconds of each running cell, by run name.
        known: cells that are finished, or whose total time is estimated.
        workers: number of cells made at once.
    """
    expected = [seconds for cell in waiting if (seconds := expected_seconds(cell, known)) is not None]
    if len(expected) < len(waiting):
        return None
    return (sum(expected) + sum(running.values())) / workers


def estimate_grid(cells: Sequence[Cell], workspace: Workspace) -> pd.DataFrame:
    """Estimate the remaining work of a grid, without doing any of it.

    Returns:
        One line per cell: `run`, `row`, `column`, `seed`; `status` of its run, or `not run`; remaining `minutes`, taken
        from finished cells of the same system on the same text, or else a rough estimate; `disk_mib` that it will
        take. Both are 0 for a complete cell, and missing if the text is not available; `problem` then gives the reason.

    Raises:
        RunError: a run with a cell's name is a different training.
    """
    cells = trainings(cells, workspace)
    with TemporaryDirectory() as folder:
        needed = {corpus for cell in cells for corpus in cell.corpora}
        corpora = {corpus: _opened(corpus, workspace, Path(folder)) for corpus in needed}
        runs = {cell.run: _run(cell, corpora[cell.corpus], workspace) for cell in cells}
        known = [(cell, run_seconds(run)) for cell in cells if (run := runs[cell.run]) and run.status in ENDED]
        guesses: dict[tuple[Corpus, tuple[Corpus, ...], str], tuple[float, float]] = {}
        lines = []
        for cell in cells:
            run, kind = runs[cell.run], (cell.corpus, cell.more, cell.label)
            texts = [corpora[corpus] for corpus in (cell.corpus, *cell.more)]
            scored = [text for corpus in cell.texts if isinstance(text := corpora[corpus], ParallelCorpus)]
            status = status_of(cell, run, workspace)
            complete = status == NEED_DIVERGED or is_made(cell, run, scored)
            if not complete and kind not in guesses:
                guesses[kind] = _guess(cell, texts, known)
            minutes, disk_mib = (0.0, 0.0) if complete else guesses[kind]
            problem = next((text for text in texts if isinstance(text, str)), "")
            lines.append((cell.run, cell.row, cell.column, cell.seed, status, minutes, disk_mib, problem))
    return pd.DataFrame(lines, columns=COLUMNS).astype({"seed": "Int64"})


def _run(cell: Cell, corpus: ParallelCorpus | str, workspace: Workspace) -> Run | None:
    return None if isinstance(corpus, str) else made_run(cell, corpus, workspace)


def _opened(corpus: Corpus, workspace: Workspace, spare: Path) -> ParallelCorpus | str:
    """Return a corpus, made in a spare folder if it does not exist yet, or why it is not available."""
    try:
        return opened_beside(corpus, workspace, spare)
    except CorpusError as error:
        return str(error)


def _guess(cell: Cell, texts: Sequence[ParallelCorpus | str], known: Known) -> tuple[float, float]:
    """Return the minutes and MiB that a cell takes from the start."""
    corpora = [text for text in texts if isinstance(text, ParallelCorpus)]
    if len(corpora) < len(texts):
        return math.nan, math.nan
    same = [seconds for other, seconds in known if (other.corpus, other.label) == (cell.corpus, cell.label)]
    if not cell.recipe.model.neural:
        minutes, disk_mib = _PHRASE_MINUTES_A_PAIR * corpora[0].count("train"), _PHRASE_MIB
    else:
        cost = estimate_cost(cell.recipe, *corpora)
        minutes, disk_mib = cost.minutes, cost.disk_mib
    return (fmean(same) / 60 if same else minutes), disk_mib
