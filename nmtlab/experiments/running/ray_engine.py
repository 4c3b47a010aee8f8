"""Cells of a grid on a Ray cluster: many machines that see the same workspace."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nmtlab.errors import NmtlabError
from nmtlab.experiments.running.cells import Cell
from nmtlab.experiments.running.engines import Engine, made
from nmtlab.experiments.running.events import GridEvent, Left, OnGridEvent
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from ray import ObjectRef

_LOOK_EVERY = 0.2
"""Seconds between looks at what has been told, and at whether everything is to stop."""

_PATIENCE = 10
"""Seconds that a cluster has to answer."""


def on_ray(workers: int) -> Engine:
    """Return an engine that makes cells on a Ray cluster, as many at once as it has cores.

    The cluster is the one that RAY_ADDRESS names, or else one of this machine's own. All its machines need nmtlab, and
    the workspace under the same path. A cell whose worker is lost is begun again by Ray, and goes on where it was.

    Args:
        workers: cells made at once where there is no cluster.

    Raises:
        NmtlabError: when it is used: Ray is not installed, or the cluster does not answer.
    """

    def engine(
        cells: Sequence[Cell], workspace: Workspace, on_event: OnGridEvent, should_stop: Callable[[], bool]
    ) -> None:
        ray = _joined(workers)
        try:
            _make(ray, cells, workspace, on_event, should_stop)
        finally:
            ray.shutdown()

    return engine


class _Board:
    """What the workers tell, and what they are told; it lives on the cluster."""

    def __init__(self) -> None:
        self._events: list[GridEvent] = []
        self._stopping = False

    def tell(self, event: GridEvent) -> None:
        self._events.append(event)

    def heard(self) -> list[GridEvent]:
        events, self._events = self._events, []
        return events

    def stop(self) -> None:
        self._stopping = True

    def is_stopping(self) -> bool:
        return self._stopping


def _joined(workers: int) -> Any:
    """Return the module of Ray, joined to a cluster."""
    try:
        import ray
    except ImportError as error:
        raise NmtlabError("Ray is not installed", "install it with pip install 'nmtlab[ray]'") from error
    _check_answers(os.environ.get("RAY_ADDRESS", ""))
    quiet = {"log_to_driver": False, "logging_level": "error"}
    on_term = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address="auto", **quiet)
    except ConnectionError:
        ray.init(num_cpus=workers, include_dashboard=False, **quiet)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_term)  # Ray's own would end everything at once
    return ray


def _check_answers(address: str) -> None:
    """Check that someone listens at an address HOST:PORT, for which Ray itself waits minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host:
        return  # none, or a name such as `auto`
    try:
        socket.create_connection((host, int(port)), _PATIENCE).close()
    except (OSError, ValueError) as error:
        raise NmtlabError(
            f"no Ray cluster at RAY_ADDRESS={address}: {error}", "start one with 'ray start --head', or unset it"
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
    waiting, working, stopping = list(cells), {}, False
    while waiting or working:
        if should_stop() and not stopping:
            stopping = True
            waiting.clear()
            ray.get(board.stop.remote())
        # A task that waits for the board lends its core to the next: so many are begun, not more.
        while waiting and len(working) < max(1, int(ray.cluster_resources().get("CPU", 1))):
            cell = waiting.pop(0)
            working[task.remote(cell, workspace, board)] = cell
        ended, _ = ray.wait(list(working), timeout=_LOOK_EVERY)
        for event in ray.get(board.heard.remote()):
            on_event(event)
        for reference in ended:
            if (left := _left(ray, reference, working.pop(reference))) is not None:
                on_event(left)


def _work(cell: Cell, workspace: Workspace, board: Any) -> Left | None:
    """Make a cell, and return how it was left, None if everything was stopped before; the body of a task."""
    import ray

    asked, stopping = 0.0, ray.get(board.is_stopping.remote())
    if stopping:
        return None

    def should_stop() -> bool:
        nonlocal asked, stopping
        if time.monotonic() - asked > _LOOK_EVERY:  # it is asked at every update
            asked, stopping = time.monotonic(), ray.get(board.is_stopping.remote())
        return stopping

    return made(cell, workspace, lambda event: ray.get(board.tell.remote(event)), should_stop)


def _left(ray: Any, reference: "ObjectRef", cell: Cell) -> Left | None:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        why = str(error).strip().splitlines()[-1]
        return Left(cell, "failed", f"run {cell.run!r}: {why}; run the grid again to go on with it")
