"""How many pairs of text are worth a score, on curves worked out by hand and on simulated seeds."""

import math
import random

import numpy as np
import pytest

from nmtlab.grids.results.statistics import Spread
from nmtlab.thesis.shown.worth import monotone, size_with, worth

ALONE = {500: [5.0] * 3, 2000: [11.0] * 3, 8000: [17.0] * 3}  # 3 points for each doubling of the text


def simulated(means: dict[int, float], deviation: float, draw: random.Random) -> dict[int, list[float]]:
    return {size: [draw.gauss(mean, deviation) for _ in range(3)] for size, mean in means.items()}


def pooled(values: list[float], weights: list[float]) -> list[float]:
    """Return the result of the pool-adjacent-violators algorithm."""
    blocks: list[tuple[float, float, int]] = []
    for block in zip(values, weights, [1] * len(values), strict=True):
        blocks.append(block)
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (one, weight, count), (other, more, number) = blocks[-2:]
            blocks[-2:] = [((one * weight + other * more) / (weight + more), weight + more, count + number)]
    return [mean for mean, _, count in blocks for _ in range(count)]


@pytest.mark.parametrize(
    ("size", "score", "replaced"),
    [
        (500, 8.0, 500),  # the score of 1,000 pairs alone
        (500, 11.0, 1500),
        (2000, 14.0, 2000),
        (2000, 12.0, 520),  # 2,000 · 2^⅓ pairs
        (2000, 8.0, -1000),  # a parent that does harm
        (500, 17.0, 7500),
        (500, 17.1, math.inf),
        (8000, 17.1, math.inf),
        (500, 4.9, -math.inf),
        (8000, 4.9, -math.inf),
    ],
)
def test_on_a_curve_that_is_linear_in_the_logarithm_of_the_size_the_pairs_are_exact(size, score, replaced):
    assert worth([score] * 3, size, ALONE) == (replaced, replaced, replaced)


@pytest.mark.parametrize(
    ("size", "score", "replaced"),
    [
        (500, 10.0, 500),  # 1,000 to 2,000 pairs alone have 10 points
        (1200, 10.0, 0),
        (4000, 10.0, -2000),
        (500, 13.5, 2328),  # halfway from 10 to 17: 2,000 · √2 pairs
        (500, 7.5, 207),  # halfway from 5 to 10: 500 · √2 pairs
    ],
)
def test_means_that_fall_are_pooled_first(size, score, replaced):
    alone = {500: [5.0], 1000: [11.0], 2000: [9.0], 4000: [17.0]}
    assert worth([score], size, alone).replaced == replaced


def test_means_of_more_seeds_weigh_more_when_pooled():
    assert monotone(np.array([[11.0, 9.0, 12.0]]), np.array([3.0, 1.0, 3.0])).tolist() == [[10.5, 10.5, 12.0]]


def test_monotone_means_are_those_of_the_pool_adjacent_violators_algorithm():
    draw = random.Random(1)
    for sizes in (1, 2, 4, 7):
        weights = [float(draw.randint(1, 5)) for _ in range(sizes)]
        curves = [[draw.gauss(place / 3, 1) for place in range(sizes)] for _ in range(50)]
        expected = [pooled(curve, weights) for curve in curves]
        np.testing.assert_allclose(monotone(np.array(curves), np.array(weights)), expected, atol=1e-9)


def test_a_child_of_the_size_that_is_found_has_the_score():
    sizes, draw = np.array([500.0, 2000.0, 4000.0, 10_000.0]), np.random.default_rng(1)
    curves = np.sort(draw.normal(10, 4, (200, 4)), axis=1)
    scores = draw.uniform(curves[:, 0], curves[:, -1])
    found = size_with(scores, curves, sizes, 500)
    again = [np.interp(math.log(size), np.log(sizes), curve) for size, curve in zip(found, curves, strict=True)]
    np.testing.assert_allclose(again, scores, atol=0.02)  # whole pairs


@pytest.mark.parametrize(
    "alone",
    [
        ALONE,
        {500: [5.0, 6.0, 7.0], 2000: [9.0, 8.0, 9.5], 8000: [10.0, 10.5, 9.8]},
        {500: [10.1, 10.3], 2000: [10.3, 10.1, 10.1, 10.3]},
    ],
)
def test_a_parent_without_effect_replaces_nothing(alone):
    for size, scores in alone.items():
        found = worth(scores, size, alone)
        assert found.replaced == 0
        assert not found.low > 0
        assert not found.high < 0


def test_the_interval_is_a_little_wider_than_that_of_student():
    scores = [7.7, 8.0, 8.3]
    # Each of the 27 samples has a share of 3.7 %: the ends are the smallest and the largest score, 0.3 from the mean,
    # stretched by 4.303 · 0.3 / (1.96 · 0.245). Student's ends are 0.745 from the mean, these 0.807.
    stretched = 0.3 * 4.303 * 0.3 / (1.96 * math.sqrt(0.06))
    found = worth(scores, 500, ALONE)
    ends = [500 * 2 ** ((8 + side * stretched - 5) / 3) - 500 for side in (-1, 1)]
    assert [found.low, found.high] == pytest.approx(ends, abs=1)
    assert found == worth(scores, 500, ALONE)  # the same on each call


def test_the_interval_of_new_seeds_and_sentences_is_that_of_a_bootstrap_by_hand():
    draw, scores, alone = random.Random(1), [9.6, 10.0, 10.1], {500: [5.0, 5.3, 4.9], 8000: [16.6, 17.0, 17.1]}
    found = worth(scores, 500, alone, Spread(0.25, 499))

    def resampled(values: list[float]) -> float:
        # 4.303 standard errors of Student's t with two degrees of freedom, instead of 1.96 of the bootstrap's
        stretch = 4.3027 * math.sqrt(3 / 2) / 1.96
        mean = sum(values) / 3
        return mean + stretch * (sum(draw.choices(values, k=3)) / 3 - mean)

    sizes = []
    for _ in range(6000):
        small, large = (resampled(alone[size]) for size in (500, 8000))
        score = resampled(scores) + draw.gauss(0, 0.5)
        sizes.append(500 * 16 ** ((score - small) / (large - small)) - 500)
    sizes.sort()
    expected = [sizes[150], sizes[-150]]
    assert [found.low, found.high] == pytest.approx(expected, rel=0.08)
    without = worth(scores, 500, alone)
    assert without.replaced == found.replaced
    assert without.high - without.low < found.high - found.low


def test_an_interval_may_reach_beyond_the_largest_child_and_below_the_smallest():
    found = worth([16.0, 16.8, 17.2], 500, ALONE)
    assert math.isfinite(found.replaced)
    assert math.isfinite(found.low)
    assert found.high == math.inf
    found = worth([5.0, 5.4, 6.0], 500, ALONE)
    assert (found.low, math.isfinite(found.replaced), math.isfinite(found.high)) == (-math.inf, True, True)
    found = worth([17.0, 17.9, 18.1], 500, ALONE)
    assert found.replaced == found.high == math.inf
    assert found.low < 7500


@pytest.mark.parametrize("scores", [[8.0], [7.9, 8.1]])
def test_fewer_than_three_seeds_of_any_child_have_no_interval(scores):
    found = worth(scores, 500, ALONE)
    assert (found.replaced, math.isnan(found.low), math.isnan(found.high)) == (500, True, True)
    found = worth([8.0] * 3, 500, ALONE | {8000: [17.0, 17.0]})
    assert (found.replaced, math.isnan(found.low), math.isnan(found.high)) == (500, True, True)


@pytest.mark.full
@pytest.mark.parametrize(("size", "score", "replaced"), [(500, 8.0, 500), (2000, 14.0, 2000), (4000, 12.5, -1172)])
def test_the_interval_of_three_seeds_holds_the_truth_19_times_in_20(size, score, replaced):
    draw = random.Random(size)
    means = {500: 5.0, 2000: 11.0, 8000: 17.0}
    held = 0
    for _ in range(200):
        alone = simulated(means, 0.6, draw)
        found = worth(simulated({size: score}, 0.6, draw)[size], size, alone)
        held += found.low <= replaced <= found.high
    assert held >= 0.95 * 200
