"""How many pairs of text are worth a score? The size with which a learning curve has it, and its interval."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev
from typing import NamedTuple

import numpy as np

from nmtlab.evaluation.intervals import interval
from nmtlab.grids.results.statistics import ENOUGH_SEEDS, Spread

_DRAWS = 4000
_SEED = 1
_TAIL = 0.025
_DECIMALS = 9
_NORMAL = 1.96
"""The 97.5th percentile of the normal distribution."""


class Worth(NamedTuple):
    """The number of pairs that a technique replaces, and its 95 % interval.

    Infinite if the largest text without the technique is too small for the same score, and minus infinity if the
    smallest one is too large.

    Args:
        replaced: number of pairs.
        low: lower end of the interval, NaN with fewer than `ENOUGH_SEEDS` seeds of any system.
        high: its upper end, likewise.
    """

    replaced: float
    low: float
    high: float


def worth(
    scores: Sequence[float], size: int, alone: Mapping[int, Sequence[float]], sentences: Spread | None = None
) -> Worth:
    """Return the number of pairs that a technique replaces: those that its score needs without it, less those it has.

    The scores without it are made monotone, and linear in the logarithm of the size between two sizes. For the
    interval, the seeds at every size are resampled. The means of three resampled seeds vary far too little (such an
    interval holds the truth four times in five), so their deviations are stretched, by as much as Student's t demands
    for a single mean. New test sentences move the difference of the two systems by a normal deviate.

    Args:
        scores: with the technique, one per seed.
        size: of its text, in pairs.
        alone: size -> scores without it, one per seed, of two sizes or more.
        sentences: the part of the test sentences in the difference to those without it; None for that of seeds alone.
    """
    sizes, children = np.array(sorted(alone), dtype=float), [alone[size] for size in sorted(alone)]
    seeds = np.array([len(child) for child in children], dtype=float)
    means = np.array([[fmean(child) for child in children]])
    replaced = size_with(np.array([fmean(scores)]), monotone(means, seeds), sizes, size) - size
    if min(map(len, (scores, *children))) < ENOUGH_SEEDS:
        return Worth(float(replaced[0]), math.nan, math.nan)
    generator = np.random.default_rng(_SEED)
    resampled = np.stack([resampled_means(child, generator) for child in children], axis=1)
    moved = resampled_means(scores, generator)
    if sentences:
        moved = moved + generator.normal(0, math.sqrt(sentences.variance), _DRAWS)
    drawn = np.sort(size_with(moved, monotone(resampled, seeds), sizes, size) - size)
    # Not interpolated: there is nothing halfway to infinity.
    low, high = drawn[int(_TAIL * _DRAWS)], drawn[int((1 - _TAIL) * _DRAWS)]
    return Worth(float(replaced[0]), float(low), float(high))


def monotone(means: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the closest means that never fall, by weighted least squares: neighbours that fall are pooled.

    Args:
        means: (curves, sizes).
        weights: (sizes,).
    """
    # The max-min formula of isotonic regression: cubic, but for all curves at once.
    places = range(means.shape[1])
    pooled = {
        (first, last): np.average(means[:, first : last + 1], axis=1, weights=weights[first : last + 1])
        for last in places
        for first in places[: last + 1]
    }
    least = {
        (first, place): np.min([pooled[first, last] for last in places[place:]], axis=0) for first, place in pooled
    }
    return np.stack(
        [np.max([least[first, place] for first in places[: place + 1]], axis=0) for place in places], axis=1
    )


def size_with(scores: np.ndarray, curves: np.ndarray, sizes: np.ndarray, near: float) -> np.ndarray:
    """Return the sizes with which curves have some scores, in whole pairs.

    Args:
        scores: (curves,).
        curves: (curves, sizes), none of them falls; linear in the logarithm of the size.
        sizes: (sizes,), ascending.
        near: the nearest size to this one is returned if a range of sizes has the score.

    Returns:
        (curves,): infinity for a score above the curve, minus infinity for a score below it.
    """
    # Sums of the same numbers in another order differ in their last digits.
    scores, curves = np.round(scores, _DECIMALS), np.round(curves, _DECIMALS)
    logs, rows, end = np.log(sizes), np.arange(len(scores)), len(sizes)
    first, past = (curves < scores[:, None]).sum(axis=1), (curves <= scores[:, None]).sum(axis=1)
    left, right = (np.clip(place, 0, end - 1) for place in (first - 1, first))
    rise = curves[rows, right] - curves[rows, left]
    share = np.divide(scores - curves[rows, left], rise, out=np.zeros(len(scores)), where=rise > 0)
    lowest = logs[left] + share * (logs[right] - logs[left])
    highest = np.where(past > first, logs[np.clip(past - 1, 0, end - 1)], lowest)
    found = np.rint(np.exp(np.clip(np.log(near), lowest, highest)))
    return np.where(first == end, math.inf, np.where(past == 0, -math.inf, found))


def resampled_means(values: Sequence[float], generator: np.random.Generator) -> np.ndarray:
    """Return means of resampled values, stretched so that their 95 % interval is about that of Student's t.

    Args:
        values: one per seed.
        generator: of the draws.

    Returns:
        (draws,).
    """
    means = np.array(values)[generator.integers(0, len(values), (_DRAWS, len(values)))].mean(axis=1)
    spread = _NORMAL * pstdev(values) / math.sqrt(len(values))
    stretch = interval(values).margin / spread if spread else 1.0
    return fmean(values) + stretch * (means - fmean(values))
