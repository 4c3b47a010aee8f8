"""Differences between systems that hold for other seeds and other sentences: intervals, power, verdicts.

The seeds of two systems are not pairs: the weights are drawn in another order in each architecture, and between
systems the scores of a seed do not correlate. The test sentences are the same for all of them, and so cross the seeds.

pair = compare(cells, "fixnorm", "tied", converged=["tied", "fixnorm", "fixnorm+lex"], sentences=drawn)
line = pair.welch.estimate()
print(line.effect, line.low, line.high, line.p, pair.pooled.estimate().p, pair.welch.seeds_needed(1.5))
"""

from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Literal, NamedTuple, TypeGuard

import numpy as np
import pandas as pd
from scipy import special, stats

from nmtlab.evaluation.intervals import LEVEL

NotKept = Literal["measured earlier, runs not kept"]
"""What stands instead of a verdict on a line whose trainings cannot be looked at any more."""

Verdict = Literal["reproduced here", "contradicted here", "equivalent", "underpowered", "inconclusive", NotKept]

DECIDED: tuple[Verdict, ...] = ("reproduced here", "contradicted here", "equivalent")

POWER = 0.8
"""Probability with which the smallest detectable effect is detected."""

ENOUGH_SEEDS = 3
"""With fewer seeds nothing is decided."""

ONE_BLEU = 1.0
"""The effect that a comparison of BLEU should be able to detect if none was published."""

HALF_BLEU = 0.5
"""Systems that differ by less are equivalent in BLEU."""

TENTH = 0.1
"""Of an effect that was published, or is taken apart: systems that differ by less are equivalent."""

_DECIMALS = 12
"""Covariances of floats that are smaller are none."""

_MOST_SEEDS = 10**6
"""Needing more than these is as good as no number being enough."""


class Spread(NamedTuple):
    """An estimated variance, in squared points of the measure, and its degrees of freedom."""

    variance: float
    freedom: float


@dataclass(frozen=True)
class Estimate:
    """A line of a table: an effect, its 95 % interval, and what the line could have shown.

    Args:
        effect: system minus other, in points of the measure.
        low: lower end of the interval; NaN if the variance is unknown.
        high: its upper end, likewise.
        null: the effect that is tested: 0, or minus or plus the tolerance of a claim of "at least as good".
        p: two-sided, of that test; NaN if the variance is unknown.
        detectable: the smallest distance from `null` that is detected in four of five repetitions (`POWER`).
    """

    effect: float
    low: float
    high: float
    null: float
    p: float
    detectable: float

    def scaled(self, factor: float) -> "Estimate":
        """Return the line in other points, such as a share in percent."""
        low, high, null, detectable = (factor * one for one in (self.low, self.high, self.null, self.detectable))
        return Estimate(factor * self.effect, low, high, null, self.p, detectable)


@dataclass(frozen=True)
class Seeds:
    """The part that seeds have in the variance of a difference of means.

    Args:
        variance: of one seed, in squared points of the measure.
        freedom: its degrees of freedom.
        systems: number of systems from which it is estimated.
        counts: number of seeds of each of the one or two systems that have this variance.
    """

    variance: float
    freedom: int
    systems: int
    counts: tuple[int, ...] = ()

    @property
    def spread(self) -> Spread:
        """Return the variance of the difference that is due to these seeds."""
        return Spread(self.variance * sum(1 / count for count in self.counts), self.freedom)

    def with_each(self, count: int) -> "Seeds":
        """Return the same with another number of seeds for every system, those of the pool included."""
        return replace(self, freedom=self.systems * (count - 1), counts=(count,) * len(self.counts))


@dataclass(frozen=True)
class Difference:
    """A difference of two systems, and the parts of its variance.

    Args:
        effect: mean of the one minus mean of the other, in points of the measure.
        seeds: the parts of the seeds: one for each system, or a single one if their variance is pooled.
        sentences: the part of the sentences; None for measures without sentences.
    """

    effect: float
    seeds: tuple[Seeds, ...]
    sentences: Spread | None = None

    @cached_property
    def spread(self) -> Spread:
        """Return the variance of the difference; without any, NaN: equal values do not show that there is none."""
        parts = [part.spread for part in self.seeds] + ([self.sentences] if self.sentences else [])
        return total(parts)

    @cached_property
    def detectable(self) -> float:
        """Return the smallest distance from the tested effect that is detected with `POWER`."""
        return _multiple(self.spread.freedom) * self.spread.variance**0.5

    def estimate(self, null: float = 0.0, level: float = LEVEL) -> Estimate:
        """Return the interval of the difference, and its test against an effect (Student's t).

        Args:
            null: the effect.
            level: of the test, and of the interval (`1 - level`).
        """
        error, freedom = self.spread.variance**0.5, self.spread.freedom
        margin = _critical(freedom, level) * error
        p = float(2 * special.stdtr(freedom, -abs(self.effect - null) / error))
        detectable = self.detectable if level == LEVEL else _multiple(freedom, level) * error
        return Estimate(self.effect, self.effect - margin, self.effect + margin, null, p, detectable)

    def equivalence_p(self, bound: float) -> float:
        """Return p of the two one-sided tests that the difference is between -`bound` and `bound` (Schuirmann 1987).

        It is at most 0.05 where the 90 % interval lies within the bound.

        Args:
            bound: in points of the measure.
        """
        error, freedom = self.spread.variance**0.5, self.spread.freedom
        return float(special.stdtr(freedom, (abs(self.effect) - bound) / error))

    def seeds_needed(self, distance: float) -> int | None:
        """Return the fewest seeds per system with which an effect is detected with `POWER`, on the same test set.

        Args:
            distance: of the effect from the tested one, in points of the measure.

        Returns:
            None if no number of seeds is enough: the sentences alone vary too much.
        """
        counts = range(ENOUGH_SEEDS, _MOST_SEEDS)
        place = bisect_left(counts, True, key=lambda count: self._with_each(count).detectable <= distance)
        return counts[place] if place < len(counts) else None

    def _with_each(self, count: int) -> "Difference":
        return replace(self, seeds=tuple(part.with_each(count) for part in self.seeds))


class Compared(NamedTuple):
    """A difference by Welch's test, and for comparison with the variance of the seeds pooled over systems."""

    welch: Difference
    pooled: Difference


def compare(
    cells: pd.DataFrame,
    system: str,
    than: str | float,
    converged: Collection[str],
    sentences: Spread | None = None,
) -> Compared:
    """Compare a system with another one, or with a number.

    Each system has its own variance of a seed (Welch 1947). Pooled over the systems of a row it has more degrees of
    freedom, but a baseline that varies more than the others is then found to differ too often, and others too rarely.

    Args:
        cells: lines of `CELLS` of one row and metric. The value of a system
            without seeds is taken as exact.
        system: a column.
        than: another column, or a number.
        converged: the columns over which the variance is pooled, if two of them are compared: those whose seeds may
            vary alike.
        sentences: of `sentence_spread`, if the measure has sentences.
    """
    values = values_by_system(cells)
    one = values.get(system, [])
    other = values.get(than, []) if isinstance(than, str) else than
    trained = {name: scores for name, scores in values.items() if _has_seeds(scores)}
    welch = difference(one, other, sentences=sentences)
    if not isinstance(than, str) or not trained.keys() & {system, than} <= set(converged):
        return Compared(welch, welch)
    pool = seed_variance(scores for name, scores in trained.items() if name in converged)
    return Compared(welch, difference(one, other, pool, sentences))


def values_by_system(cells: pd.DataFrame) -> dict[str, list[float] | float]:
    """Return the values of each system in some cells, or the one value of a system without seeds, by name.

    A seed that was trained on several machines counts once, with the mean of its values: machines are blocks of equal
    weight. There the weights start alike and the batches come in one order, so that such trainings are no new seeds:
    in Tables 3.12, 3.14, 3.15 and 3.17 the values of a system's seeds on two machines correlate by 0.4.
    """
    by_seed: dict[str, dict[object, list[float]]] = {}
    exact: dict[str, float] = {}
    for name, seed, value in zip(*(cells[column].tolist() for column in ("column", "seed", "value")), strict=True):
        if pd.isna(value):
            continue
        if pd.isna(seed):
            exact[name] = value
        else:
            by_seed.setdefault(name, {}).setdefault(seed, []).append(value)
    values = {name: [fmean(some) for some in seeds.values()] for name, seeds in by_seed.items()}
    return dict(sorted((values | exact).items()))


def difference(
    one: Sequence[float] | float,
    other: Sequence[float] | float,
    pool: Seeds | None = None,
    sentences: Spread | None = None,
) -> Difference:
    """Return the difference of two systems, with the variance of new seeds and of new sentences.

    The variance is V = s₁²/n₁ + s₂²/n₂ + v, with V² / ((s₁²/n₁)²/(n₁-1) + (s₂²/n₂)²/(n₂-1) + v²/(sentences-1)) degrees
    of freedom (Welch 1947, Satterthwaite 1946; see `total`). The s² of seeds that were scored on one test set has two
    causes: some seeds are better, and some suit these sentences better. The v of `sentence_spread` has neither: it is
    what sentences add to all seeds of a system alike. So nothing is counted twice. This is the analysis of readers and
    cases by Obuchowski and Rockette (1995) with seeds as readers, nested in systems, and sentences as cases.

    A system whose seeds all have one value adds nothing to V; of a single seed the variance is unknown, and so is V.

    Args:
        one: scores of the one, a value per seed; or a single number without seeds, which is exact.
        other: scores of the other, likewise.
        pool: the pooled variance of a seed; if not given, each system has its own.
        sentences: of `sentence_spread`, if the measure has sentences.
    """
    trained = [values for values in (one, other) if _has_seeds(values)]
    counts = tuple(map(len, trained))
    if 0 in counts:
        return Difference(np.nan, ())
    with np.errstate(invalid="ignore"):  # of two infinite scores
        effect = float(np.mean(one) - np.mean(other))
    if pool is None or not trained:
        seeds = tuple(replace(seed_variance([values]), counts=(len(values),)) for values in trained)
    else:
        seeds = (replace(pool, counts=counts),)
    return Difference(effect, seeds, sentences)


def _has_seeds(values: Sequence[float] | float) -> TypeGuard[Sequence[float]]:
    return np.ndim(values) > 0


def seed_variance(systems: Iterable[Sequence[float]]) -> Seeds:
    """Return the variance of a seed, pooled over systems; NaN if no system has two.

    Args:
        systems: the scores of each, a value per seed.
    """
    several = [values for values in systems if len(values) > 1]
    freedom = sum(len(values) - 1 for values in several)
    if not freedom:
        return Seeds(np.nan, 0, 0)
    with np.errstate(invalid="ignore"):  # of infinite scores
        squares = sum((len(values) - 1) * float(np.var(values, ddof=1)) for values in several)
    return Seeds(squares / freedom, freedom, len(several))


def sentence_spread(one: np.ndarray, other: np.ndarray | None, sentences: int) -> Spread:
    """Return the variance of the difference of two systems that all their seeds share, because of the sentences.

    It is the variance of the difference of means over the resampled test sets, less what the mean of a few seeds has
    of the variance of single seeds (that is in the s² of the seeds already): the covariance of two seeds of the one,
    plus that of the other, minus twice the covariance of a seed of the one with a seed of the other. The variance of a
    system with a single seed cannot be taken apart, and is taken whole.

    Args:
        one: (draws, seeds), scores on resampled test sets (`nmtlab.evaluation.resampling`); a system without seeds has
            one column.
        other: (draws, seeds), on the same test sets; None for a comparison with a number.
        sentences: in the test set.

    Returns:
        The variance, at least 0, and a degree of freedom less than there are sentences.
    """
    variance = _shared(one)
    if other is not None:
        variance += _shared(other) - 2 * float(np.cov(one.mean(axis=1), other.mean(axis=1))[0, 1])
    return Spread(max(round(variance, _DECIMALS), 0.0), sentences - 1)


def total(parts: Sequence[Spread]) -> Spread:
    """Return a sum of variances with Satterthwaite's degrees of freedom (1946): V² / sum of v²/f.

    NaN if there is none: a sum of 0 says that values happened to be equal, not that they always are.
    """
    variance = sum(part.variance for part in parts)
    if not variance > 0 or not np.isfinite(variance):
        return Spread(np.nan, np.nan)
    return Spread(variance, variance**2 / sum(part.variance**2 / part.freedom for part in parts if part.variance))


def adjusted_ps(ps: Sequence[float], groups: Sequence[Hashable]) -> np.ndarray:
    """Adjust the p of a table's lines for the number of false discoveries (Benjamini and Hochberg 1995).

    Lines made of the same trainings are one entry: if these trainings came out well by luck, all of them do, and thirty
    lines of one lucky training must not count as thirty discoveries, which would let others pass. An entry has the p of
    Simes (1986), the smallest p of its lines after Benjamini and Hochberg among them: it tests whether any of its
    lines is true, and holds for lines that agree with each other. Within an entry that passes, its lines are adjusted
    again at the level times the share of entries that pass (Benjamini and Bogomolov 2014), so that the one line that
    carries the entry does not vouch for the others. If every entry is a single line, or there is one entry, all of this
    is the procedure of Benjamini and Hochberg. That one wants independent p or such as rise together, which holds
    nearly for differences to a common baseline.

    Args:
        ps: one per line; lines with NaN are left out.
        groups: of each line, alike for lines made of the same trainings, such as the frozen set of their runs.

    Returns:
        (lines,): the smallest level at which a line passes; NaN where p is.
    """
    lines = pd.DataFrame({"p": np.asarray(ps, dtype=float), "group": pd.factorize(pd.Series(groups, dtype=object))[0]})
    known = lines.dropna()
    if known.empty:
        return lines["p"].to_numpy()
    within = known.groupby("group")["p"].transform(lambda some: stats.false_discovery_control(some))
    simes = within.groupby(known["group"]).min()
    entries = pd.Series(stats.false_discovery_control(simes), index=simes.index)
    # With j entries passed, a line passes at the level where the last of them did, its own entry did, and it does
    # within its entry; the j that is best for it is the one that holds at that level.
    levels, passed = np.sort(entries.to_numpy()), np.arange(1, len(entries) + 1)
    own = known["group"].map(entries).to_numpy()[:, None]
    at_each = np.maximum(np.maximum(levels, own), within.to_numpy()[:, None] * len(entries) / passed)
    return pd.Series(at_each.min(axis=1), index=known.index).reindex(lines.index).to_numpy()


def verdict(
    line: Estimate,
    adjusted_p: float,
    expects: Literal["higher", "lower"],
    aim: float,
    equivalence_p: float = np.nan,
    usable: bool = True,
) -> Verdict:
    """Judge a claim by a line of its table.

    Args:
        line: the measured difference, tested against 0, or against minus (expected higher) or plus (expected lower) the
            tolerance for claims of "at least as good".
        adjusted_p: of `adjusted_ps`, over the lines of the table.
        expects: the side on which the claim expects the difference.
        aim: the distance from `line.null` that should have been detectable: that of the published difference, or
            `ONE_BLEU`; NaN if there is neither.
        equivalence_p: of `Difference.equivalence_p`, adjusted likewise; NaN if no bound is known.
        usable: whether the scores are good enough, and from enough seeds, for differences to mean anything.

    Returns:
        `reproduced here` or `contradicted here` if the interval leaves out the tested effect on that side, and the
        line survives the false discovery rate; else `equivalent` if the effect is within the bound, likewise; else
        `underpowered` if the smallest detectable effect exceeds the aim; else `inconclusive`, also if not usable.
    """
    if not usable:
        return "inconclusive"
    side = "higher" if line.low > line.null else "lower" if line.high < line.null else None
    if side and adjusted_p <= LEVEL:
        return "reproduced here" if side == expects else "contradicted here"
    if equivalence_p <= LEVEL:
        return "equivalent"
    return "underpowered" if line.detectable > aim else "inconclusive"


def _multiple(freedom: float, level: float = LEVEL) -> float:
    """Return the smallest detectable effect in standard errors (noncentral t; the wrong side's tail is neglected)."""
    return float(special.nctdtrinc(freedom, 1 - POWER, _critical(freedom, level)))


def _critical(freedom: float, level: float) -> float:
    """Return the value that |t| exceeds with probability `level`; `stats.t.isf` is the same, a hundred times slower."""
    return float(-special.stdtrit(freedom, level / 2))


def _shared(scores: np.ndarray) -> float:
    """Return the covariance of two seeds of a system over resampled test sets; of a single one, its variance.

    Args:
        scores: (draws, seeds).
    """
    seeds, whole = scores.shape[1], float(scores.sum(axis=1).var(ddof=1))
    own = float(scores.var(axis=0, ddof=1).sum())
    return own if seeds == 1 else (whole - own) / (seeds * (seeds - 1))
