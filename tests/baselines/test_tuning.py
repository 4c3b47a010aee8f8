"""Tuning of a phrase-based system's weights."""

from dataclasses import astuple
from math import log2

from nmtlab.baselines.decoder import Weights
from nmtlab.baselines.tuning import tune_weights

BEST = Weights(-6.0, 1.0, 2.0, 0.05, 1.0, 2.0, 0.5)


def bleu(weights: Weights) -> float:
    """Return a score that is highest at `BEST`, and falls with the distance of the logarithms."""
    return -sum(log2(one / best) ** 2 for one, best in zip(astuple(weights), astuple(BEST), strict=True))


def test_the_simplex_climbs_towards_the_weights_with_the_highest_score():
    assert bleu(Weights()) == -5
    assert bleu(tune_weights(bleu, 200)) > -0.5


def test_of_the_weights_that_were_tried_the_best_are_returned():
    tried: dict[Weights, float] = {}
    found = tune_weights(lambda weights: tried.setdefault(weights, bleu(weights)), 20)
    assert tried[found] == max(tried.values())
    assert len(tried) <= 25


def test_without_evaluations_the_weights_are_the_usual_ones():
    assert tune_weights(bleu, 0) == Weights()
