"""The runs behind a table, packed into one file of the gallery, and taken from there again."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

import pandas as pd

from nmtlab.errors import CorpusError
from nmtlab.experiments.measures.quality import OfSentences
from nmtlab.experiments.results.collected import made_rows
from nmtlab.experiments.results.hypotheses import hypotheses_of
from nmtlab.experiments.running.cells import Cell, cells_of, is_the_training, trainings
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.runs.archive import ENDING
from nmtlab.runs.bundle import bundle, bundled_runs, bundles, opened_bundle
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.workspace import Workspace


class PackedTable(NamedTuple):
    """What was packed.

    Args:
        target: the file; not written if there is nothing to pack.
        packed: names of the runs in it.
        elsewhere: runs of the table that the gallery has outside it, and whether it is the same training.
    """

    target: Path
    packed: list[str]
    elsewhere: dict[str, bool]


def pack_table(table: Table, scale: Scale, workspace: Workspace) -> PackedTable:
    """Pack the runs of a table that have ended, with those in its file that are not here now.

    Runs that are in the gallery anyway, as folders or in the file of another table, are left out.

    Raises:
        RunError: a run or a file of the gallery is damaged, or a run with a cell's name is a different training.
    """
    target = workspace.gallery / f"{table.name}.{scale}{ENDING}"
    before = opened_bundle(target, workspace.cache) if target.exists() else {}
    others = [file for file in bundles(workspace.gallery) if file != target]
    gallery = _runs_in(workspace, others)
    ended = {name: run for _, _, runs in made_rows(table, scale, workspace) for name, run in runs.items()}
    elsewhere = {
        name: Run(gallery[name]).original_digest == run.original_digest
        for name, run in ended.items()
        if name in gallery
    }
    runs = {name: Run(folder) for name, folder in before.items()} | ended
    runs = {name: run for name, run in runs.items() if name not in elsewhere}
    if runs:
        bundle(runs.values(), target)
    return PackedTable(target, sorted(runs), elsewhere)


def unpack_table(table: Table, scale: Scale, workspace: Workspace) -> list[str]:
    """Copy the runs of the gallery that are cells of a table into the workspace, where they count as made.

    A run is taken if it is the same training and has its model, or if the table needs no more than its translations,
    and these are stored; runs that the workspace has already stay as they are.

    Returns:
        The names of the runs that were copied.

    Raises:
        RunError: a file of the gallery is damaged.
    """
    copied = []
    for cell, packed in _packed_cells(table, scale, workspace):
        try:
            texts = [corpus.open(workspace) for corpus in cell.texts]
            trained_on = cell.corpus.open(workspace)
        except CorpusError:
            continue
        scores = [measure for measure in table.measures if isinstance(measure, OfSentences)]
        translated = len(scores) == len(table.measures) and all(
            score.stored(packed, text) is not None for score in scores for text in texts
        )
        if is_the_training(cell, packed, trained_on) and (packed.has_weights("best") or translated):
            copytree(packed.folder, workspace.run_folder(cell.run))
            copied.append(cell.run)
    return copied


def packed_hypotheses(table: Table, scale: Scale, workspace: Workspace) -> pd.DataFrame:
    """Return the translations that are stored with the packed runs of a table, as `hypotheses` does.

    Raises:
        RunError: a file of the gallery is damaged.
    """
    return hypotheses_of(_packed_with_text(table, scale, workspace), table)


def _packed_with_text(table: Table, scale: Scale, workspace: Workspace) -> Iterator[tuple[Cell, Run, ParallelCorpus]]:
    """Yield the cells whose run is packed and whose text is available, with that run and the text it is scored on."""
    packed = _runs_in(workspace, bundles(workspace.gallery))
    for _, group in groupby(cells_of(table, scale), key=lambda cell: cell.row):
        cells = [cell for cell in group if cell.run in packed]
        try:
            opened = {corpus: corpus.open(workspace) for cell in cells for corpus in (cell.corpus, cell.texts[0])}
        except CorpusError:
            continue
        for cell in cells:
            run = Run(packed[cell.run])
            if is_the_training(cell, run, opened[cell.corpus]):
                yield cell, run, opened[cell.texts[0]]


def _packed_cells(table: Table, scale: Scale, workspace: Workspace) -> Iterator[tuple[Cell, Run]]:
    """Yield the trainings that the workspace lacks and the gallery has, under that name."""
    packed = _runs_in(workspace, bundles(workspace.gallery))
    for cell in trainings(cells_of(table, scale)):
        if cell.run in packed and not workspace.run_folder(cell.run).exists():
            yield cell, Run(packed[cell.run])


def _runs_in(workspace: Workspace, files: Iterable[Path]) -> dict[str, Path]:
    """Return the folders of the gallery's runs, by name: those in some bundles, and those that are folders."""
    folders = {folder.name: folder for folder in workspace.gallery.glob("[!.]*") if folder.is_dir()}
    return {**bundled_runs(files, workspace.cache), **folders}
