"""Repeated looks: how often they err where nothing differs, by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from nmtlab.errors import NmtlabError
from nmtlab.experiments.results.sequential import LOOKS, boundaries, planned_looks, sequential_p

DRAWS = 20_000


def share_decided(ps: list[np.ndarray], systems: int, looks: tuple[int, ...] = LOOKS, level: float = 0.05) -> float:
    """Return how often a line is decided at any look, given p of each look by scipy: (looks,) of (DRAWS,)."""
    adjusted = [sequential_p(p, systems, looks) for p in np.min(ps, axis=0)]
    return float(np.mean(np.array(adjusted) <= level))


@pytest.mark.parametrize("most", [5, 10])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_all_looks_together_err_as_often_as_they_say(most, level):
    one, other = np.random.default_rng(7).standard_normal((2, DRAWS, 10))
    looks = planned_looks(most)
    ps = [stats.ttest_ind(one[:, :look], other[:, :look], axis=1).pvalue for look in looks]
    found = share_decided(ps, 2, looks, level)
    assert found == pytest.approx(level, abs=4 * math.sqrt(level / DRAWS))
    assert np.mean(np.min(ps, axis=0) <= level) > 1.4 * level  # as they would without the adjustment


@pytest.mark.parametrize("sentences", [0.05, 0.4, 5.0])
def test_with_sentences_they_err_less_often(sentences):
    generator = np.random.default_rng(8)
    scores, shared = generator.standard_normal((4, DRAWS, 10)), generator.standard_normal(DRAWS)
    ps = []
    for look in LOOKS:
        of_seeds = scores[:, :, :look].var(axis=2, ddof=1).mean(axis=0) * 2 / look
        freedom = (of_seeds + sentences) ** 2 / (of_seeds**2 / (4 * (look - 1)) + sentences**2 / 499)
        effect = (scores[0, :, :look] - scores[1, :, :look]).mean(axis=1) + math.sqrt(sentences) * shared
        ps.append(2 * stats.t.sf(abs(effect) / np.sqrt(of_seeds + sentences), freedom))
    assert share_decided(ps, 4) <= 0.055


def test_with_welch_and_unequal_variances_they_err_about_as_often():
    one, other = np.random.default_rng(9).standard_normal((2, DRAWS, 10)) * np.array([1, 3])[:, None, None]
    ps = [stats.ttest_ind(one[:, :look], other[:, :look], axis=1, equal_var=False).pvalue for look in LOOKS]
    assert 0.04 < share_decided(ps, 2) < 0.06


def test_with_very_many_systems_the_boundary_is_pococks():
    bounds = boundaries(500)
    assert bounds == pytest.approx([bounds[0]] * 3, abs=0.01)
    covariance = [[math.sqrt(min(one, other) / max(one, other)) for one in LOOKS] for other in LOOKS]
    inside = stats.multivariate_normal(cov=covariance, seed=1).cdf(bounds, lower_limit=[-one for one in bounds])
    assert inside == pytest.approx(0.95, abs=0.002)


def test_the_boundary_of_t_is_where_adjusted_p_is_the_level():
    for look, bound in zip(LOOKS, boundaries(4), strict=True):
        freedom = 4 * (look - 1)
        assert sequential_p(2 * stats.t.sf(bound + 0.02, freedom), 4) < 0.05
        assert sequential_p(2 * stats.t.sf(bound - 0.02, freedom), 4) > 0.05


def test_adjusted_p_rises_with_p_and_lies_between_it_and_bonferronis_bound():
    ps = [10.0**power for power in range(-12, 1)] + [0.02, 0.05, 0.3]
    adjusted = [sequential_p(p, 4) for p in ps]
    assert all(p <= one <= min(1, 3 * p) + 1e-12 for p, one in zip(ps, adjusted, strict=True))
    assert [one for _, one in sorted(zip(ps, adjusted, strict=True))] == sorted(adjusted)
    assert math.isnan(sequential_p(math.nan, 4))


def test_a_single_look_costs_nothing():
    assert sequential_p(0.03, 4, (3,)) == pytest.approx(0.03, rel=0.03)


@pytest.mark.parametrize(("most", "looks"), [(3, (3,)), (4, (3,)), (5, (3, 5)), (10, (3, 5, 10)), (50, (3, 5, 10))])
def test_the_looks_are_those_up_to_the_most_seeds(most, looks):
    assert planned_looks(most) == looks


def test_fewer_seeds_than_decide_anything_are_refused():
    with pytest.raises(NmtlabError, match="2 seeds at most"):
        planned_looks(2)
