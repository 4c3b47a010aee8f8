"""Length tokens: bins of the ratio of target to source length, equally frequent in the training text (Fan et al. 2018).

Lengths are in tokens, without tags and EOS.
"""

from collections.abc import Sequence

import numpy as np

FORM = "<length:{}>"


def length_tags(bins: int) -> tuple[str, ...]:
    """Return the control tokens of so many bins, from the shortest translations to the longest."""
    return tuple(map(FORM.format, range(bins)))


def length_edges(ratios: Sequence[float] | np.ndarray, bins: int) -> tuple[float, ...]:
    """Return the bins - 1 ratios that part the training pairs into bins of equal mass; equal ratios stay together."""
    return tuple(np.quantile(ratios, np.arange(1, bins) / bins).tolist())


def bin_of(edges: Sequence[float], ratio: float) -> int:
    """Return the bin of a ratio, from 0; an edge belongs to the bin above it."""
    return int(np.searchsorted(edges, ratio, side="right"))


def usual_bin(counts: Sequence[int] | np.ndarray) -> int:
    """Return the bin of the median pair, given the pairs in each bin; of two in the middle, the upper one."""
    below = np.cumsum(counts)
    return int(np.searchsorted(below, below[-1] / 2, side="right"))
