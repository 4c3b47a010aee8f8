"""Choose and prepare the device that a recipe asks for, and share its threads out."""

import ctypes
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    work: Callable[[Iterable[Piece]], Iterable[Result]], pieces: Sequence[Piece], device: torch.device, most: int
) -> Iterator[Result]:
    """Yield the result of each piece of work, in order; on a CPU, each of its threads works on a share of the pieces.

    Two threads that share the small matrix products of a decoder are hardly faster than one. Close the iterator;
    only then does torch get its threads back. While one iterator is open, another works in the caller's thread.

    Args:
        work: yields the results of a share, in order; it is called in other threads, where the modes of torch
            (inference, autocast) are the default ones.
        pieces: independent of each other. Of n shares each has every n-th, whatever the time that they take, so that
            the results do not depend on it.
        device: on which the work is done.
        most: shares, at most; 1 leaves all threads to it.
    """
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    shares = min(threads, len(pieces), most)
    if shares < 2 or not _sharing.acquire(blocking=False):
        yield from work(pieces)
        return
    closed = Event()
    results: list[SimpleQueue[Result | BaseException]] = [SimpleQueue() for _ in range(shares)]

    def work_on(share: int) -> None:
        try:
            for result in work(takewhile(lambda _: not closed.is_set(), pieces[share::shares])):
                results[share].put(result)
        except BaseException as error:
            results[share].put(error)

    pool = ThreadPoolExecutor(shares, initializer=torch.set_num_threads, initargs=(threads // shares,))
    try:
        for share in range(shares):
            pool.submit(work_on, share)
        for number in range(len(pieces)):
            result = results[number % shares].get()
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        closed.set()
        pool.shutdown()
        torch.set_num_threads(threads)
        _sharing.release()


def _keep_freed_memory() -> None:
    """Let glibc keep large freed blocks for the next step.

    By default glibc returns each to the system, and the next allocation faults its pages in again: about a tenth of the
    time of a training step.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, 2**30)
        libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
