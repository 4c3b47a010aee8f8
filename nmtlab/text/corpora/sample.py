"""Samples of a text, drawn by the hashes of its sentences and stratified by length.

The first lines are no sample of a text that is sorted, by document, source or length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nmtlab.text.corpora.cleaning import digest
from nmtlab.text.corpora.context import apart
from nmtlab.text.corpora.corpus import Pair, ParallelCorpus

_STRATA = 10

T = TypeVar("T")


@dataclass(frozen=True)
class Sample:
    """Sentence pairs drawn from a text.

    Args:
        lines: their numbers in the text, from 1, ascending.
        pairs: the pairs of these lines.
    """

    lines: list[int]
    pairs: list[Pair]

    @property
    def sources(self) -> list[str]:
        """Return the source sentences."""
        return [source for source, _ in self.pairs]

    @property
    def targets(self) -> list[str]:
        """Return the target sentences."""
        return [target for _, target in self.pairs]

    def of(self, text: Sequence[T]) -> list[T]:
        """Return what belongs to the sample of something that has one entry a line of the text."""
        return [text[line - 1] for line in self.lines]


def draw_sample(corpus: ParallelCorpus, split: str, size: int | None = None) -> Sample:
    """Draw sentence pairs of a text by their source sentences, as `drawn` does.

    Args:
        split: train, dev or test.
        size: number of pairs, at least 1; all if not given, or if there are no more.
    """
    pairs = list(corpus.pairs(split))
    sentences = [apart(source)[1] if corpus.context else source for source, _ in pairs]
    places = drawn(sentences, size)
    return Sample([place + 1 for place in places], [pairs[place] for place in places])


def draw_apart(corpora: Sequence[ParallelCorpus], split: str, size: int) -> list[list[Pair]]:
    """Draw sentence pairs of several texts so that no sentence is in them twice, in one sample or in two.

    The texts take turns, each with the next pair that `drawn` would take and neither sentence of which was taken, until
    one has no such pair left: all samples are of the same size.

    Args:
        split: train, dev or test.
        size: number of pairs of each text, at most.
    """
    taken: set[str] = set()
    waiting = [_new_pairs(corpus, split, taken) for corpus in corpora]
    samples: list[list[Pair]] = [[] for _ in corpora]
    for _ in range(size):
        turn = [pair for pairs in waiting if (pair := next(pairs, None))]
        if len(turn) < len(samples):
            break
        for sample, pair in zip(samples, turn, strict=True):
            sample.append(pair)
    return samples


def _new_pairs(corpus: ParallelCorpus, split: str, taken: set[str]) -> Iterator[Pair]:
    """Yield the pairs of a text in the order in which they are drawn, but none with a sentence that was taken."""
    pairs = list(corpus.pairs(split))
    for place in _order([source for source, _ in pairs]):
        if taken.isdisjoint(pairs[place]):
            taken.update(pairs[place])
            yield pairs[place]


def drawn(sentences: Sequence[str], size: int | None = None) -> list[int]:
    """Return the places, from 0 and ascending, of a sample of sentences.

    The tenths of the sentences by length, in characters, take turns; of each, the sentence with the smallest digest
    comes first. So a text has the same sample on every machine, a larger sample contains a smaller one, and all lengths
    have their share.

    Args:
        sentences: of a text; equal ones are told apart by their order.
        size: number of sentences; all if not given, or if there are no more.
    """
    if size is None or size >= len(sentences):
        return list(range(len(sentences)))
    return sorted(_order(sentences)[:size])


def _order(sentences: Sequence[str]) -> list[int]:
    """Return the places of all sentences in the order in which they are drawn."""
    digests = _digests(sentences)
    by_length = sorted(range(len(sentences)), key=lambda place: (len(sentences[place]), digests[place]))
    strata = [by_length[len(by_length) * n // _STRATA : len(by_length) * (n + 1) // _STRATA] for n in range(_STRATA)]
    turns = [
        (turn, digests[place], place)
        for stratum in strata
        for turn, place in enumerate(sorted(stratum, key=digests.__getitem__))
    ]
    return [place for _, _, place in sorted(turns)]


def _digests(sentences: Sequence[str]) -> list[bytes]:
    """Return a digest of each sentence and the number of equal ones before it."""
    seen: dict[str, int] = {}
    digests = []
    for sentence in sentences:
        before = seen[sentence] = seen.get(sentence, -1) + 1
        digests.append(digest(f"{before} {sentence}"))
    return digests
