"""Choose and prepare the device that a recipe asks for."""

import ctypes
import os
import platform

import torch

from nmtlab.errors import RecipeError
from nmtlab.recipe.machine import MachineSettings

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of glibc's mallopt


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


def _keep_freed_memory() -> None:
    """Let glibc keep large freed blocks for the next step.

    By default glibc returns each to the system, and the next allocation faults its pages in again: about a tenth of the
    time of a training step.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, 2**30)
        libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
