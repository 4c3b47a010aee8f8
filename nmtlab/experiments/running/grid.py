"""All cells of a table: what is there already is left alone, the rest is made."""

from collections.abc import Callable, Sequence

from nmtlab.errors import CorpusError
from nmtlab.experiments.running.cells import Cell, is_made, made_run, run_seconds
from nmtlab.experiments.running.engines import Engine, one_by_one
from nmtlab.experiments.running.events import Counted, GridEvent, Left, NoText, OnGridEvent, Opening, ignore
from nmtlab.experiments.tables.corpora import Corpus
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.workspace import Workspace


def run_grid(
    cells: Sequence[Cell],
    workspace: Workspace,
    engine: Engine = one_by_one,
    on_event: OnGridEvent = ignore,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[Left]:
    """Make all cells that are not there yet and whose text can be had, going on with those that were interrupted.

    Args:
        cells: what to make.
        workspace: where corpora, runs and caches are.
        engine: where the cells are made.
        on_event: told how far things are.
        should_stop: asked often; the rest can be made another time.

    Returns:
        The cells that had a problem.

    Raises:
        NmtlabError: before anything is trained: no corpus at all can be opened, or a run of a cell's name is another
            training.
    """
    corpora = _opened(cells, workspace, on_event)
    cells = [cell for cell in cells if cell.corpus in corpora]
    runs = {cell.run: made_run(cell, corpora[cell.corpus], workspace) for cell in cells}
    made = tuple((cell, run_seconds(runs[cell.run])) for cell in cells if is_made(cell, runs[cell.run]))
    pending = tuple(cell for cell in cells if not is_made(cell, runs[cell.run]))
    on_event(Counted(pending, made))
    problems = []

    def watch(event: GridEvent) -> None:
        if isinstance(event, Left) and event.problem:
            problems.append(event)
        on_event(event)

    engine(pending, workspace, watch, should_stop)
    return problems


def _opened(cells: Sequence[Cell], workspace: Workspace, on_event: OnGridEvent) -> dict[Corpus, ParallelCorpus]:
    """Return the corpora that can be had; if there are none, raise what is wrong with the first."""
    opened, problems = {}, []
    for row, corpus in dict.fromkeys((cell.row, cell.corpus) for cell in cells):
        on_event(Opening(row, corpus.name))
        try:
            opened[corpus] = corpus.open(workspace)
        except CorpusError as error:
            problems.append(error)
            on_event(NoText(row, str(error)))
    if problems and not opened:
        raise problems[0]
    return opened
