"""Which sentences are in a text in nearly the same words?"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, islice, pairwise
from math import ceil

from nmtlab.errors import CorpusError
from nmtlab.languages import is_without_spaces
from nmtlab.text.corpora.corpus import ParallelCorpus

ALIKE = 0.7
"""The least share of the words of two similar sentences that are in both (Jaccard index)."""


class Similar:
    """Finds sentences in nearly the same words as others, by the Jaccard index of their words.

    Words are runs of letters and digits, whatever their case, order and number; in a language written without spaces,
    pairs of neighbouring letters. A similar sentence has one of a sentence's rarest words, so that few need to be
    compared (prefix filtering: Chaudhuri, Ganti and Kaushik 2006).

    Args:
        lines: sentences, held in memory; those without words are similar to none.
        language: its code.
        alike: the smallest Jaccard index, above 0 and at most 1.

    Raises:
        CorpusError: `alike` is out of range.
    """

    def __init__(self, lines: Iterable[str], language: str, alike: float = ALIKE) -> None:
        if not 0 < alike <= 1:
            raise CorpusError(f"similarity is {alike}", "give a share above 0 and at most 1")
        self._spaced = not is_without_spaces(language)
        self._least = Fraction(str(alike))
        self._sets = [self._words(line) for line in lines]
        self._having = defaultdict[str, list[int]](list)
        frequency = Counter(word for words in self._sets for word in words)
        for number, words in enumerate(self._sets):
            rarest = sorted(words, key=lambda word: (frequency[word], word))
            for word in rarest[: len(words) - ceil(self._least * len(words)) + 1]:
                self._having[word].append(number)

    def to(self, line: str, besides: Sequence[bool] = ()) -> Iterator[int]:
        """Yield the indices of the sentences that are similar to `line`, without those marked in `besides`."""
        words = self._words(line)
        for number in {number for word in words for number in self._having.get(word, ())}:
            if not (besides and besides[number]) and self._alike(words, self._sets[number]):
                yield number

    def has(self, line: str) -> bool:
        """Return whether any of the sentences is similar to `line`."""
        return any(True for _ in self.to(line))

    def _alike(self, one: frozenset[str], other: frozenset[str]) -> bool:
        """Return whether two sets are similar; in whole numbers, and only compared if their sizes allow it."""
        share, of = self._least.numerator, self._least.denominator
        shorter, longer = sorted((len(one), len(other)))
        if shorter * of < share * longer:
            return False
        common = len(one & other)
        return common * of >= share * (shorter + longer - common)

    def _words(self, line: str) -> frozenset[str]:
        words = re.findall(r"\w+", line.casefold())
        if self._spaced:
            return frozenset(words)
        return frozenset(chain.from_iterable(map("".join, pairwise(word)) if word[1:] else [word] for word in words))


def similar(lines: Sequence[str], train: Iterable[str], language: str, alike: float = ALIKE) -> list[bool]:
    """Return, for each line, whether a training sentence is `Similar`.

    Args:
        lines, language, alike: as of `Similar`.
        train: training sentences, read once.
    """
    finder, found = Similar(lines, language, alike), [False] * len(lines)
    for line in train:
        for number in finder.to(line, found):
            found[number] = True
    return found


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
        found = iter(similar(list(chain.from_iterable(lines.values())), corpus.lines("train", language), language))
        shares |= {(split, language): sum(islice(found, len(some))) / len(some) for split, some in lines.items()}
    return shares
