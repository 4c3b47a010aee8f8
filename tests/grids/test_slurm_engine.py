"""A grid as jobs of Slurm, with submitit's processes of this machine in their place: the same runs as locally."""

import psutil
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.grids.running.cells import cells_of
from nmtlab.grids.running.events import CellEnded, CellEvent
from nmtlab.grids.running.grid import run_grid
from nmtlab.grids.running.slurm_engine import on_slurm
from nmtlab.runs.run import Run

pytest.importorskip("submitit", reason="needs submitit: pip install submitit")


def losses(run: Run) -> list[list[float]]:
    return run.log.metrics("train")[["step", "loss", "perplexity", "gradient_norm"]].to_numpy().tolist()


@pytest.mark.full
def test_jobs_make_the_same_runs_and_their_logs_are_kept(grid, space):
    first, second = cells_of(grid.table, "tiny")[:2]
    events = []
    assert run_grid([first, second], space, on_slurm("local", 0.1), events.append) == []
    ended = {(event.cell.run, event.status) for event in events if isinstance(event, CellEnded)}
    assert ended == {(first.run, "finished"), (second.run, "finished")}
    for cell in (first, second):
        ours, theirs = (Run(workspace.run_folder(cell.run)) for workspace in (grid.workspace, space))
        assert losses(ours) == losses(theirs)
    assert len(list((space.data / "logs/slurm").glob("*/*_log.out"))) == 2
    assert not list((space.data / "logs/slurm").glob("grid-*"))


@pytest.mark.full
def test_a_job_that_is_killed_is_a_problem_and_the_grid_can_be_run_again(grid, space):
    (cell,) = cells_of(grid.table, "tiny")[:1]
    events = []

    def watch(event) -> None:
        events.append(event)
        if isinstance(event, CellEvent):
            job = psutil.Process(int(event.event.what.removeprefix("job ")))
            for process in (*job.children(recursive=True), job):  # else what the job has started ends its work
                process.kill()

    (problem,) = run_grid([cell], space, on_slurm("local", 0.1), watch)
    assert problem.status == "failed"
    assert problem.problem.endswith("run the grid again to resume it")


@pytest.mark.full
def test_a_stopped_grid_ends_its_jobs(grid, space):
    cells = cells_of(grid.table, "tiny")[:2]
    events = []
    run_grid(cells, space, on_slurm("local", 0.1), events.append, lambda: len(events) > 4)
    assert {event.status for event in events if isinstance(event, CellEnded)} <= {"stopped", "finished"}


def test_without_slurm_the_remedy_is_named(grid, space, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NmtlabError, match="no Slurm on this machine: sbatch was not found; run it on a login node"):
        run_grid(cells_of(grid.table, "tiny")[:1], space, on_slurm())
