"""Scores of several systems on the same resampled test sets, and paired bootstrap tests, by sacrebleu's arithmetic."""

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from sacrebleu.metrics import TER
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import estimate_ci

from nmtlab.errors import CorpusError
from nmtlab.evaluation.scores import check_parallel

_SEED = 12345

_FEWEST = 6
"""Sentences that can decide anything: if five of five agree, a two-sided sign test still has a p of 0.06."""


def sentence_statistics(
    systems: Sequence[Sequence[str]], references: Sequence[Sequence[str]], metric: Metric
) -> np.ndarray:
    """Return what a metric counts in each sentence, such as matching n-grams; a corpus score needs only the sums.

    Args:
        systems: hypotheses of each system (or of each seed of each system), one per sentence.
        references: one or more sets, each with one reference per hypothesis.
        metric: `bleu_metric(...)`, `tokenized_bleu_metric()` or `chrf_metric()`.

    Returns:
        (systems, sentences, counts), whole numbers; of TER with several references, their mean lengths.

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


def corpus_score(metric: Metric) -> Callable[[list[float]], float]:
    """Return the function from the sums of `sentence_statistics` to the metric's score."""
    return lambda sums: metric._compute_score_from_stats(sums).score


@lru_cache(maxsize=1)
def drawn_test_sets(sentences: int, draws: int = 1000) -> np.ndarray:
    """Return how often each sentence is in each of the resampled test sets, which are the same in every call.

    Returns:
        (draws, sentences), whole numbers, read-only: drawing takes longer than most of what is done with them.
    """
    drawn = np.random.default_rng(_SEED).multinomial(sentences, np.full(sentences, 1 / sentences), size=draws)
    drawn.flags.writeable = False
    return drawn


def resampled_scores(statistics: np.ndarray, score: Callable[[list[float]], float], draws: int = 1000) -> np.ndarray:
    """Return the scores of systems on resampled test sets, each drawn once for all of them (Koehn 2004).

    Args:
        statistics: (systems, sentences, counts); of `sentence_statistics`, or such as the right words and the words of
            each sentence.
        score: from the sums of the counts to a score: `corpus_score(metric)`, or such as right words by words.

    Returns:
        (draws, systems), in points of the score.
    """
    systems, sentences, counts = statistics.shape
    by_sentence = statistics.transpose(1, 0, 2).reshape(sentences, systems * counts)
    # Floats multiply faster, and hold sums of whole numbers exactly up to 2 to the power of 53.
    sums = drawn_test_sets(sentences, draws).astype(float) @ by_sentence.astype(float)
    numbers = sums.astype(statistics.dtype).reshape(draws, systems, counts).tolist()
    return np.array([[score(one) for one in drawn] for drawn in numbers])


class Counted(NamedTuple):
    """What a metric counts in each sentence of each system, and how it scores the sums.

    Args:
        metric: its title.
        statistics: (systems, sentences, counts).
        score: from the sums of the counts to a score.
        signature: how the score was computed.
        better: which scores are better, `higher` or `lower`.
    """

    metric: str
    statistics: np.ndarray
    score: Callable[[list[float]], float]
    signature: str
    better: Literal["higher", "lower"] = "higher"


def counted(
    title: str, systems: Sequence[Sequence[str]], references: Sequence[Sequence[str]], metric: Metric
) -> Counted:
    """Return what one of sacrebleu's metrics counts (`sentence_statistics`, which see)."""
    statistics = sentence_statistics(systems, references, metric)
    metric.num_refs = len(references)  # the signature has it, once something was scored
    better: Literal["higher", "lower"] = "lower" if isinstance(metric, TER) else "higher"
    return Counted(title, statistics, corpus_score(metric), str(metric.get_signature()), better)


def counted_scores(title: str, scores: Sequence[Sequence[float]], better: Literal["higher", "lower"]) -> Counted:
    """Return scores of sentences, one for each sentence of each system, as counts: their mean is the system's score."""
    given = np.array(scores, dtype=float)
    statistics = np.stack([given, np.ones_like(given)], axis=-1)
    return Counted(title, statistics, lambda sums: float(sums[0] / sums[1]), "mean of the sentences", better)


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
    better: Literal["higher", "lower"]


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
        metric: `bleu_metric(...)`, `chrf_metric(...)`, `ter_metric(...)` or `tokenized_bleu_metric(...)`.
        samples: number of resampled test sets, at least 1.

    Raises:
        CorpusError: no system, nothing to score, or hypotheses and references differ in number.
    """
    if not systems:
        raise CorpusError("0 systems: nothing to compare", "give the baseline, then the systems")
    return compared(list(systems), counted("", list(systems.values()), references, metric), samples)


def compared(systems: Sequence[str], counts: Counted, samples: int = 1000) -> list[Comparison]:
    """Compare systems with the first one as `paired_bootstrap` does.

    Args:
        systems: names of the systems of `counts`.
    """
    scores = [counts.score(sums) for sums in counts.statistics.sum(axis=1).tolist()]
    seed, drawn = _bootstrapped(counts, samples)
    references, *rest = counts.signature.split("|")
    signature = "|".join([references, f"bs:{samples}", f"seed:{seed}", *rest])
    found = []
    for place, (system, score) in enumerate(zip(systems, scores, strict=True)):
        mean, margin = estimate_ci(drawn[:, place])
        found.append(
            Comparison(
                system=system,
                score=score,
                mean=float(mean),
                margin=float(margin),
                difference=score - scores[0],
                p=_p(drawn[:, place] - drawn[:, 0], score - scores[0], counts.statistics.shape[1]) if place else None,
                signature=signature,
                better=counts.better,
            )
        )
    return found


def _bootstrapped(counts: Counted, samples: int) -> tuple[str, np.ndarray]:
    """Return sacrebleu's seed, and the scores on the test sets that it draws, (samples, systems)."""
    seed = os.environ.get("SACREBLEU_SEED", "12345").lower()
    generator = np.random.default_rng(None if seed == "none" else int(seed))
    systems, sentences, kinds = counts.statistics.shape
    by_sentence = counts.statistics.transpose(1, 0, 2).reshape(sentences, -1).astype(float)
    drawn = np.empty((samples, systems))
    for sample in drawn:
        sums = by_sentence[generator.choice(sentences, size=sentences)].sum(axis=0)
        # sacrebleu computes with single precision
        sample[:] = [counts.score(one) for one in sums.astype("float32").reshape(systems, kinds)]
    return seed, drawn


def _p(differences: np.ndarray, real: float, sentences: int) -> float:
    # A difference of at least 0 is certain, but sacrebleu counts strictly larger ones only: identical systems would get
    # the smallest p. So would a few sentences, of which no sample differs enough.
    if real == 0 or sentences < _FEWEST:
        return 1.0
    sizes = np.abs(differences)
    return float(((sizes - sizes.mean() > abs(real)).sum() + 1) / (len(sizes) + 1))
