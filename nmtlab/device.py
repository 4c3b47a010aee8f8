"""The processor that a recipe asks for, made ready."""

import ctypes
import os
import platform

import torch

from nmtlab.errors import RecipeError
from nmtlab.recipe.machine import MachineSettings

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of glibc's mallopt


def choose_device(settings: MachineSettings) -> torch.device:
    """Return the processor to use; on a CPU, set the number of threads and keep freed memory.

    Raises:
        RecipeError: a GPU was asked for and there is none.
    """
    there = torch.cuda.is_available()
    if settings.device == "cuda" and not there:
        raise RecipeError("machine.device = 'cuda': torch finds no GPU here", "set machine.device=auto")
    if settings.device != "cpu" and there:
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    if settings.threads:
        torch.set_num_threads(settings.threads)
    _keep_freed_memory()
    return torch.device("cpu")


def _keep_freed_memory() -> None:
    """Let glibc keep large freed blocks for the next step.

    By default each is handed back to the system and its pages are faulted in anew at the next allocation, which takes
    about a tenth of a training step.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, 2**30)
        libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
