"""Tests that are repeated while seeds are added: looks at 3, 5 and 10 seeds, and what the repetition costs."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
from scipy import stats

from nmtlab.errors import NmtlabError
from nmtlab.experiments.results.statistics import LEVEL, Difference, Estimate

LOOKS = (3, 5, 10)
"""The numbers of seeds of every system of a row at which its differences are tested."""

_SIMULATIONS = 200_000
_SEED = 1


def planned_looks(most_seeds: int) -> tuple[int, ...]:
    """Return the looks up to a number of seeds.

    Raises:
        NmtlabError: there is none.
    """
    looks = tuple(look for look in LOOKS if look <= most_seeds)
    if not looks:
        raise NmtlabError(f"{most_seeds} seeds at most: too few to decide anything", f"allow {LOOKS[0]} or more")
    return looks


def sequential_p(p: float, systems: int, looks: tuple[int, ...] = LOOKS) -> float:
    """Return p of a line at any of the looks, adjusted for the others.

    It is the probability, where nothing differs, that the smallest p of all planned looks is as small as this one.
    So it holds whenever the trainings are stopped and for whatever reason, such as the verdicts on other lines, and can
    be adjusted further, for false discoveries. The level of p is the same at each look (Pocock 1977): of the usual
    shapes this one stops soonest where systems differ by several standard deviations of a seed, as most do here that
    differ at all; for an effect of one it has less power after ten seeds (48 % for 58 % without looks, four systems).

    The distribution is found by simulation, of t with the degrees of freedom at each look, without sentences: their
    part of the variance is the same at all looks and makes them more alike, so that the p returned is rather too large.

    Args:
        p: two-sided, of an `Estimate` at the present look.
        systems: from which the variance of a seed is estimated (`Difference.systems`).
        looks: the planned ones, whether or not they are all taken.
    """
    smallest = _smallest_ps(systems, looks)
    simulated = (np.searchsorted(smallest, p, side="right") + 1) / (len(smallest) + 1)
    # Far in the tail, where few simulations are, Bonferroni's bound is closer.
    return float(max(p, min(simulated, len(looks) * p)))


def sequential_estimate(difference: Difference, null: float, looks: tuple[int, ...]) -> Estimate:
    """Return a difference with an interval that holds at all looks together (95 %), and p adjusted for them.

    Args:
        difference: at the present look.
        null: the effect that is tested.
        looks: the planned ones, whether or not they are all taken; none for a single test.
    """
    line = difference.estimate(null)
    if not looks or math.isnan(line.p):
        return line
    whole = difference.estimate(null, _level_of_each(difference.systems, looks))
    return replace(whole, p=sequential_p(line.p, difference.systems, looks))


def boundaries(systems: int, looks: tuple[int, ...] = LOOKS) -> list[float]:
    """Return the |t| at each look from which on a single line is decided: all looks together err in 5 % (`LEVEL`).

    Args:
        systems: from which the variance of a seed is estimated (`Difference.systems`).
        looks: the planned ones.
    """
    nominal = _level_of_each(systems, looks)
    return [float(stats.t.isf(nominal / 2, systems * (look - 1))) for look in looks]


def _level_of_each(systems: int, looks: tuple[int, ...]) -> float:
    """Return the level of p at each look with which all looks together err in 5 % (`LEVEL`)."""
    return float(np.quantile(_smallest_ps(systems, looks), LEVEL))


@cache
def _smallest_ps(systems: int, looks: tuple[int, ...]) -> np.ndarray:
    """Return the smallest p of all looks in simulations without a difference, ascending."""
    generator = np.random.default_rng(_SEED)
    # The difference of two systems, seed by seed, and the other combinations of the systems' seeds that pool with it.
    seeds = generator.standard_normal((_SIMULATIONS, looks[-1]))
    others, before, ps = np.zeros(_SIMULATIONS), 1, []
    for look in looks:
        if systems > 1:
            others += generator.chisquare((systems - 1) * (look - before), _SIMULATIONS)
        freedom, before = systems * (look - 1), look
        variance = (seeds[:, :look].var(axis=1) * look + others) / freedom
        t = seeds[:, :look].mean(axis=1) / np.sqrt(variance / look)
        ps.append(2 * stats.t.sf(np.abs(t), freedom))
    return np.sort(np.min(ps, axis=0))
