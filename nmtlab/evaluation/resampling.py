"""Scores of several systems on the same resampled test sets, and paired bootstrap tests, by sacrebleu's arithmetic."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest, Result

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

    Returns:
        (draws, systems), in points of the score.
    """
    systems, sentences, counts = statistics.shape
    by_sentence = statistics.transpose(1, 0, 2).reshape(sentences, systems * counts)
    # Floats multiply faster, and hold sums of whole numbers exactly up to 2 to the power of 53.
    sums = drawn_test_sets(sentences, draws).astype(float) @ by_sentence.astype(float)
    numbers = sums.astype(int).reshape(draws, systems, counts).tolist()
    return np.array([[score(one) for one in drawn] for drawn in numbers])


@dataclass(frozen=True)
class Comparison:
    """A system compared with the baseline; all but `p` in the metric's points.

    `mean` and `margin` describe the resampled scores: 95 % of them lie in an interval of width 2 · margin.
    `p` is sacrebleu's, None for the baseline. Subtract their mean from the absolute differences on the resampled test
    sets: p is the share above the absolute difference on the original test set (Riezler and Maxwell 2005), with one
    more sample counted as above. A small p is close to Koehn's one-sided test (2004), the share of test sets on which
    the better system is not better; it is half the p of a two-sided test.
    """

    system: str
    score: float
    mean: float
    margin: float
    difference: float
    p: float | None
    signature: str


def paired_bootstrap(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    metric: Metric,
    samples: int = 1000,
) -> list[Comparison]:
    """Compare systems with a baseline by paired bootstrap resampling, with sacrebleu's p (see `Comparison`).

    Every call draws the same samples. The environment variable SACREBLEU_SEED changes them; the signature has the seed.

    Args:
        systems: name -> one hypothesis per sentence; the first system is the baseline.
        references: one or more sets, each with one reference per hypothesis.
        metric: `bleu_metric(...)`, `tokenized_bleu_metric()` or `chrf_metric()`.
        samples: number of resampled test sets, at least 1.

    Raises:
        CorpusError: no system, nothing to score, or hypotheses and references differ in number.
    """
    if not systems:
        raise CorpusError("0 systems: nothing to compare", "give the baseline, then the systems")
    for hypotheses in systems.values():
        check_parallel(hypotheses, references)
    test = PairedTest(list(systems.items()), {"metric": metric}, references, test_type="bs", n_samples=samples)
    signatures, columns = test()
    ((name, signature),) = signatures.items()
    baseline = columns[name][0]
    return [
        Comparison(
            system=system,
            score=result.score,
            mean=float(result.mean),
            margin=float(result.ci),
            difference=result.score - baseline.score,
            p=_p(result, baseline),
            signature=str(signature),
        )
        for system, result in zip(columns["System"], columns[name], strict=True)
    ]


def _p(result: Result, baseline: Result) -> float | None:
    if result is baseline:
        return None
    # A difference of at least 0 is certain, but sacrebleu counts strictly larger ones only: identical systems would get
    # the smallest p.
    return 1.0 if result.score == baseline.score else result.p_value
