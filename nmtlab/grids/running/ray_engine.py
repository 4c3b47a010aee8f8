"""Cells of a grid on a Ray cluster: many machines that share a workspace."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nmtlab.errors import NmtlabError, missing_package
from nmtlab.grids.running.cells import Cell
from nmtlab.grids.running.engines import Engine, made, take_ready
from nmtlab.grids.running.events import CellEnded, GridEvent, OnGridEvent
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from ray import ObjectRef

_POLL_SECONDS = 0.2
"""Seconds between polls of the workers' events, and of `should_stop`."""

_PATIENCE = 10
"""Seconds to wait for a cluster to answer."""


def on_ray(workers: int) -> Engine:
    """Return an engine that makes cells on a Ray cluster, as many at once as it has cores.

    The cluster is the one that RAY_ADDRESS names, or the one running on this machine, or else a new local one. All its
    machines need nmtlab, and the workspace under the same path. Ray restarts a cell whose worker is lost, and its
    training resumes from the last checkpoint.

    Args:
        workers: number of cells made at once on a new local cluster.

    Raises:
        NmtlabError: when the engine is used: ray is not installed, or the cluster does not answer.
    """

    def engine(
        cells: Sequence[Cell], workspace: Workspace, on_event: OnGridEvent, should_stop: Callable[[], bool]
    ) -> None:
        ray = _connected(workers)
        try:
            _make(ray, cells, workspace, on_event, should_stop)
        finally:
            ray.shutdown()

    return engine


class _Board:
    """The workers' events, and the request to stop; it lives on the cluster."""

    def __init__(self) -> None:
        self._events: list[GridEvent] = []
        self._stopping = False

    def add(self, event: GridEvent) -> None:
        self._events.append(event)

    def take(self) -> list[GridEvent]:
        events, self._events = self._events, []
        return events

    def stop(self) -> None:
        self._stopping = True

    def is_stopping(self) -> bool:
        return self._stopping


def _connected(workers: int) -> Any:
    """Return the module of Ray, connected to a cluster."""
    try:
        import ray
    except ImportError as error:
        raise missing_package("ray") from error
    _check_answers(os.environ.get("RAY_ADDRESS", ""))
    connect: Callable[..., object] = ray.init  # its default level is a name, too, in spite of its annotation
    quiet = {"log_to_driver": False, "logging_level": "error"}
    on_term = signal.getsignal(signal.SIGTERM)
    try:
        connect(address="auto", **quiet)
    except ConnectionError:
        connect(num_cpus=workers, include_dashboard=False, **quiet)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_term)  # Ray's handler would end everything at once
    return ray


def _check_answers(address: str) -> None:
    """Check that something listens at an address HOST:PORT; Ray itself would wait minutes for it."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host:
        return  # none, or a name such as `auto`
    try:
        socket.create_connection((host, int(port)), _PATIENCE).close()
    except (OSError, ValueError) as error:
        raise NmtlabError(
            f"no Ray cluster at RAY_ADDRESS={address}: {error}",
            "start one with 'ray start --head', or unset RAY_ADDRESS",
        ) from error


def _make(
    ray: Any,
    cells: Sequence[Cell],
    workspace: Workspace,
    on_event: OnGridEvent,
    should_stop: Callable[[], bool],
) -> None:
    board = ray.remote(_Board).options(num_cpus=0).remote()
    task = ray.remote(_work).options(num_cpus=1)
    working: dict[ObjectRef, Cell] = {}
    waiting, stopping = list(cells), False
    while waiting or working:
        if should_stop() and not stopping:
            stopping = True
            waiting.clear()
            ray.get(board.stop.remote())
        # A task that waits for the board lends its core to the next one, so Ray alone would start too many.
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        while len(working) < cores and (cell := take_ready(waiting, working.values())):
            working[task.remote(cell, workspace, board)] = cell
        ended, _ = ray.wait(list(working), timeout=_POLL_SECONDS)
        for event in ray.get(board.take.remote()):
            on_event(event)
        for reference in ended:
            if (left := _left(ray, reference, working.pop(reference))) is not None:
                on_event(left)


def _work(cell: Cell, workspace: Workspace, board: Any) -> CellEnded | None:
    """Make a cell, and return how it ended, or None if the grid was stopped before; the body of a task."""
    import ray

    polled, stopping = 0.0, ray.get(board.is_stopping.remote())
    if stopping:
        return None

    def should_stop() -> bool:
        nonlocal polled, stopping
        if time.monotonic() - polled > _POLL_SECONDS:  # training polls at every update
            polled, stopping = time.monotonic(), ray.get(board.is_stopping.remote())
        return stopping

    return made(cell, workspace, lambda event: ray.get(board.add.remote(event)), should_stop)


def _left(ray: Any, reference: "ObjectRef", cell: Cell) -> CellEnded | None:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        why = str(error).strip().splitlines()[-1]
        return CellEnded(cell, "failed", f"run {cell.run!r}: {why}; run the grid again to resume it")
