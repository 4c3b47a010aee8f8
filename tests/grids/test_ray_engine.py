"""A grid on a Ray cluster of two workers: the same runs as locally, even if a worker is killed."""

import psutil
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.grids.results.collected import collected_cells
from nmtlab.grids.running.cells import cells_of
from nmtlab.grids.running.events import CellEnded, CellEvent, GridPlanned
from nmtlab.grids.running.grid import run_grid
from nmtlab.grids.running.ray_engine import on_ray
from nmtlab.runs.run import Run
from nmtlab.training.events import Progress
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full


def losses(run: Run) -> list[list[float]]:
    return run.log.metrics("train")[["step", "loss", "perplexity", "gradient_norm"]].to_numpy().tolist()


def working() -> list[psutil.Process]:
    """Return the processes of Ray that make a cell."""
    return [one for one in psutil.Process().children(recursive=True) if one.name().startswith("ray::_work")]


def test_ray_gives_the_same_table_and_goes_on_with_a_cell_whose_worker_was_killed(grid, space):
    pytest.importorskip("ray")
    first, second = cells_of(grid.table, "tiny")[:2]
    events, killed = [], []

    def watch(event) -> None:
        events.append(event)
        at_work = isinstance(event, CellEvent) and event.cell == first and isinstance(event.event, Progress)
        if at_work and event.event.step >= 40 and not killed:  # its first checkpoint is at 30
            killed.extend(working())
            for process in killed:
                process.kill()

    assert run_grid([first, second], space, on_ray(2), watch) == []
    assert killed
    assert {(event.cell.run, event.status) for event in events if isinstance(event, CellEnded)} == {
        (first.run, "finished"), (second.run, "finished"),
    }  # fmt: skip
    for cell in (first, second):
        ours, theirs = (Run(workspace.run_folder(cell.run)) for workspace in (grid.workspace, space))
        assert losses(ours) == losses(theirs)
    lines = [collected_cells(grid.table, "tiny", workspace) for workspace in (grid.workspace, space)]
    made = [frame.loc[frame["run"].isin([first.run, second.run]), "value"] for frame in lines]
    assert made[0].tolist() == made[1].tolist()


def test_a_stopped_grid_on_ray_is_gone_on_with(grid, space):
    pytest.importorskip("ray")
    cells = cells_of(grid.table, "tiny")[:3]
    events = []
    run_grid(cells, space, on_ray(1), events.append, lambda: any(isinstance(event, CellEvent) for event in events))
    assert {(event.status, event.problem) for event in events if isinstance(event, CellEnded)} == {("stopped", "")}
    again = []
    run_grid(cells[:2], space, on_ray(1), again.append)
    (counted,) = [event for event in again if isinstance(event, GridPlanned)]
    assert counted.pending == tuple(cells[:2])
    own = [event.cell for event in again if isinstance(event, CellEvent | CellEnded)]
    assert own == sorted(own, key=cells.index)  # one core: one at a time, though a waiting task lends its core
    assert losses(Run(space.run_folder(cells[0].run))) == losses(Run(grid.workspace.run_folder(cells[0].run)))


def test_a_cluster_that_does_not_answer_is_named_with_what_to_do(grid, space, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(NmtlabError, match=r"no Ray cluster at RAY_ADDRESS=127\.0\.0\.1:1: .*refused"):
        run_grid(cells_of(grid.table, "tiny")[:1], Workspace(space.data / "other", space.more_corpora), on_ray(1))
