"""What is a relative worth? The number of a child's pairs that a parent replaces."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from statistics import fmean, pstdev
from typing import NamedTuple

import numpy as np
import pandas as pd

from nmtlab.experiments.results.curves import with_child_sizes
from nmtlab.experiments.results.statistics import ENOUGH_SEEDS
from nmtlab.experiments.results.summary import interval
from nmtlab.experiments.tables.declaration import Scale, Table

COLUMNS = [
    "pair", "system", "child_pairs", "metric", "seeds", "score", "replaced", "low", "high", "smallest", "largest",
]  # fmt: skip

_DRAWS = 4000
_SEED = 1
_TAIL = 0.025
_DECIMALS = 9
_NORMAL = 1.96
"""The 97.5th percentile of the normal distribution."""


class Worth(NamedTuple):
    """The number of pairs that a parent replaces, and its 95 % interval.

    Infinite if the child alone would need more pairs than its largest text has, and minus infinity if its smallest
    text would be too large.

    Args:
        replaced: number of pairs.
        low: lower end of the interval, NaN with fewer than `ENOUGH_SEEDS` seeds of any child.
        high: its upper end, likewise.
    """

    replaced: float
    low: float
    high: float


def replaced_pairs(results: pd.DataFrame, table: Table, scale: Scale) -> pd.DataFrame:
    """Return the number of a child's pairs that each parent replaces (see `worth`).

    Args:
        results: lines of `nmtlab.experiments.results.collected.results`, of measures that are better when higher.
        table: `child-size`, or another table whose rows are children of several sizes, with the child alone as the
            baseline.
        scale: the scale at which it was run.

    Returns:
        One line per metric, system with a parent, language pair and size of child with a value, if the child alone has
        values at two sizes or more, in the order of `child_size_curves`: `pair`, `system`, `child_pairs`, `metric`;
        `seeds`, the fewest of any child involved; `score`, the mean of the child with the parent; `replaced`, `low` and
        `high` as in `Worth`; `smallest` and `largest` size of a child alone.
    """
    known = with_child_sizes(results[results["value"].notna()], table, scale)
    metrics = [measure.name for measure in table.measures]
    systems = [system.name for system in table.systems if system.parent]
    lines = []
    for metric, system, pair in product(metrics, systems, dict.fromkeys(known["pair"])):
        cells = known[(known["metric"] == metric) & (known["pair"] == pair)]
        alone = _by_size(cells[cells["column"] == table.baseline])
        if len(alone) < 2:
            continue
        for size, scores in _by_size(cells[cells["column"] == system]).items():
            fewest = min(map(len, (scores, *alone.values())))
            found = (fmean(scores), *worth(scores, size, alone))
            lines.append((pair, system, size, metric, fewest, *found, min(alone), max(alone)))
    return pd.DataFrame(lines, columns=COLUMNS)


def worth(scores: Sequence[float], size: int, alone: Mapping[int, Sequence[float]]) -> Worth:
    """Return the number of pairs that a parent replaces: those a child alone would need for the same score, minus its.

    The scores of children alone are made monotone, and linear in the logarithm of the size between two sizes. For the
    interval, the seeds of every child are resampled. The means of three resampled seeds vary far too little (such an
    interval holds the truth four times in five), so their deviations are stretched, by as much as Student's t demands
    for a single mean.

    Args:
        scores: of the child with a parent, one per seed.
        size: of the child, in pairs.
        alone: size -> scores of a child alone, one per seed, of two sizes or more.
    """
    sizes, children = np.array(sorted(alone), dtype=float), [alone[size] for size in sorted(alone)]
    seeds = np.array([len(child) for child in children], dtype=float)
    means = np.array([[fmean(child) for child in children]])
    replaced = size_with(np.array([fmean(scores)]), monotone(means, seeds), sizes, size) - size
    if min(map(len, (scores, *children))) < ENOUGH_SEEDS:
        return Worth(float(replaced[0]), math.nan, math.nan)
    generator = np.random.default_rng(_SEED)
    resampled = np.stack([_resampled(child, generator) for child in children], axis=1)
    drawn = np.sort(size_with(_resampled(scores, generator), monotone(resampled, seeds), sizes, size) - size)
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


def _by_size(cells: pd.DataFrame) -> dict[int, list[float]]:
    return {int(size): some["value"].tolist() for size, some in cells.groupby("child_pairs")}


def _resampled(values: Sequence[float], generator: np.random.Generator) -> np.ndarray:
    """Return means of resampled values, stretched so that their 95 % interval is about that of Student's t."""
    means = np.array(values)[generator.integers(0, len(values), (_DRAWS, len(values)))].mean(axis=1)
    spread = _NORMAL * pstdev(values) / math.sqrt(len(values))
    stretch = interval(values).margin / spread if spread else 1.0
    return fmean(values) + stretch * (means - fmean(values))
