"""What is measured, and of what size of model."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measurement:
    """What is known of a system after measuring it; None is what was not measured. Decoding is with beam 5."""

    system: str
    train_tokens_per_second: float | None = None
    decode_sentences_per_second: float | None = None
    greedy_sentences_per_second: float | None = None
    peak_memory_mib: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Size:
    """A PreNorm Transformer; `layers` in the encoder and as many in the decoder."""

    layers: int = 3
    d_model: int = 256
    feed_forward: int = 1024
    heads: int = 4
    dropout: float = 0.3


SIZE = Size()
LABEL_SMOOTHING = 0.1
CLIP = 1.0


def median_rate(counts: Sequence[int], seconds: Sequence[float], window: int = 10) -> float:
    """Return things per second: the median over windows of updates, so that a moment's disturbance does not count.

    The first windows, a fifth of them and at least one, are left out as warm-up where there are more.

    Args:
        counts: how many things each update handled.
        seconds: how long each update took.
        window: updates to a window.
    """
    starts = range(0, max(len(counts) - window, 0) + 1, window)
    rates = [sum(counts[i : i + window]) / sum(seconds[i : i + window]) for i in starts]
    return after_warm_up(rates)


def after_warm_up(rates: Sequence[float]) -> float:
    """Return the median of all rates but the first fifth, and at least the first, where there are more."""
    return statistics.median(rates[max(1, len(rates) // 5) :] or rates)


def peak_memory_mib() -> float:
    """Return the highest resident memory of this process so far, in MiB.

    Unlike `getrusage`, /proc does not count the memory of the process that this one was started from.
    """
    return high_water_mark(Path("/proc/self/status").read_text())


def high_water_mark(status: str) -> float:
    """Return VmHWM, in MiB, out of the text of /proc/PID/status."""
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
