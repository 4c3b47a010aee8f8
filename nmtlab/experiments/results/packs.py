"""Packed runs that are cells of a table, taken into the workspace."""

from collections.abc import Iterator
from shutil import copytree

from nmtlab.errors import CorpusError
from nmtlab.experiments.measures.quality import OfSentences
from nmtlab.experiments.running.cells import Cell, cells_of, is_the_training, trainings
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.runs.packed import open_evidence, open_packed
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


def unpack_table(table: Table, scale: Scale, workspace: Workspace) -> list[str]:
    """Copy the packed runs that are cells of a table into the workspace, where they count as made.

    A run is taken if it is the same training and has its model, or if the table needs no more than its translations,
    and these are stored; runs that the workspace has already stay as they are.

    Returns:
        The names of the runs that were copied.

    Raises:
        RunError: an archive is damaged.
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


def _packed_cells(table: Table, scale: Scale, workspace: Workspace) -> Iterator[tuple[Cell, Run]]:
    """Yield the trainings that the workspace lacks and that are packed under that name."""
    for cell in trainings(cells_of(table, scale)):
        if not workspace.run_folder(cell.run).exists():
            packed = open_packed(cell.run, workspace) or open_evidence(cell.run, workspace)
            if packed:
                yield cell, packed
