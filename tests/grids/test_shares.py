"""Shares: against scipy and statsmodels, and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from nmtlab.evaluation.resampling import drawn_test_sets
from nmtlab.grids.results.shares import difference_of_runs, share_of_runs, share_of_sentences, wilson
from nmtlab.grids.results.statistics import Estimate, sentence_spread


@pytest.mark.parametrize(("successes", "runs"), [(3, 3), (0, 5), (7, 10)])
def test_the_interval_of_independent_runs_is_wilsons(successes, runs):
    line = share_of_runs(successes, runs, 0.5)
    known = stats.binomtest(successes, runs).proportion_ci(0.95, method="wilson")
    assert (line.low + 0.5, line.high + 0.5) == pytest.approx((known.low, known.high))
    assert (line.low + 0.5, line.high + 0.5) == pytest.approx(proportion_confint(successes, runs, 0.05, "wilson"))
    assert line.effect == successes / runs - 0.5
    assert line.p == pytest.approx(stats.binomtest(successes, runs, 0.5).pvalue)


def test_three_successes_of_three_decide_nothing_and_could_not_have():
    line = share_of_runs(3, 3, 0.5)
    assert line.low < 0 < line.high
    assert line.p == 0.25
    assert line.detectable == math.inf


def test_the_detectable_share_has_the_power_of_the_exact_test():
    distance = share_of_runs(10, 20, 0.5).detectable
    rejected = [k for k in range(21) if stats.binomtest(k, 20, 0.5).pvalue <= 0.05]
    assert stats.binom.pmf(rejected, 20, 0.5 + distance).sum() == pytest.approx(0.8, abs=0.005)
    # towards 0 there is less room, and towards 1 there is more to see
    assert share_of_runs(1, 20, 0.05).detectable == pytest.approx(0.2, abs=0.05)


def test_two_shares_of_runs_have_the_interval_of_newcombe_and_p_of_fisher():
    line = difference_of_runs((9, 10), (3, 10))
    known = confint_proportions_2indep(9, 10, 3, 10, compare="diff", method="newcomb")
    assert (line.effect, line.low, line.high) == pytest.approx((0.6, *known))
    assert line.p == pytest.approx(stats.fisher_exact([[9, 1], [3, 7]]).pvalue)
    assert difference_of_runs((3, 10), (9, 10)).effect == pytest.approx(-0.6)


@pytest.mark.full
def test_three_runs_against_three_cannot_be_told_apart_and_ten_against_ten_can():
    assert difference_of_runs((3, 3), (0, 3)).p == pytest.approx(0.1)
    assert difference_of_runs((3, 3), (0, 3)).detectable == math.inf
    distance = difference_of_runs((5, 10), (5, 10)).detectable
    high, low = np.random.default_rng(1).binomial(10, [[(1 + distance) / 2], [(1 - distance) / 2]], (2, 5000))
    found = [stats.fisher_exact([[a, 10 - a], [b, 10 - b]]).pvalue <= 0.05 for a, b in zip(high, low, strict=True)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.02)


# Over seeds and sentences


def translations(seeds: int, sentences: int, odds: float, seed: float, sentence: float, generator) -> np.ndarray:
    """Return 0 or 1 for each translation: (seeds, sentences); `seed` and `sentence` are deviations of the log odds."""
    logits = odds + seed * generator.standard_normal((seeds, 1)) + sentence * generator.standard_normal((1, sentences))
    return (generator.random((seeds, sentences)) < 1 / (1 + np.exp(-logits))).astype(int)


def share(hits: np.ndarray, than: float) -> Estimate:
    """Compare with a number, in percent, what is so (1) or not (0): (seeds, sentences)."""
    sentences = hits.shape[1]
    scores = drawn_test_sets(sentences) @ hits.T * (100 / sentences)
    return share_of_sentences((100 * hits.mean(axis=1)).tolist(), sentence_spread(scores, None, sentences), than)


@pytest.mark.full
@pytest.mark.parametrize(
    ("seeds", "odds", "seed", "sentence", "truth"),
    [
        (3, -0.5, 0.02, 2.0, 0.4255),  # the sentences decide
        (5, -0.5, 0.02, 2.0, 0.4255),
        (3, -0.5, 1.0, 0.1, 0.3983),  # the seeds decide
        (5, -0.5, 1.0, 0.1, 0.3983),
        (5, -0.5, 0.2, 2.0, 0.4255),
        (3, -6.0, 0.1, 0.5, 0.00283),  # hardly any
    ],
)
def test_about_19_of_20_intervals_of_a_share_hold_the_truth(seeds, odds, seed, sentence, truth):
    generator = np.random.default_rng(seeds)
    held = 0
    for _ in range(600):
        hits = translations(seeds, 300, odds, seed, sentence, generator)
        line = share(hits, 100 * truth)
        held += line.low <= 0 <= line.high
    assert held / 600 >= 0.92  # rare ones are held more often: there the size is that of one seed


def test_an_interval_that_takes_every_translation_as_independent_is_too_narrow():
    generator = np.random.default_rng(5)
    hits = [translations(3, 300, -0.5, 0.02, 2.0, generator).mean() for _ in range(600)]
    intervals = [wilson(share, 900) for share in hits]
    assert np.mean([low <= 0.4255 <= high for low, high in intervals]) < 0.9


@pytest.mark.parametrize("value", [0, 1])
def test_seeds_that_agree_on_every_sentence_count_as_one(value):
    line = share(np.full((3, 200), value), 50)
    known = [100 * end for end in proportion_confint(200 * value, 200, 0.05, "wilson")]
    assert (line.low + 50, line.high + 50) == pytest.approx(known)
    assert line.p < 1e-9


def test_equal_shares_on_different_sentences_still_have_an_interval():
    line = share(np.eye(3, 200, dtype=int), 50)
    assert line.high - line.low > 1


def test_the_test_of_a_share_and_its_interval_agree():
    hits = translations(3, 300, -0.5, 0.3, 1.0, np.random.default_rng(7))
    line = share(hits, 50)
    for end, inside in ((50 + line.low, 1), (50 + line.high, -1)):
        assert share(hits, end).p == pytest.approx(0.05)
        assert share(hits, end + inside).p > 0.05


def test_one_seed_has_a_share_and_no_interval():
    line = share(np.eye(1, 200, dtype=int), 50)
    assert line.effect == pytest.approx(0.5 - 50)
    assert math.isnan(line.low)
    assert math.isnan(line.p)
    assert math.isnan(line.detectable)
