"""Means over seeds, with their intervals."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from scipy import stats

LEVEL = 0.05
"""Of two-sided tests, of intervals (95 %), and of false discoveries within a table."""


class Interval(NamedTuple):
    """A mean and the half-width of its 95 % interval over seeds, NaN if undefined."""

    mean: float
    margin: float


def interval(values: Sequence[float]) -> Interval:
    """Return mean and 95 % interval by Student's t; the margin is NaN for values without variance or infinite ones."""
    if not values:
        return Interval(math.nan, math.nan)
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return Interval(fmean(values), math.nan)
    margin = stats.t.isf(LEVEL / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Interval(fmean(values), margin or math.nan)
