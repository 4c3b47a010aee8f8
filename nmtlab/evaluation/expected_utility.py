"""The expected score of each of several translations, if any of them may be the reference (minimum Bayes risk)."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from sacrebleu.metrics import CHRF
from sacrebleu.metrics.bleu import MAX_NGRAM_ORDER
from scipy.sparse import csr_matrix


def expected_chrf(texts: Sequence[str]) -> np.ndarray:
    """Return `expected_utility` by chrF."""
    return expected_utility(texts, pairwise_chrf)


def expected_utility(texts: Sequence[str], pairwise: Callable[[Sequence[str]], np.ndarray]) -> np.ndarray:
    """Return the mean sentence score, 0 to 100, of each text with all of them, itself included, as references.

    With samples of a model it estimates the expected score under the model (Eikema and Aziz 2022).

    Args:
        texts: one or more; one that occurs twice counts twice.
        pairwise: `pairwise_chrf`, or `pairwise_bleu` with its words.
    """
    distinct, place, count = np.unique(np.array(texts, dtype=object), return_inverse=True, return_counts=True)
    return (pairwise(distinct.tolist()) @ (count / len(texts)))[place]


def pairwise_chrf(texts: Sequence[str]) -> np.ndarray:
    """Return the sentence chrF of each text with each as its reference, (hypotheses, references), as sacrebleu's.

    Blank texts have 100 with each other, unlike sacrebleu's, and 0 with all others.
    """
    squeezed = ["".join(text.split()) for text in texts]
    precision, recall, orders = np.zeros((3, len(texts), len(texts)))
    for order in range(1, CHRF.CHAR_ORDER + 1):
        size = np.array([max(0, len(text) - order + 1) for text in squeezed])
        counted = (size[:, None] > 0) & (size > 0)
        matches = np.where(counted, _matches(squeezed, order), 0)
        precision += matches / np.maximum(size, 1)[:, None]
        recall += matches / np.maximum(size, 1)
        orders += counted
    precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
    weighted = CHRF.BETA**2 * precision + recall
    score = (1 + CHRF.BETA**2) * precision * recall / np.where(weighted > 0, weighted, 1)
    blank = np.array([not text for text in squeezed])
    return 100 * np.where(blank[:, None] & blank, 1, score)


def pairwise_bleu(texts: Sequence[str], split: Callable[[str], Sequence[str]]) -> np.ndarray:
    """Return the sentence BLEU of each text with each as its reference, (hypotheses, references).

    It is that of `scores.sentence_bleu_metric`, but two texts without a word have 100.

    Args:
        split: into words, as `scores.bleu_words`.
    """
    words = [tuple(split(text)) for text in texts]
    sizes = np.array([len(text) for text in words])
    logs = np.minimum(1 - sizes / np.maximum(sizes, 1)[:, None], 0)  # of the brevity penalty
    for order in range(1, MAX_NGRAM_ORDER + 1):
        added = int(order > 1)
        total = np.maximum(sizes - order + 1, 1 - added) + added
        with np.errstate(divide="ignore"):
            logs += np.log((_matches(words, order) + added) / total[:, None]) / MAX_NGRAM_ORDER
    blank = sizes == 0
    return 100 * np.where(blank[:, None] & blank, 1, np.exp(logs))


def _matches(texts: Sequence[Sequence[Hashable]], order: int) -> np.ndarray:
    """Return how many n-grams, of characters or words, each two texts share, (texts, texts).

    The smaller of two counts is how many numbers are in both 1, ..., m and 1, ..., n: a column for each numbered n-gram
    makes it a product of matrices.
    """
    columns: dict[tuple[Hashable, int], int] = {}
    found = []
    for text in texts:
        seen: Counter[Hashable] = Counter()
        for begin in range(len(text) - order + 1):
            gram = text[begin : begin + order]
            seen[gram] += 1
            found.append(columns.setdefault((gram, seen[gram]), len(columns)))
    ends = np.cumsum([0, *(max(0, len(text) - order + 1) for text in texts)])
    counts = csr_matrix((np.ones(len(found)), found, ends), shape=(len(texts), max(len(columns), 1)))
    return (counts @ counts.T).toarray()
