"""Cells of a grid as jobs of Slurm: many machines that share a workspace."""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from nmtlab.errors import NmtlabError, missing_package
from nmtlab.grids.running.cells import Cell
from nmtlab.grids.running.engines import Engine, made, take_ready
from nmtlab.grids.running.events import CellEnded, CellEvent, OnGridEvent, ignore
from nmtlab.training.events import Preparing
from nmtlab.workspace import Workspace

_POLL_SECONDS = 2.0
"""Seconds between looks at the jobs, and, in a job, at whether to stop."""

_MINUTES = 4 * 60
"""Time limit of a job; one that reaches it is queued again, up to three times, and its training resumes."""


def on_slurm(cluster: Literal["slurm", "local"] = "slurm", poll_seconds: float = _POLL_SECONDS) -> Engine:
    """Return an engine that makes each cell as a job of Slurm, with one core, once its needs are made.

    All machines need nmtlab, and the workspace under the same path. The variables of `sbatch` hold, such as
    SBATCH_PARTITION, SBATCH_ACCOUNT and SBATCH_TIMELIMIT. What jobs print is in `logs/slurm` of the workspace.

    Args:
        cluster: `local` for processes of this machine instead, to try it.
        poll_seconds: between looks at the jobs.

    Raises:
        NmtlabError: when the engine is used: submitit is not installed, or this machine has no Slurm.
    """

    def engine(
        cells: Sequence[Cell], workspace: Workspace, on_event: OnGridEvent, should_stop: Callable[[], bool]
    ) -> None:
        logs = (workspace.data / "logs" / "slurm").absolute()
        executor = _executor(cluster, logs)
        with TemporaryDirectory(prefix="grid-", dir=logs) as folder:
            stop = Path(folder) / "stop"
            _make(executor, stop, cells, workspace, on_event, should_stop, poll_seconds)

    return engine


class _Work:
    """Makes a cell; the body of a job. Submitit pickles it, and queues it again if its time is over."""

    def __init__(self, cell: Cell, workspace: Workspace, stop: Path) -> None:
        self.cell, self.workspace, self.stop = cell, workspace, stop
        self._polled, self._stopping = 0.0, False

    def __call__(self) -> CellEnded:
        return made(self.cell, self.workspace, ignore, self._should_stop)

    def checkpoint(self) -> Any:
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(_Work(self.cell, self.workspace, self.stop))

    def _should_stop(self) -> bool:
        if time.monotonic() - self._polled > _POLL_SECONDS:  # training polls at every update
            self._polled, self._stopping = time.monotonic(), self.stop.exists()
        return self._stopping


def _executor(cluster: str, logs: Path) -> Any:
    try:
        import submitit
    except ImportError as error:
        raise missing_package("submitit") from error
    if cluster == "slurm" and not shutil.which("sbatch"):
        raise NmtlabError("no Slurm on this machine: sbatch was not found", "run it on a login node of the cluster")
    logs.mkdir(parents=True, exist_ok=True)
    executor = submitit.AutoExecutor(folder=logs / "%j", cluster=cluster)
    executor.update_parameters(name="nmtlab", timeout_min=_MINUTES, cpus_per_task=1)
    return executor


def _make(
    executor: Any,
    stop: Path,
    cells: Sequence[Cell],
    workspace: Workspace,
    on_event: OnGridEvent,
    should_stop: Callable[[], bool],
    poll_seconds: float,
) -> None:
    waiting, queued, running = list(cells), dict[str, tuple[Cell, Any]](), dict[str, tuple[Cell, Any]]()
    while waiting or queued or running:
        if should_stop() and not stop.exists():
            stop.touch()
            waiting.clear()
            for _, job in queued.values():
                job.cancel()
            queued.clear()
        while cell := take_ready(waiting, [one for one, _ in (*queued.values(), *running.values())]):
            job = executor.submit(_Work(cell, workspace, stop))
            queued[job.job_id] = cell, job
        time.sleep(poll_seconds)
        for name, (cell, job) in [*queued.items()]:
            if job.done() or job.state == "RUNNING":
                running[name] = queued.pop(name)
                on_event(CellEvent(cell, Preparing(f"job {name}")))
        for name, (cell, job) in [*running.items()]:
            if job.done():
                del running[name]
                on_event(_ended(cell, job))


def _ended(cell: Cell, job: Any) -> CellEnded:
    """Return how a cell ended; a job without a result was killed, say by the cluster."""
    from submitit.core.utils import FailedJobError, UncompletedJobError

    try:
        return job.result()
    except (FailedJobError, UncompletedJobError) as error:
        why = str(error).strip().splitlines()[-1]
        return CellEnded(cell, "failed", f"run {cell.run!r}: {why}; run the grid again to resume it")
