"""Sentences that the training text has in nearly the same words: they make a system that memorises look good."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain, islice
from math import ceil

from nmtlab.text.corpora.corpus import ParallelCorpus

ALIKE = 0.7
"""The least share of the words of two similar sentences that are in both (Jaccard index)."""


def shares_similar(corpus: ParallelCorpus) -> dict[tuple[str, str], float]:
    """Return the share, 0 to 1, of dev and of test that has a `similar` training sentence, by split and language.

    Raises:
        CorpusError: a split cannot be read.
    """
    held_out = [split for split in corpus.splits if split != "train"]
    if "train" not in corpus.splits:
        return {}
    shares: dict[tuple[str, str], float] = {}
    for language in corpus.direction:
        lines = {split: list(corpus.lines(split, language)) for split in held_out}
        found = iter(similar(list(chain.from_iterable(lines.values())), corpus.lines("train", language)))
        shares |= {(split, language): sum(islice(found, len(some))) / len(some) for split, some in lines.items()}
    return shares


def similar(lines: Sequence[str], train: Iterable[str], alike: float = ALIKE) -> list[bool]:
    """Return, for each line, whether a training sentence is similar, by the Jaccard index of their words.

    Words are runs of letters and digits, whatever their case, order and number. A similar sentence has one of the
    line's rarest words, so that few need to be compared (prefix filtering: Chaudhuri, Ganti and Kaushik 2006).

    Args:
        lines: sentences; those without words are similar to none.
        train: training sentences, read once.
        alike: the smallest Jaccard index, above 0 and at most 1.
    """
    least = Fraction(str(alike))
    sets = [_words(line) for line in lines]
    frequency = Counter(word for words in sets for word in words)
    having = defaultdict[str, list[int]](list)
    for number, words in enumerate(sets):
        rarest = sorted(words, key=lambda word: (frequency[word], word))
        for word in rarest[: len(words) - ceil(least * len(words)) + 1]:
            having[word].append(number)
    found = [False] * len(sets)
    for line in train:
        words = _words(line)
        for number in {number for word in words for number in having.get(word, ()) if not found[number]}:
            found[number] = len(words & sets[number]) >= least * len(words | sets[number])
    return found


def _words(line: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", line.casefold()))
