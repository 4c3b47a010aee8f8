"""Scores of several systems on resampled test sets: the same sentences for all, and sacrebleu's own arithmetic."""

from collections.abc import Callable, Sequence
from copy import copy

import numpy as np
from sacrebleu.metrics.base import Metric

from nmtlab.errors import CorpusError
from nmtlab.evaluation.scores import check_parallel

_SEED = 12345


def sentence_statistics(
    systems: Sequence[Sequence[str]], references: Sequence[Sequence[str]], metric: Metric
) -> np.ndarray:
    """Return what a metric counts in each sentence, such as matching n-grams; a corpus score needs only the sums.

    Args:
        systems: hypotheses of each system (or of each seed of each system), one per sentence.
        references: one or more sets, each with one reference per hypothesis.
        metric: `bleu_metric(...)`, `tokenized_bleu_metric()` or `chrf_metric()`.

    Returns:
        (systems, sentences, counts), whole numbers.

    Raises:
        CorpusError: no system, nothing to score, or hypotheses and references differ in number.
    """
    if not systems:
        raise CorpusError("0 systems: nothing to resample", "give the translations of at least one")
    for hypotheses in systems:
        check_parallel(hypotheses, references)
    # sacrebleu would prepare the references anew for each system; it takes them from here if none are given.
    prepared = copy(metric)
    prepared._ref_cache = prepared._cache_references(references)
    return np.array([prepared._extract_corpus_statistics(hypotheses, None) for hypotheses in systems])


def corpus_score(metric: Metric) -> Callable[[list[int]], float]:
    """Return the function from the sums of `sentence_statistics` to the metric's score."""
    return lambda sums: metric._compute_score_from_stats(sums).score


def drawn_test_sets(sentences: int, draws: int = 1000) -> np.ndarray:
    """Return how often each sentence is in each of the resampled test sets, which are the same in every call.

    Args:
        sentences: in the test set, and in each drawn one.
        draws: number of test sets.

    Returns:
        (draws, sentences), whole numbers.
    """
    return np.random.default_rng(_SEED).multinomial(sentences, np.full(sentences, 1 / sentences), size=draws)


def resampled_scores(statistics: np.ndarray, score: Callable[[list[int]], float], draws: int = 1000) -> np.ndarray:
    """Return the scores of systems on resampled test sets, each drawn once for all of them (Koehn 2004).

    Args:
        statistics: (systems, sentences, counts), whole numbers; of `sentence_statistics`, or such as the right words
            and the words of each sentence.
        score: from the sums of the counts to a score: `corpus_score(metric)`, or such as right words by words.
        draws: number of test sets.

    Returns:
        (draws, systems), in points of the score.
    """
    systems, sentences, counts = statistics.shape
    by_sentence = statistics.transpose(1, 0, 2).reshape(sentences, systems * counts)
    # Floats multiply faster, and hold sums of whole numbers exactly up to 2 to the power of 53.
    sums = drawn_test_sets(sentences, draws).astype(float) @ by_sentence.astype(float)
    numbers = sums.astype(int).reshape(draws, systems, counts).tolist()
    return np.array([[score(one) for one in drawn] for drawn in numbers])
