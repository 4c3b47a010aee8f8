"""All cells of a table: complete ones are left alone, the rest are made, or taken from packed runs."""

from collections.abc import Callable, Mapping, Sequence
from shutil import copytree

from nmtlab.analysis.metrics import find_metrics, stored_lines, value_of
from nmtlab.errors import CorpusError, RunError
from nmtlab.grids.declared.corpora import Corpus, planned
from nmtlab.grids.declared.declaration import Scale, Table
from nmtlab.grids.running.cells import (
    Cell,
    can_translate,
    cells_of,
    is_made,
    is_the_training,
    made_run,
    run_seconds,
    trainings,
)
from nmtlab.grids.running.engines import Engine, one_by_one
from nmtlab.grids.running.events import CellEnded, GridEvent, GridPlanned, NoText, OnGridEvent, Opening, ignore
from nmtlab.runs.packed import open_evidence, open_packed
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace


def run_grid(
    cells: Sequence[Cell],
    workspace: Workspace,
    engine: Engine = one_by_one,
    on_event: OnGridEvent = ignore,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[CellEnded]:
    """Make all cells that are not complete and whose text is available, resuming interrupted ones.

    Args:
        cells: the cells to make.
        workspace: contains corpora, runs and caches.
        engine: makes the cells.
        on_event: called with progress events.
        should_stop: polled often; the remaining cells can be made later.

    Returns:
        The cells with a problem.

    Raises:
        NmtlabError: before any training: no corpus can be opened, a run with a cell's name is a different training, or
            it was packed without its model and cannot give the cell's numbers.
    """
    cells = trainings(cells, workspace)
    corpora = _opened(cells, workspace, on_event)
    cells = [cell for cell in cells if corpora.keys() >= set(cell.corpora)]
    runs = {cell.run: run for cell in cells if (run := made_run(cell, corpora[cell.corpus], workspace))}
    complete = {cell.run for cell in cells if is_made(cell, runs.get(cell.run), [corpora[text] for text in cell.texts])}
    for cell in cells:
        if cell.run in complete:
            _check_numbers(cell, runs[cell.run], corpora)
    pending = tuple(cell for cell in cells if cell.run not in complete)
    on_event(GridPlanned(pending, tuple((cell, run_seconds(runs[cell.run])) for cell in cells if cell.run in complete)))
    problems = []

    def watch(event: GridEvent) -> None:
        if isinstance(event, CellEnded) and event.problem:
            problems.append(event)
        on_event(event)

    engine(pending, workspace, watch, should_stop)
    return problems


def _check_numbers(cell: Cell, run: Run, corpora: Mapping[Corpus, ParallelCorpus]) -> None:
    """Check that a run gives the numbers of its cell if it was packed without its model."""
    if run.checkpoints.has_weights("best") or not can_translate(run):
        return
    try:
        for text in cell.texts:
            for measure in find_metrics(cell.metrics):
                value_of(measure, run, corpora[text])
    except RunError as error:
        raise RunError(error.problem, "remove it with 'nmtlab runs remove', and it is trained again") from error


def _opened(cells: Sequence[Cell], workspace: Workspace, on_event: OnGridEvent) -> dict[Corpus, ParallelCorpus]:
    """Return the corpora that are available, or planned; if there are none, raise the problem of the first."""
    opened, problems = {}, []
    for row, corpus in dict.fromkeys((cell.row, corpus) for cell in cells for corpus in cell.corpora):
        available = planned(corpus, workspace)
        on_event(Opening(row, available.name))
        try:
            opened[corpus] = available.open(workspace)
        except CorpusError as error:
            problems.append(error)
            on_event(NoText(row, str(error)))
    if problems and not opened:
        raise problems[0]
    return opened


def unpack_table(table: Table, scale: Scale, workspace: Workspace) -> list[str]:
    """Copy the packed runs that are cells of a table into the workspace, where they count as made.

    A run is taken if it is the same training and has its model, or if the table needs no more than its translations,
    these are stored, and no training that is still to be made starts from it; runs that the workspace has already stay
    as they are.

    Returns:
        The names of the runs that were copied.

    Raises:
        RunError: an archive is damaged.
    """
    copied: list[str] = []
    started_from: set[str] = set()
    for cell in reversed(trainings(cells_of(table, scale))):
        if workspace.run_folder(cell.run).exists():
            continue
        packed = open_packed(cell.run, workspace) or open_evidence(cell.run, workspace)
        if packed and _replaces(packed, cell, table, workspace, cell.run in started_from):
            copytree(packed.folder, workspace.run_folder(cell.run))
            copied.insert(0, cell.run)
        else:
            started_from |= {need.cell.run for need in cell.needs}
    return copied


def _replaces(packed: Run, cell: Cell, table: Table, workspace: Workspace, with_weights: bool) -> bool:
    """Return whether a packed run does for a cell of a table, perhaps only `with_weights`."""
    try:
        texts = [corpus.open(workspace) for corpus in cell.texts]
        trained_on = planned(cell.corpus, workspace).open(workspace)
    except CorpusError:
        return False
    if not is_the_training(cell, packed, trained_on):
        return False
    scores = [measure for measure in find_metrics(table.metrics) if measure.kind == "score"]
    translated = len(scores) == len(table.metrics) and all(
        stored_lines(score, packed, text) is not None for score in scores for text in texts
    )
    return packed.checkpoints.has_weights("best") or (translated and not with_weights)
