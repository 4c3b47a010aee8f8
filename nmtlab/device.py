"""Choose and prepare the device that a recipe asks for, and share its threads out."""

import ctypes
import os
import platform
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from queue import SimpleQueue
from threading import Event, Lock
from typing import TypeVar

import torch

from nmtlab.errors import RecipeError
from nmtlab.recipe.machine import MachineSettings

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of glibc's mallopt

_sharing = Lock()  # held while torch's number of threads, which is global, is that of a piece

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def choose_device(settings: MachineSettings) -> torch.device:
    """Return the device to use; on a CPU, set the number of threads and keep freed memory.

    Raises:
        RecipeError: the recipe asks for a GPU and none is available.
    """
    available = torch.cuda.is_available()
    if settings.device == "cuda" and not available:
        raise RecipeError("machine.device = 'cuda': torch finds no GPU here", "set machine.device=auto")
    if settings.device != "cpu" and available:
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    if settings.threads:
        torch.set_num_threads(settings.threads)
    _keep_freed_memory()
    return torch.device("cpu")


def in_parallel(
    work: Callable[[Iterable[Piece]], Iterable[Result]],
    pieces: Sequence[Piece],
    device: torch.device,
    most: int,
    dealt: bool = False,
) -> Generator[Result, None, None]:
    """Yield the result of each piece of work, in order; on a CPU, each of its threads works on some of them.

    Two threads that share the small matrix products of a decoder are hardly faster than one. Close the iterator;
    only then does torch get its threads back. While one iterator is open, another works in the caller's thread.

    Args:
        work: yields the results of some pieces, in order; it is called in other threads, where the modes of torch
            (inference, autocast) are the default ones.
        pieces: independent of each other.
        device: on which the work is done.
        most: threads, at most; 1 leaves all of torch's threads to the work.
        dealt: give each of n threads every n-th piece; otherwise each takes the next one when it asks for it.
    """
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    workers = min(threads, len(pieces), most)
    if workers < 2 or not _sharing.acquire(blocking=False):
        yield from work(pieces)
        return
    closed = Event()
    found: SimpleQueue[tuple[int, Result | BaseException]] = SimpleQueue()

    def work_on(numbers: Iterator[int]) -> None:
        taken: deque[int] = deque()

        def taking() -> Iterator[Piece]:
            for number in takewhile(lambda _: not closed.is_set(), numbers):
                taken.append(number)
                yield pieces[number]

        try:
            for result in work(taking()):
                found.put((taken.popleft(), result))
        except BaseException as error:
            found.put((-1, error))

    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(threads // workers,))
    try:
        together = iter(range(len(pieces)))
        for first in range(workers):
            pool.submit(work_on, iter(range(first, len(pieces), workers)) if dealt else together)
        yield from _in_order(found, len(pieces))
    finally:
        closed.set()
        pool.shutdown()
        torch.set_num_threads(threads)
        _sharing.release()


def _in_order(found: "SimpleQueue[tuple[int, Result | BaseException]]", count: int) -> Iterator[Result]:
    """Yield numbered results in order, or raise the first error that comes instead of one."""
    early: dict[int, Result] = {}
    for number in range(count):
        while number not in early:
            place, result = found.get()
            if isinstance(result, BaseException):
                raise result
            early[place] = result
        yield early.pop(number)


def _keep_freed_memory() -> None:
    """Let glibc keep large freed blocks for the next step.

    By default glibc returns each to the system, and the next allocation faults its pages in again: about a tenth of the
    time of a training step.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, 2**30)
        libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
