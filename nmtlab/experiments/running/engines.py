"""Where the cells of a grid are made: one by one in this process, or several at once in processes of their own.

An engine is a function of cells, workspace, `on_event` and `should_stop`. It calls `run_cell` for each cell, wherever
it likes, hands on what that tells, and says when a cell is left. A cell with a problem does not keep the others from
being made.
"""

import multiprocessing
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import NamedTuple

from nmtlab.errors import NmtlabError
from nmtlab.experiments.running.cells import Cell, run_cell
from nmtlab.experiments.running.events import GridEvent, Left, OnGridEvent, Told
from nmtlab.workspace import Workspace

Engine = Callable[[Sequence[Cell], Workspace, OnGridEvent, Callable[[], bool]], None]

_LOOK_EVERY = 0.2
"""Seconds between looks at whether everything is to stop."""


def one_by_one(
    cells: Sequence[Cell], workspace: Workspace, on_event: OnGridEvent, should_stop: Callable[[], bool]
) -> None:
    """Make cells in this process, one after the other."""
    for cell in cells:
        if should_stop():
            return
        on_event(made(cell, workspace, on_event, should_stop))


def in_processes(workers: int) -> Engine:
    """Return an engine that makes up to `workers` cells at once, each in a process of its own.

    The processes save their trainings and end when they are told to, and when this process is killed.
    """

    def engine(
        cells: Sequence[Cell], workspace: Workspace, on_event: OnGridEvent, should_stop: Callable[[], bool]
    ) -> None:
        waiting, working, stopping = list(cells), {}, False
        while waiting or working:
            if should_stop() and not stopping:
                stopping = True
                waiting.clear()
                for worker in working.values():
                    worker.stop()
            while waiting and len(working) < workers:
                worker = _start(waiting.pop(0), workspace)
                working[worker.connection] = worker
            for connection in wait(list(working), _LOOK_EVERY):
                event = working[connection].hear()
                on_event(event)
                if isinstance(event, Left):
                    working.pop(connection).process.join()

    return engine


class _Worker(NamedTuple):
    """A process that makes a cell, and the line to it."""

    cell: Cell
    process: SpawnProcess
    connection: Connection

    def stop(self) -> None:
        with suppress(OSError):  # it may just have ended
            self.connection.send("stop")

    def hear(self) -> GridEvent:
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            how = f"its process ended with code {self.process.exitcode}"
            return Left(self.cell, "failed", f"run {self.cell.run!r}: {how}; run the grid again to go on with it")


def _start(cell: Cell, workspace: Workspace) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, name=cell.run, args=(cell, workspace, theirs), daemon=True)
    with _deaf():
        process.start()
    theirs.close()
    return _Worker(cell, process, ours)


@contextmanager
def _deaf() -> Iterator[None]:
    """Let processes that are started within not hear Ctrl-C, which a terminal sends to all: they are told to stop."""
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

    def tell(event: GridEvent) -> None:
        with suppress(OSError):  # nobody is listening any more
            connection.send(event)

    # Something to read is the word to stop, or the end of who would say it.
    tell(made(cell, workspace, tell, connection.poll))


def made(cell: Cell, workspace: Workspace, on_event: OnGridEvent, should_stop: Callable[[], bool]) -> Left:
    """Make a cell, and return how it was left."""
    try:
        run = run_cell(cell, workspace, lambda event: on_event(Told(cell, event)), should_stop)
    except NmtlabError as error:
        return Left(cell, "failed", str(error))
    except Exception as error:  # the other cells are not to be lost with it
        traceback.print_exc()
        return Left(cell, "failed", f"run {cell.run!r}: {type(error).__name__}: {error}")
    return Left(cell, run.status)
