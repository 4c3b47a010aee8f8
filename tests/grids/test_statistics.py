"""Intervals, power and verdicts: against scipy and statsmodels, by hand, and by simulation where truth is known."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.weightstats import ttost_ind

from nmtlab.grids.results.statistics import (
    ENOUGH_SEEDS,
    ONE_BLEU,
    Difference,
    Estimate,
    Seeds,
    Spread,
    adjusted_ps,
    compare,
    difference,
    seed_variance,
    sentence_spread,
    total,
    verdict,
)

ONE, OTHER = [20.1, 21.4, 19.7, 20.9], [18.2, 17.1, 18.9]


# Against scipy, without sentences


@pytest.mark.parametrize("null", [0.0, 1.5, -0.5])
@pytest.mark.parametrize("pooled", [True, False], ids=["pooled", "Welch"])
def test_without_sentences_a_difference_is_the_t_test_of_scipy(pooled, null):
    line = difference(ONE, OTHER, seed_variance([ONE, OTHER]) if pooled else None).estimate(null)
    known = stats.ttest_ind(np.array(ONE) - null, OTHER, equal_var=pooled)
    interval = stats.ttest_ind(ONE, OTHER, equal_var=pooled).confidence_interval(0.95)
    assert line.effect == pytest.approx(np.mean(ONE) - np.mean(OTHER))
    assert (line.low, line.high) == pytest.approx((interval.low, interval.high))
    assert line.p == pytest.approx(known.pvalue)
    assert line.null == null


@pytest.mark.parametrize("bound", [0.5, 2.0, 5.0])
def test_equivalence_is_the_two_one_sided_tests_of_statsmodels(bound):
    found = difference(ONE, OTHER)
    assert found.equivalence_p(bound) == pytest.approx(ttost_ind(ONE, OTHER, -bound, bound, usevar="unequal")[0])
    assert found.equivalence_p(bound) == pytest.approx(difference(OTHER, ONE).equivalence_p(bound))


def test_systems_are_equivalent_if_the_90_percent_interval_lies_within_the_bound():
    found = difference([20.0, 20.1, 20.2], [19.9, 20.1, 20.4], sentences=Spread(0.01, 499))
    inner = found.estimate(level=0.1)
    reach = max(abs(inner.low), abs(inner.high))
    assert found.equivalence_p(reach) == pytest.approx(0.05)
    assert found.equivalence_p(reach - 0.01) > 0.05 > found.equivalence_p(reach + 0.01)
    assert math.isnan(found.equivalence_p(math.nan))
    assert math.isnan(difference([20.0] * 3, [20.0] * 3).equivalence_p(0.5))


def test_a_difference_to_an_exact_number_is_the_t_test_of_one_sample():
    line = difference(ONE, 20.0).estimate()
    known = stats.ttest_1samp(ONE, 20.0)
    assert line.p == pytest.approx(known.pvalue)
    assert (line.low, line.high) == pytest.approx([end - 20 for end in known.confidence_interval(0.95)])
    turned = difference(20.0, ONE).estimate()
    assert (turned.effect, turned.low, turned.p) == pytest.approx((-line.effect, -line.high, line.p))


def test_the_variance_of_a_seed_is_pooled_over_all_given_systems():
    # squares about the means: 2, 8 and 0; the last system has one seed and tells nothing
    found = seed_variance([[1.0, 2.0, 3.0], [5.0, 9.0], [4.0, 4.0, 4.0], [7.0]])
    assert found == Seeds(10 / 5, 5, 3)


# Satterthwaite, by hand


def test_the_degrees_of_freedom_are_those_worked_out_by_hand():
    # 4/4 = 1 with 3 and 9/3 = 3 with 2 degrees of freedom: 4² / (1/3 + 9/2); with 2 more of 100 sentences: 6² / (...)
    seeds = (Seeds(4.0, 3, 1, (4,)), Seeds(9.0, 2, 1, (3,)))
    alone = Difference(5.0, seeds).spread
    assert alone == pytest.approx((4.0, 16 / (1 / 3 + 9 / 2)))
    crossed = Difference(5.0, seeds, Spread(2.0, 99)).spread
    assert crossed == pytest.approx((6.0, 36 / (1 / 3 + 9 / 2 + 4 / 99)))


def test_the_sentences_widen_the_interval():
    pool = seed_variance([ONE, OTHER])
    alone, crossed = difference(ONE, OTHER, pool), difference(ONE, OTHER, pool, Spread(0.4, 499))
    assert crossed.spread.variance == pytest.approx(alone.spread.variance + 0.4)
    assert crossed.estimate().p > alone.estimate().p
    assert crossed.detectable > alone.detectable


def test_equal_values_do_not_show_that_there_is_no_variance():
    line = difference([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], Seeds(0.0, 4, 2)).estimate()
    assert line.effect == 1
    assert all(map(math.isnan, (line.low, line.high, line.p, line.detectable)))
    assert total([Spread(0.0, 4), Spread(0.5, 99)]) == pytest.approx((0.5, 99))


@pytest.mark.parametrize("other", [[], [18.0], [-math.inf, 18.0, 19.0]], ids=["none", "one", "infinite"])
def test_without_a_known_variance_there_is_no_interval(other):
    line = difference(ONE, other, sentences=Spread(0.4, 499)).estimate()
    assert math.isnan(line.low)
    assert math.isnan(line.p)
    assert math.isnan(line.detectable)
    assert difference(ONE, other).seeds_needed(1.0) is None


# Seeds and sentences


def draws_of(scores: np.ndarray) -> np.ndarray:
    """Return what the bootstrap tends to for a mean over sentences: (sentences, seeds), with the covariance of means.

    Args:
        scores: (seeds, sentences).
    """
    return scores.T / math.sqrt(scores.shape[1])


def simulated(seeds: int, shape: tuple[float, float, float], generator: np.random.Generator) -> np.ndarray:
    """Return scores of 4 systems that do not differ: (systems, seeds, 100 sentences).

    Args:
        shape: deviations of: a seed; a sentence for a system; a sentence for a seed.
    """
    seed, sentence, both = shape
    of_seeds = seed * generator.standard_normal((4, seeds, 1))
    of_sentences = generator.standard_normal(100) + sentence * generator.standard_normal((4, 1, 100))
    return of_seeds + of_sentences + both * generator.standard_normal((4, seeds, 100))


@pytest.mark.full
@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize(
    "shape",
    [(0.3, 0.3, 0.3), (0.02, 2.0, 0.5), (0.1, 1.0, 2.0), (0.0, 0.0, 2.0)],
    ids=["seeds", "sentences", "all", "seeds on sentences"],
)
@pytest.mark.parametrize("pooled", [True, False], ids=["pooled", "Welch"])
def test_19_of_20_intervals_hold_the_truth_whatever_varies(seeds, shape, pooled):
    generator = np.random.default_rng(seeds)
    held = 0
    for _ in range(1500):
        scores = simulated(seeds, shape, generator)
        means = scores.mean(axis=2)
        spread = sentence_spread(draws_of(scores[0]), draws_of(scores[1]), 100)
        line = difference(means[0], means[1], seed_variance(means) if pooled else None, spread).estimate()
        held += line.low <= 0 <= line.high
    assert held / 1500 == pytest.approx(0.953, abs=0.017)  # the deviation of the share is 0.0056


@pytest.mark.parametrize(
    ("deviations", "pool_holds"),
    [((1.0, 1.0, 1.0, 1.0), True), ((1.8, 0.3, 0.2, 0.1), False), ((0.1, 1.8, 0.2, 0.3), False)],
    ids=["equal", "the one is noisy", "the other is noisy"],
)
def test_false_alarms_are_few_whether_systems_vary_alike_or_not(deviations, pool_holds):
    # As fixnorm and tied on qaa-en, three seeds each; sentences that all share a part of.
    generator, alarms = np.random.default_rng(5), {"welch": 0, "pooled": 0}
    repetitions, shared = 1000, 0.2
    for _ in range(repetitions):
        scores = generator.standard_normal((4, 3)) * np.array(deviations)[:, None]
        scores[0] += generator.standard_normal() * shared
        sentences = Spread(shared**2, 499)
        pair = (None, seed_variance(scores))
        for name, pool in zip(alarms, pair, strict=True):
            alarms[name] += difference(scores[0], scores[1], pool, sentences).estimate().p <= 0.05
    assert 0.02 <= alarms["welch"] / repetitions <= 0.085
    assert (alarms["pooled"] / repetitions <= 0.07) == pool_holds


def test_what_is_peculiar_to_a_seed_on_these_sentences_is_not_counted_again():
    generator = np.random.default_rng(1)
    counted, plain, seen = [], [], []
    for _ in range(300):
        one, other = simulated(3, (0.0, 0.0, 2.0), generator)[:2]
        counted.append(sentence_spread(draws_of(one), draws_of(other), 100).variance)
        plain.append(np.var((draws_of(one).mean(axis=1) - draws_of(other).mean(axis=1)), ddof=1))
        seen.append(seed_variance([one.mean(axis=1), other.mean(axis=1)]).variance * 2 / 3)
    # seeds that differ on these sentences alone: their variance, 4/100 * 2/3, is all in the s² of the seeds
    assert np.mean(seen) == pytest.approx(0.0267, rel=0.1)
    assert np.mean(plain) == pytest.approx(0.0267, rel=0.1)
    assert np.mean(counted) < 0.003


def test_the_part_of_the_sentences_is_made_of_covariances():
    generator = np.random.default_rng(2)
    draws = generator.standard_normal((200, 5)) + 3 * generator.standard_normal((200, 1))
    draws[:, :3] += 2 * generator.standard_normal((200, 1))
    covariance = np.cov(draws, rowvar=False)
    of_one = np.mean([covariance[0, 1], covariance[0, 2], covariance[1, 2]])
    across = covariance[:3, 3:].mean()
    found = sentence_spread(draws[:, :3], draws[:, 3:], 50)
    assert found == pytest.approx((of_one + covariance[3, 4] - 2 * across, 49))
    assert sentence_spread(draws[:, :3], None, 50).variance == pytest.approx(of_one)
    # the variance of a single seed is not taken apart
    across = covariance[:3, 3].mean()
    assert sentence_spread(draws[:, :3], draws[:, 3:4], 50).variance == pytest.approx(
        of_one + covariance[3, 3] - 2 * across
    )


# Power


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_the_detectable_effect_has_the_power_that_statsmodels_computes(seeds):
    variance = Seeds(2.25, 2 * (seeds - 1), 2)
    found = Difference(0.0, (replace(variance, counts=(seeds, seeds)),)).detectable
    assert TTestIndPower().power(found / 1.5, seeds, 0.05) == pytest.approx(0.8, abs=1e-4)


def test_the_detectable_effect_is_detected_four_times_in_five():
    generator = np.random.default_rng(3)
    variance = Seeds(1.0, 4, 2)
    effect = Difference(0.0, (replace(variance, counts=(3, 3)),)).detectable
    one, other = generator.standard_normal((2, 20_000, 3))
    found = stats.ttest_ind(one + effect, other, axis=1).pvalue <= 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("distance", [0.8, 1.5, 3.0])
def test_the_seeds_needed_are_those_that_statsmodels_computes(distance):
    pool = Seeds(1.0, 4, 2, (3, 3))
    known = math.ceil(TTestIndPower().solve_power(distance, alpha=0.05, power=0.8))
    assert Difference(0.0, (pool,)).seeds_needed(distance) == known


def test_a_pool_of_more_systems_needs_fewer_seeds_and_never_fewer_than_are_enough():
    two, eight = (Difference(0.0, (Seeds(1.0, 4, systems, (3, 3)),)) for systems in (2, 8))
    assert eight.seeds_needed(2.0) < two.seeds_needed(2.0)
    assert two.seeds_needed(100.0) == ENOUGH_SEEDS


def test_each_system_keeps_its_variance_as_seeds_are_added():
    parts = (Seeds(1.0, 2, 1, (3,)), Seeds(9.0, 2, 1, (3,)))
    needed = Difference(0.0, parts).seeds_needed(4.0)
    variance = 10 / needed
    freedom = variance**2 / ((1 / needed) ** 2 / (needed - 1) + (9 / needed) ** 2 / (needed - 1))
    bound = stats.t.isf(0.025, freedom)
    assert stats.nct.sf(bound, freedom, 4 / variance**0.5) >= 0.8
    assert Difference(0.0, parts).seeds_needed(4.1) <= needed


def test_where_the_sentences_forbid_it_no_number_of_seeds_is_enough():
    pool = Seeds(1.0, 8, 4, (3, 3))
    crossed = Difference(0.0, (pool,), Spread(0.16, 499))
    # 2.807 standard errors of 0.4 are needed with 499 degrees of freedom, seeds aside
    assert crossed.seeds_needed(1.1) is None
    assert crossed.seeds_needed(1.14) > 50
    assert crossed.seeds_needed(2.0) < 10
    assert crossed.seeds_needed(math.nan) is None


# From the cells of a row


def row(**scores: list[float] | float) -> pd.DataFrame:
    lines = [
        {"column": column, "seed": seed if isinstance(values, list) else None, "value": value}
        for column, values in scores.items()
        for seed, value in enumerate(values if isinstance(values, list) else [values], start=1)
    ]
    return pd.DataFrame(lines).astype({"seed": "Int64", "value": float})


CELLS = row(tied=OTHER, fixnorm=ONE, lex=[21.0, 22.5, 21.9], broken=[1.0, 9.0, 3.0], phrases=19.0)
CONVERGED = ["tied", "fixnorm", "lex", "phrases"]


def test_systems_are_compared_by_welch_and_the_pool_stands_beside():
    pair = compare(CELLS, "fixnorm", "tied", CONVERGED, Spread(0.1, 499))
    pool = seed_variance([ONE, OTHER, [21.0, 22.5, 21.9]])
    assert pair.pooled == difference(ONE, OTHER, pool, Spread(0.1, 499))
    assert pair.welch == difference(ONE, OTHER, None, Spread(0.1, 499))
    assert [[part.systems for part in one.seeds] for one in (pair.pooled, pair.welch)] == [[3], [1, 1]]


def test_the_variance_of_a_system_that_fails_is_not_pooled():
    pair = compare(CELLS, "broken", "tied", CONVERGED)
    assert pair.pooled == pair.welch == difference([1.0, 9.0, 3.0], OTHER)


def test_a_system_without_seeds_is_as_exact_as_a_number():
    pair = compare(CELLS, "tied", "phrases", CONVERGED)
    assert pair.welch == difference(OTHER, 19.0)
    assert pair.pooled == difference(OTHER, 19.0, seed_variance([ONE, OTHER, [21.0, 22.5, 21.9]]))
    assert pair.pooled.seeds[0].counts == (3,)


def test_a_system_has_its_variance_alone_if_compared_with_a_number():
    pair = compare(CELLS, "tied", 19.0, CONVERGED)
    assert pair.pooled == pair.welch == difference(OTHER, 19.0)


def test_a_seed_that_was_trained_on_two_machines_counts_once_with_its_mean():
    twice = row(tied=OTHER, fixnorm=[22.0, 23.0, 24.0])
    both = pd.concat([row(tied=OTHER, fixnorm=[20.0, 24.0, 25.0]), twice])
    assert compare(both, "fixnorm", "tied", CONVERGED).welch == difference([21.0, 23.5, 24.5], OTHER)


def test_machines_are_blocks_whose_differences_are_averaged():
    here, there = row(a=[1.0, 2.0, 3.0], b=[1.0, 1.0, 2.0]), row(a=[11.0, 13.0, 12.0], b=[11.0, 10.0, 10.0])
    effects = [compare(some, "a", "b", []).welch.effect for some in (here, there)]
    assert compare(pd.concat([here, there]), "a", "b", []).welch.effect == pytest.approx(np.mean(effects))


def test_two_systems_without_seeds_differ_by_the_sentences_alone():
    found = compare(row(phrases=19.0, other=17.0), "phrases", "other", [], Spread(0.25, 499)).welch
    assert found.spread == pytest.approx((0.25, 499))


def test_seeds_without_a_value_and_columns_without_cells_are_left_out():
    cells = row(tied=[*OTHER, math.nan], fixnorm=ONE)
    assert compare(cells, "fixnorm", "tied", CONVERGED).welch == difference(ONE, OTHER)
    assert math.isnan(compare(cells, "fixnorm", "lex", CONVERGED).welch.estimate().effect)


# False discoveries


PS = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216, 0.222, 0.251, 0.269, 0.275, 0.34]


@pytest.mark.parametrize("groups", [range(15), [0] * 15], ids=["all apart", "all of the same trainings"])
def test_adjusted_p_is_that_of_statsmodels(groups):
    known = multipletests(PS, method="fdr_bh")[1]
    assert adjusted_ps(PS, list(groups)) == pytest.approx(known)
    assert adjusted_ps(PS[::-1], list(groups)) == pytest.approx(known[::-1])


def test_lines_of_the_same_trainings_are_one_entry():
    # Simes: 0.02 for a, so 0.03 * 3/2 = 0.045 for a and b; then two of three entries pass, and within a 0.04 * 3/2
    found = adjusted_ps([0.01, 0.04, 0.03, 0.5], ["a", "a", "b", "c"])
    assert found == pytest.approx([0.045, 0.06, 0.045, 0.5])


def test_thirty_lines_of_one_training_do_not_vouch_for_another():
    ps = [0.001] * 30 + [0.04] + [0.5] * 5
    assert multipletests(ps, method="fdr_bh")[1][30] < 0.05
    assert adjusted_ps(ps, [frozenset({"a.s1", "b.s1"})] * 30 + list(range(6)))[30] > 0.05


def test_adjusted_p_is_the_smallest_level_at_which_the_two_steps_pass_a_line():
    generator = np.random.default_rng(4)
    for _ in range(40):
        groups = generator.integers(0, 6, 15)
        ps = generator.random(15) ** 3
        found = adjusted_ps(ps, groups.tolist())
        for level in (0.01, 0.05, 0.1, 0.3):
            names = np.unique(groups)
            simes = [multipletests(ps[groups == name], method="fdr_bh")[1].min() for name in names]
            passed = multipletests(simes, alpha=level, method="fdr_bh")[0]
            expected = np.zeros(15, dtype=bool)
            for name in names[passed]:
                inside = multipletests(ps[groups == name], alpha=level * passed.mean(), method="fdr_bh")[0]
                expected[groups == name] = inside
            assert (found <= level).tolist() == expected.tolist()


def test_lines_without_p_are_left_out():
    found = adjusted_ps([0.01, math.nan, 0.04], ["a", "b", "c"])
    assert found[[0, 2]] == pytest.approx([0.02, 0.04])
    assert math.isnan(found[1])
    assert np.isnan(adjusted_ps([math.nan], ["a"])).all()
    assert len(adjusted_ps([], [])) == 0


# Verdicts


def line(low: float, high: float, null: float = 0.0, detectable: float = 0.8) -> Estimate:
    return Estimate((low + high) / 2, low, high, null, 0.01, detectable)


@pytest.mark.parametrize(
    ("measured", "adjusted_p", "expects", "aim", "said"),
    [
        (line(0.2, 1.8), 0.03, "higher", ONE_BLEU, "reproduced here"),
        (line(0.2, 1.8), 0.03, "lower", ONE_BLEU, "contradicted here"),
        (line(-1.8, -0.2), 0.03, "lower", ONE_BLEU, "reproduced here"),
        (line(-1.8, -0.2), 0.03, "higher", ONE_BLEU, "contradicted here"),
        (line(0.2, 1.8), 0.03, "higher", 0.1, "reproduced here"),  # found although it could hardly be
        (line(0.2, 1.8), 0.06, "higher", ONE_BLEU, "inconclusive"),  # one of too many
        (line(0.2, 1.8), 0.06, "higher", 0.7, "underpowered"),
        (line(-0.2, 1.4), 0.03, "higher", ONE_BLEU, "inconclusive"),  # its entry survives, not the line
        (line(-0.2, 1.4, detectable=2.8), 0.3, "higher", ONE_BLEU, "underpowered"),
        (line(-0.2, 1.4, detectable=2.8), 0.3, "higher", math.nan, "inconclusive"),  # nothing to compare with
        (line(-0.4, 1.0, null=-0.5), 0.03, "higher", 1.5, "reproduced here"),  # at least as good, but for half a point
        (line(-2.0, -0.6, null=-0.5), 0.03, "higher", 1.5, "contradicted here"),
        (line(-0.9, -0.1, null=-0.5), 0.9, "higher", 1.5, "inconclusive"),
        (line(-1.0, 0.4, null=0.5), 0.03, "lower", 1.5, "reproduced here"),
        (line(math.nan, math.nan, detectable=math.nan), math.nan, "higher", ONE_BLEU, "inconclusive"),
    ],
)
def test_the_verdict_follows_from_interval_false_discoveries_and_power(measured, adjusted_p, expects, aim, said):
    assert verdict(measured, adjusted_p, expects, aim) == said


def test_what_is_not_found_to_differ_may_be_found_equivalent():
    wide = line(-0.2, 1.4, detectable=2.8)
    assert verdict(wide, 0.3, "higher", ONE_BLEU, 0.04) == "equivalent"
    assert verdict(wide, 0.3, "lower", ONE_BLEU, 0.04) == "equivalent"
    assert verdict(wide, 0.3, "higher", ONE_BLEU, 0.06) == "underpowered"
    assert verdict(line(0.1, 0.3), 0.01, "higher", ONE_BLEU, 0.01) == "reproduced here"  # small, but a difference
    assert verdict(wide, 0.3, "higher", ONE_BLEU, 0.01, usable=False) == "inconclusive"


def test_systems_that_are_not_good_enough_decide_nothing():
    assert verdict(line(0.2, 1.8), 0.01, "higher", ONE_BLEU, usable=False) == "inconclusive"
    assert verdict(line(-1.0, 1.0, detectable=3.0), 0.9, "higher", ONE_BLEU, usable=False) == "inconclusive"


def test_a_line_can_be_told_in_percent():
    percent = Estimate(0.2, 0.1, 0.3, 0.05, 0.01, 0.4).scaled(100)
    assert percent == Estimate(20.0, 10.0, 30.0, 5.0, 0.01, 40.0)
