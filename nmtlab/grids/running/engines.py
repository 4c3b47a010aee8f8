"""Engines that make the cells of a grid: one by one in this process, or several at once in separate processes.

An engine is a function of cells, workspace, `on_event` and `should_stop`. It calls `run_cell` for each cell, in any
process, forwards the events, and reports the end of each cell. A cell with a problem does not stop the others, nor does
the end of its process, which would break a pool of `concurrent.futures`. Needs come before what needs them among the
cells, and a cell is not begun while one of its needs is being made.
"""

import multiprocessing
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import NamedTuple

from nmtlab.errors import NmtlabError
from nmtlab.grids.running.cells import NEED_DIVERGED, Cell, diverged_need, run_cell
from nmtlab.grids.running.events import CellEnded, CellEvent, GridEvent, OnGridEvent
from nmtlab.workspace import Workspace

Engine = Callable[[Sequence[Cell], Workspace, OnGridEvent, Callable[[], bool]], None]

_POLL_SECONDS = 0.2
"""Seconds between polls of `should_stop`."""


def one_by_one(
    cells: Sequence[Cell], workspace: Workspace, on_event: OnGridEvent, should_stop: Callable[[], bool]
) -> None:
    """Make cells in this process, one after the other."""
    for cell in cells:
        if should_stop():
            return
        on_event(made(cell, workspace, on_event, should_stop))


def in_processes(workers: int) -> Engine:
    """Return an engine that makes up to `workers` cells at once, each in a separate process.

    The processes save their trainings and exit on a stop request, and when this process is killed.
    """

    def engine(
        cells: Sequence[Cell], workspace: Workspace, on_event: OnGridEvent, should_stop: Callable[[], bool]
    ) -> None:
        working: dict[object, _Worker] = {}  # by connection
        waiting, stopping = list(cells), False
        while waiting or working:
            if should_stop() and not stopping:
                stopping = True
                waiting.clear()
                for worker in working.values():
                    worker.stop()
            while len(working) < workers and (cell := take_ready(waiting, [one.cell for one in working.values()])):
                worker = _start(cell, workspace)
                working[worker.connection] = worker
            for connection in wait([one.connection for one in working.values()], _POLL_SECONDS):
                event = working[connection].receive()
                on_event(event)
                if isinstance(event, CellEnded):
                    working.pop(connection).process.join()

    return engine


def take_ready(waiting: list[Cell], working: Iterable[Cell]) -> Cell | None:
    """Remove and return the first cell whose needs are neither waiting nor being made; None if there is none."""
    unmade = {cell.run for cell in (*waiting, *working)}
    for place, cell in enumerate(waiting):
        if unmade.isdisjoint(need.cell.run for need in cell.needs):
            return waiting.pop(place)
    return None


class _Worker(NamedTuple):
    """A process that makes a cell, and the connection to it."""

    cell: Cell
    process: SpawnProcess
    connection: Connection

    def stop(self) -> None:
        with suppress(OSError):  # the process may just have ended
            self.connection.send("stop")

    def receive(self) -> GridEvent:
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            how = f"its process ended with code {self.process.exitcode}"
            return CellEnded(self.cell, "failed", f"run {self.cell.run!r}: {how}; run the grid again to resume it")


def _start(cell: Cell, workspace: Workspace) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, name=cell.run, args=(cell, workspace, theirs), daemon=True)
    with _interrupts_ignored():
        process.start()
    theirs.close()
    return _Worker(cell, process, ours)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let processes started within ignore Ctrl-C, which a terminal sends to all: they stop on request instead."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _work(cell: Cell, workspace: Workspace, connection: Connection) -> None:
    """Make a cell; the body of a process."""

    def send(event: GridEvent) -> None:
        with suppress(OSError):  # the parent process may be gone
            connection.send(event)

    # The connection becomes readable on a stop request, and when the parent process ends.
    send(made(cell, workspace, send, connection.poll))


def made(cell: Cell, workspace: Workspace, on_event: OnGridEvent, should_stop: Callable[[], bool]) -> CellEnded:
    """Make a cell unless a need of it diverged, and return how it ended."""
    try:
        if lost := diverged_need(cell, workspace):
            return CellEnded(cell, NEED_DIVERGED, need=lost)
        run = run_cell(cell, workspace, lambda event: on_event(CellEvent(cell, event)), should_stop)
    except NmtlabError as error:
        return CellEnded(cell, "failed", str(error))
    except Exception as error:  # one failed cell must not take the others with it
        traceback.print_exc()
        return CellEnded(cell, "failed", f"run {cell.run!r}: {type(error).__name__}: {error}")
    return CellEnded(cell, run.status)
