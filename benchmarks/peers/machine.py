"""What the machine can do at most, and how busy it is."""

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Machine:
    """The processor, its load over the last minute, and its limit with the given threads."""

    processor: str
    cores: int
    threads: int
    load: float
    gflops: float


def measure(threads: int) -> Machine:
    """Describe this machine; the load is taken first, since measuring adds to it."""
    load = os.getloadavg()[0]
    return Machine(_processor(), os.cpu_count() or 1, threads, load, matrix_product_limit(threads))


def matrix_product_limit(threads: int, size: int = 2048, repeats: int = 10) -> float:
    """Return the fp32 matrix-product limit in GFLOP/s: the best of some products of size x size matrices."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        left, right = torch.randn(size, size), torch.randn(size, size)
        product = torch.empty(size, size)
        seconds = [_timed(left, right, product) for _ in range(repeats)]
    finally:
        torch.set_num_threads(before)
    return 2 * size**3 / min(seconds) / 1e9


def _timed(left: torch.Tensor, right: torch.Tensor, product: torch.Tensor) -> float:
    start = time.perf_counter()
    torch.mm(left, right, out=product)
    return time.perf_counter() - start


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
