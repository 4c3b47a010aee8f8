"""Reranking against loops over all candidates, and line search against a fine grid."""

import numpy as np
import pytest

from nmtlab.evaluation.resampling import corpus_score, sentence_statistics
from nmtlab.evaluation.scores import bleu_metric, chrf_metric
from nmtlab.search.rerank import best_candidates, best_weight, tuned_weights

WORDS = np.array("the a cat dog sat ran on mat red".split())


def drawn_lists(seed, sentences=8, most=6, features=3, metric=None):
    """Return features, lines, statistics and score of lists of random translations with random references."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, most + 1, sentences)
    lines = np.repeat(np.arange(sentences), sizes)
    texts = [" ".join(generator.choice(WORDS, generator.integers(4, 9))) for _ in lines]
    references = [" ".join(generator.choice(WORDS, 6)) for _ in range(sentences)]
    metric = metric or bleu_metric()
    (statistics,) = sentence_statistics([texts], [[references[line] for line in lines]], metric)
    return generator.normal(size=(len(lines), features)), lines, statistics, corpus_score(metric)


def by_loop(scores, lines):
    best = {}
    for place, (score, line) in enumerate(zip(scores, lines, strict=True)):
        if line not in best or score > scores[best[line]]:
            best[line] = place
    return [best[line] for line in sorted(best)]


@pytest.mark.parametrize("seed", range(5))
def test_the_best_candidates_are_those_of_a_loop_over_all(seed):
    features, lines, _, _ = drawn_lists(seed)
    scores = features.round(0) @ [1, 0.5, -2]  # rounded, so that some are equal
    assert best_candidates(scores, lines).tolist() == by_loop(scores, lines)


def test_with_one_weight_the_first_feature_decides():
    features, lines, _, _ = drawn_lists(1)
    assert best_candidates(features @ [1, 0, 0], lines).tolist() == by_loop(features[:, 0], lines)


@pytest.mark.full
@pytest.mark.parametrize("metric", [bleu_metric(), chrf_metric()])
@pytest.mark.parametrize("seed", range(4))
def test_no_weight_of_a_fine_grid_is_better_than_the_one_found(seed, metric):
    features, lines, statistics, score = drawn_lists(seed, metric=metric)
    offsets, slopes = features[:, 0], features[:, 1]

    def reached(weight):
        return score(statistics[best_candidates(offsets + weight * slopes, lines)].sum(0).tolist())

    weight, best = best_weight(offsets, slopes, lines, statistics, score)
    assert reached(weight) == pytest.approx(best)
    grid = np.concatenate([np.linspace(-5, 5, 2001), np.linspace(-500, 500, 401)])
    assert max(map(reached, grid)) <= best + 1e-9


def test_a_feature_that_is_the_same_in_all_candidates_keeps_its_weight():
    features, lines, statistics, score = drawn_lists(2)
    weight, _ = best_weight(features[:, 0], np.ones(len(lines)), lines, statistics, score, now=0.7)
    assert weight == 0.7


def test_tuning_never_lowers_the_score_and_ends_where_no_single_weight_gains():
    for seed in range(3):
        features, lines, statistics, score = drawn_lists(seed, sentences=12)
        start = np.array([1.0, 0.0, 0.0])

        def reached(weights, of=(features, lines, statistics, score)):
            features, lines, statistics, score = of
            return score(statistics[best_candidates(features @ weights, lines)].sum(0).tolist())

        weights = tuned_weights(features, lines, statistics, score, start)
        assert weights[0] == 1
        assert reached(weights) > reached(start)
        for place in (1, 2):
            for value in np.linspace(-10, 10, 401):
                assert reached(np.where(np.arange(3) == place, value, weights)) <= reached(weights) + 1e-9


def test_a_single_feature_has_nothing_to_tune():
    features, lines, statistics, score = drawn_lists(3, features=1)
    assert tuned_weights(features, lines, statistics, score, np.array([1.0])).tolist() == [1]
