"""Tuning of weights on dev text by the simplex method of Nelder and Mead."""

from collections.abc import Callable
from dataclasses import astuple
from math import inf

import numpy as np
from machine.optimization import NelderMeadSimplex

from nmtlab.baselines.decoder import Weights


def tune_weights(bleu: Callable[[Weights], float], evaluations: int) -> Weights:
    """Return the weights with the highest BLEU found.

    The simplex searches over the logarithms of the weights: only their ratios matter, and none changes its sign.

    Args:
        bleu: returns BLEU of the dev text decoded with given weights, 0 to 100.
        evaluations: most calls of `bleu`, give or take a few.
    """
    start = np.array(astuple(Weights()))
    best, best_bleu = Weights(), -inf

    def error(exponents: np.ndarray, _: int) -> float:
        nonlocal best, best_bleu
        weights = Weights(*(start * np.exp2(exponents)).tolist())
        value = bleu(weights)
        if value > best_bleu:
            best, best_bleu = weights, value
        return -value

    if evaluations:
        simplex = NelderMeadSimplex(
            convergence_tolerance=0.01, max_function_evaluations=max(1, evaluations - len(start) - 1), scale=1.0
        )
        simplex.find_minimum(error, np.zeros(len(start)))
    return best
