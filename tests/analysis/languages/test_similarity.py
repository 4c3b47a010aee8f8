"""Similarities of two languages' vectors, on cases whose answer is known."""

from itertools import permutations

import numpy as np
import pytest

from nmtlab.analysis.languages.similarity import cka_with_null, debiased_cka, language_probe, retrieval
from nmtlab.errors import NmtlabError


@pytest.fixture
def draw():
    return np.random.default_rng(5)


def biased_cka(x: np.ndarray, y: np.ndarray) -> float:
    x, y = (side - side.mean(axis=0) for side in (x, y))
    return np.linalg.norm(x.T @ y) ** 2 / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))


def u_statistic(k: np.ndarray, ell: np.ndarray) -> float:
    """Return unbiased HSIC as the mean over all ordered quadruples of different sentences (Song et al. 2012)."""
    terms = [
        k[i, j] * ell[i, j] + k[i, j] * ell[q, r] - 2 * k[i, j] * ell[i, q]
        for i, j, q, r in permutations(range(len(k)), 4)
    ]
    return float(np.mean(terms))


def test_debiased_cka_of_unrelated_vectors_is_about_0_where_the_biased_one_is_far_above(draw):
    pairs = [(draw.normal(size=(20, 200)), draw.normal(size=(20, 200))) for _ in range(400)]
    values = [debiased_cka(x, y) for x, y in pairs]
    assert abs(np.mean(values)) < 0.015  # the deviation of one value is 0.08
    assert min(biased_cka(x, y) for x, y in pairs) > 0.8


def test_a_rotated_scaled_and_shifted_copy_has_similarity_1(draw):
    x = draw.normal(size=(12, 30))
    rotation = np.linalg.qr(draw.normal(size=(30, 30)))[0]
    assert debiased_cka(x, 7 * x @ rotation + 3) == pytest.approx(1, abs=1e-12)
    assert debiased_cka(x, np.hstack([x, np.ones((12, 2))])) == pytest.approx(1, abs=1e-12)


def test_the_fast_formula_is_the_u_statistic_over_all_quadruples(draw):
    x = draw.normal(size=(6, 3))
    y = x @ draw.normal(size=(3, 5)) + draw.normal(size=(6, 5))
    k, ell = x @ x.T, y @ y.T
    expected = u_statistic(k, ell) / np.sqrt(u_statistic(k, k) * u_statistic(ell, ell))
    assert debiased_cka(x, y) == pytest.approx(expected, rel=1e-9)
    assert debiased_cka(y, x) == pytest.approx(expected, rel=1e-9)


def test_more_in_common_is_more_similar_and_shuffling_takes_it_away(draw):
    common = draw.normal(size=(60, 10))
    found = []
    for share in (0.0, 1.0, 3.0):
        x, y = (share * common @ draw.normal(size=(10, 40)) + 3 * draw.normal(size=(60, 40)) for _ in range(2))
        found.append(cka_with_null(x, y))
        assert found[-1].value == debiased_cka(x, y)
        assert abs(found[-1].null_mean) < 0.02
        assert found[-1].null_mean < found[-1].null_95 < 0.2
    assert found[0].value < found[1].value < found[2].value
    assert found[0].p > 0.05
    assert found[1].p == found[2].p == 1 / 201
    assert found[2].value > found[2].null_95


def test_unrelated_vectors_are_significant_as_often_as_promised(draw):
    chances = [
        cka_with_null(draw.normal(size=(15, 30)), draw.normal(size=(15, 30)), permutations=39).p for _ in range(200)
    ]
    assert 0.01 <= np.mean(np.array(chances) <= 0.05) <= 0.10


def test_the_same_seed_gives_the_same_null(draw):
    x, y = draw.normal(size=(10, 4)), draw.normal(size=(10, 4))
    assert cka_with_null(x, y, seed=3) == cka_with_null(x, y, seed=3)
    assert cka_with_null(x, y, seed=3).null_mean != cka_with_null(x, y, seed=4).null_mean


def test_a_translation_is_found_among_vectors_that_a_language_shifts_and_not_among_others(draw):
    x = draw.normal(size=(50, 20))
    assert retrieval(x, 4 * x + 10 * draw.normal(size=20)) == (1, 1)
    assert max(retrieval(x, draw.normal(size=(50, 20)))) < 0.15


def test_retrieval_goes_each_way_for_itself():
    x = np.array([[1.0, 0.0], [0.9, 0.1], [-1.9, -0.1]])
    y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    cosines = (x / np.linalg.norm(x, axis=1)[:, None]) @ (y / np.linalg.norm(y, axis=1)[:, None]).T
    assert retrieval(x, y).forward == np.mean(cosines.argmax(axis=1) == [0, 1, 2]) == pytest.approx(2 / 3)
    assert retrieval(x, y).backward == np.mean(cosines.argmax(axis=0) == [0, 1, 2]) == 1
    assert retrieval(y, x) == retrieval(x, y)[::-1]


def test_a_planted_direction_of_the_language_is_found_and_shuffled_labels_are_not(draw):
    sentences = np.tile(np.arange(150), 2)
    languages = np.repeat(["gl", "pt"], 150)
    meaning = draw.normal(size=(150, 10))[sentences]
    vectors = meaning + 0.1 * draw.normal(size=(300, 10))
    planted = vectors + 4 * np.outer(languages == "pt", draw.normal(size=10))
    assert language_probe(planted, languages, sentences) == (1, 0.5)
    shuffled = draw.permutation(languages)
    assert abs(language_probe(planted, shuffled, sentences).accuracy - 0.5) < 0.1
    assert language_probe(planted, languages, sentences) == language_probe(planted, languages, sentences)


def test_a_translation_never_gives_a_sentence_away(draw):
    # Each sentence has a label at random, the same in all its copies: known copies would give it away.
    sentences = np.repeat(np.arange(80), 4)
    languages = np.where(draw.random(80) < 0.5, "gl", "pt")[sentences]
    vectors = 50 * draw.normal(size=(80, 100))[sentences]
    found = language_probe(vectors, languages, sentences)
    assert abs(found.accuracy - 0.5) < 0.2
    assert found.chance == max((languages == "gl").mean(), (languages == "pt").mean())


def test_bad_input_is_named():
    x = np.eye(5)
    with pytest.raises(NmtlabError, match="vectors of 5 and 4 sentences; give those of the same 4 sentences or more"):
        debiased_cka(x, x[:4])
    with pytest.raises(NmtlabError, match="vectors of 3 and 3 sentences"):
        debiased_cka(x[:3], x[:3])
    for same in (x, np.ones((5, 2))):
        with pytest.raises(NmtlabError, match="all vectors of a language are equally far apart"):
            debiased_cka(same, np.arange(5)[:, None])
    with pytest.raises(NmtlabError, match="vectors of 5 and 2 units"):
        retrieval(x, x[:, :2])
    with pytest.raises(NmtlabError, match="5 vectors, 5 languages, 4 sentences"):
        language_probe(x, ["a"] * 5, range(4))
    with pytest.raises(NmtlabError, match="1 languages, 5 sentences; give 2 languages and 5 sentences"):
        language_probe(x, ["a"] * 5, range(5))
