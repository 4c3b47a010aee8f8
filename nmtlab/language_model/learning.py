"""Learning of an n-gram language model: the files that sil-thot reads, `lm` with counts and `lm.weights`.

A sentence is a sequence of tokens without white space.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import exp, log
from pathlib import Path

import numpy as np
from machine.optimization import NelderMeadSimplex
from thot.common import NGramLanguageModel

COUNTS = "lm"
"""The file of n-gram counts."""
WEIGHTS = "lm.weights"
"""The file of interpolation weights."""
BUCKETS = 3
"""Weights of each order, for contexts seen 0 to 9 times, 10 to 19 times, and more."""

_BUCKET_SIZE = 10
_WORST = 1e6


def learn_language_model(
    folder: Path, sentences: Iterable[Sequence[str]], order: int, vocabulary: Collection[str] | None = None
) -> None:
    """Write the n-gram counts of sentences, and initial interpolation weights, all 0.5.

    Args:
        folder: where to write.
        sentences: tokens of each; read once.
        order: tokens of the longest n-gram, at least 1.
        vocabulary: all words that the model knows, seen or not; every other one counts as unknown. If there is none,
            a word is known that was seen in an earlier sentence, which gives unknown words their probability.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    known = set(vocabulary or ())
    for sentence in sentences:
        words = ["<s>", *(word if word in known else "<unk>" for word in sentence), "</s>"]
        if vocabulary is None:
            known.update(sentence)
        counts.update(tuple(words[i : i + n]) for n in range(1, order + 1) for i in range(len(words) - n + 1))
    if counts and vocabulary is not None:
        counts.update(dict.fromkeys([(word,) for word in ("<unk>", *vocabulary)], 0))  # they are types, if unseen
    words_in_all = sum(count for ngram, count in counts.items() if len(ngram) == 1)
    lines = (
        f"{' '.join(ngram)} {counts[ngram[:-1]] if ngram[:-1] else words_in_all} {count}\n"
        for ngram, count in sorted(counts.items(), key=lambda entry: (len(entry[0]), entry[0]))
    )
    (folder / COUNTS).write_text("".join(lines), encoding="utf-8")
    write_language_model_weights(folder, order, [0.5] * BUCKETS * order)


def write_language_model_weights(folder: Path, order: int, weights: Iterable[float]) -> None:
    """Write the interpolation weights of n-grams of each order, (BUCKETS * order,) numbers in (0, 1)."""
    written = " ".join(f"{weight:.6f}" for weight in weights)
    (folder / WEIGHTS).write_text(f"{order} {BUCKETS} {_BUCKET_SIZE} {written}\n", encoding="utf-8")


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
        model.load(str(folder / COUNTS))
        total = sum(model.get_sentence_log_probability(list(sentence)) for sentence in sentences)
        model.clear()
        return exp(min(-total * log(10) / sum(len(sentence) + 1 for sentence in sentences), log(_WORST)))

    simplex = NelderMeadSimplex(convergence_tolerance=0.1, max_function_evaluations=200, scale=0.3)
    found = simplex.find_minimum(perplexity, [0.5] * BUCKETS * order)
    write_language_model_weights(folder, order, found.minimizing_point)
