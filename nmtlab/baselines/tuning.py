"""Tuning of weights on dev text by the simplex method of Nelder and Mead."""

from collections.abc import Callable, Sequence
from dataclasses import astuple
from math import exp, inf, log
from pathlib import Path

import numpy as np
from machine.optimization import NelderMeadSimplex
from thot.common import NGramLanguageModel

from nmtlab.baselines.decoder import Weights
from nmtlab.baselines.phrase_models import write_language_model_weights

_WORST = 1e6


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


def tune_language_model(folder: Path, sentences: Sequence[Sequence[str]], order: int) -> None:
    """Tune the language model's interpolation weights to the lowest perplexity of dev sentences, and write them.

    Args:
        folder: of the language model.
        sentences: tokens of dev text, one or more sentences, none empty.
        order: of the language model.
    """

    def perplexity(weights: np.ndarray, _: int) -> float:
        if (weights <= 0).any() or (weights >= 1).any():
            return _WORST
        write_language_model_weights(folder, order, weights)
        model = NGramLanguageModel()
        model.load(str(folder / "lm"))
        total = sum(model.get_sentence_log_probability(list(sentence)) for sentence in sentences)
        model.clear()
        return exp(min(-total * log(10) / sum(len(sentence) + 1 for sentence in sentences), log(_WORST)))

    simplex = NelderMeadSimplex(convergence_tolerance=0.1, max_function_evaluations=200, scale=0.3)
    found = simplex.find_minimum(perplexity, [0.5] * 3 * order)
    write_language_model_weights(folder, order, found.minimizing_point)
