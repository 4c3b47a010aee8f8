"""Shares with intervals that never have width 0: of runs that converge, of empty translations, of words right."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy import stats

from nmtlab.evaluation.intervals import LEVEL
from nmtlab.grids.results.statistics import ENOUGH_SEEDS, POWER, Estimate, Spread, seed_variance, total

_STEPS = 1000
"""Shares from 0 to 1 at which power is computed."""

_MOST_RUNS = 30
"""Needing more than these is as good as no number being enough."""


def share_of_runs(successes: int, runs: int, than: float) -> Estimate:
    """Return how much larger than a number the share of runs is with which something is so, such as converging.

    The runs are independent trials: the interval is Wilson's (1927), and p is that of the exact binomial test, since
    for three or four runs that are all alike Wilson's interval is too narrow by itself.

    Args:
        successes: number of runs with which it is so.
        runs: number of runs, at least 1.
        than: a share.
    """
    p = float(stats.binomtest(successes, runs, than).pvalue)
    return _beside(than, successes / runs, wilson(successes / runs, runs), p, runs)


def share_of_sentences(percentages: Sequence[float], sentences: Spread, than: float) -> Estimate:
    """Return how much larger than a number a percentage of sentences is, such as of empty translations.

    Translations of one sentence by several seeds are no independent trials. The share has the interval of Wilson for
    the number of independent trials that would vary as much (the effective sample size of Korn and Graubard 1998; for
    clustered trials Franco et al. 2019 recommend Wilson's interval with it). Its variance is that of a score: s²/n over
    the seeds, plus what the seeds share because of the sentences. The size shrinks with the square of Student's t, for
    so few seeds. It is at most the number of translations; if there is no variance to see, as for a share of 0 or 1, it
    is that of a single seed. p is that of the score test, which the interval inverts. In simulations of three seeds
    that vary as much as the sentences, 92 % of the intervals hold the truth, else 94 % or more.

    Args:
        percentages: one for each seed.
        sentences: the variance that the seeds share because of the sentences (`statistics.sentence_spread`), with a
            degree of freedom less than there are sentences.
        than: a percentage.

    Returns:
        Percentages; NaN except for the effect with a single seed, whose variance is unknown.
    """
    seeds, share, size = len(percentages), float(np.mean(percentages)) / 100, sentences.freedom + 1
    each = seed_variance([percentages])
    spread = total([Spread(each.variance / seeds, each.freedom), sentences])
    if seeds == 1:
        size = np.nan
    elif spread.variance > 0:
        quantiles = stats.norm.isf(LEVEL / 2) / stats.t.isf(LEVEL / 2, spread.freedom)
        size = min(1e4 * share * (1 - share) / spread.variance, seeds * size) * float(quantiles) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):  # of 0 or 100 any other percentage is infinitely far
        z = abs(share - than / 100) / np.sqrt(than / 100 * (1 - than / 100) / size)
    return _beside(than / 100, share, wilson(share, size), float(2 * stats.norm.sf(z)), size).scaled(100)


def difference_of_runs(one: tuple[int, int], other: tuple[int, int]) -> Estimate:
    """Return the difference of two shares of runs, with Newcombe's interval (1998) and p of Fisher's exact test.

    Args:
        one: number of runs with which it is so, and of all runs of the one system.
        other: the same of the other system.
    """
    from statsmodels.stats.proportion import confint_proportions_2indep

    low, high = confint_proportions_2indep(*one, *other, compare="diff", method="newcomb", alpha=LEVEL)
    effect = one[0] / one[1] - other[0] / other[1]
    p = float(_fisher(one[1], other[1])[one[0], other[0]])
    return Estimate(effect, float(low), float(high), 0.0, p, _detectable_difference(one[1], other[1]))


def runs_needed(than: float | None, distance: float) -> int | None:
    """Return the fewest runs per system with which an effect is detected with `POWER`; None if 30 are too few.

    Args:
        than: a share with which one system is compared; None for another system.
        distance: of the share from it, or from that of the other system.
    """
    if not distance > 0:
        return None
    for runs in range(ENOUGH_SEEDS, _MOST_RUNS + 1):
        detected = _detectable_difference(runs, runs) if than is None else _detectable(than, runs)
        if detected <= distance:
            return runs
    return None


def wilson(share: float, trials: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval (1927) of a share of independent trials, whose number need not be whole."""
    # Loaded here, for it takes a second.
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(share * trials, trials, alpha=LEVEL, method="wilson")
    return float(low), float(high)


def _beside(than: float, share: float, interval: tuple[float, float], p: float, trials: float) -> Estimate:
    low, high = interval
    return Estimate(share - than, low - than, high - than, 0.0, p, _detectable(than, trials))


def _detectable(than: float, trials: float) -> float:
    """Return the smallest distance of a share that is detected with `POWER` on either side; infinite if none is."""
    if not trials >= 1:
        return np.nan
    number, distances = int(trials), np.linspace(0, 1, _STEPS + 1)
    # The exact test rejects below the one number of successes, and above the other.
    fewest, most = stats.binom.ppf(LEVEL / 2, number, than), stats.binom.isf(LEVEL / 2, number, than)
    above = np.where(than + distances <= 1, stats.binom.sf(most, number, np.minimum(than + distances, 1)), 0)
    below = np.where(than >= distances, stats.binom.cdf(fewest - 1, number, np.maximum(than - distances, 0)), 0)
    detected = distances[np.maximum(above, below) >= POWER]
    return float(detected[0]) if len(detected) else np.inf


def _detectable_difference(runs: int, other: int) -> float:
    """Return the smallest difference around a half that is detected with `POWER`; infinite if none is."""
    rejected = _fisher(runs, other) <= LEVEL
    for distance in np.linspace(0, 1, _STEPS + 1):
        high, low = (1 + distance) / 2, (1 - distance) / 2
        outcomes = np.outer(stats.binom.pmf(range(runs + 1), runs, high), stats.binom.pmf(range(other + 1), other, low))
        if outcomes[rejected].sum() >= POWER:
            return float(distance)
    return np.inf


@cache
def _fisher(runs: int, other: int) -> np.ndarray:
    """Return p of Fisher's exact test for all numbers of successes: (runs + 1, other + 1)."""
    tables = [[[[a, runs - a], [b, other - b]] for b in range(other + 1)] for a in range(runs + 1)]
    return np.array([[stats.fisher_exact(table).pvalue for table in row] for row in tables])
