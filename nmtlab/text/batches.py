"""Batches of about equally long sentences, cut by padded tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nmtlab.text.batch import Batch, batch_of
from nmtlab.text.encoded import EncodedCorpus
from nmtlab.text.vocabulary import PAD


@dataclass(frozen=True)
class Batches:
    """The training pairs in batches, cut anew and in another order each epoch.

    All pairs are shuffled; windows of them are sorted by length and cut; the batches of a window are shuffled. The
    order of an epoch follows from `seed` and its number alone.

    Args:
        encoded: the pairs.
        batch_tokens: most rows times the longer side, EOS included; a pair longer than this is a batch by itself.
        seed: of the order, 0 or more.
        window: number of pairs that are sorted together, 1 or more.
        max_sentences: most pairs in a batch (0: as many as its tokens allow).
    """

    encoded: EncodedCorpus
    batch_tokens: int
    seed: int
    window: int = 50_000
    max_sentences: int = 0

    def count(self, number: int) -> int:
        """Return the number of batches of an epoch."""
        return sum(1 for _ in self._groups(number))

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch[np.ndarray]]:
        """Yield the batches of an epoch, each pair in one of them.

        Args:
            number: of the epoch, 0 or more.
            start: how many batches to pass over; their ids are not read.
        """
        for place, pairs in enumerate(self._groups(number)):
            if place >= start:
                yield self._batch(pairs)

    def _batch(self, pairs: np.ndarray) -> Batch[np.ndarray]:
        encoded = self.encoded
        return batch_of(
            encoded.source_side.padded(pairs),
            encoded.target_side.padded(pairs),
            source_language=encoded.source_language,
            target_language=encoded.target_language,
        )

    def _groups(self, number: int) -> Iterator[np.ndarray]:
        random = np.random.Generator(np.random.PCG64DXSM([self.seed, number]))
        order = np.arange(len(self.encoded), dtype=np.uint32)
        random.shuffle(order)
        for begin in range(0, len(order), self.window):
            groups = self._cut(order[begin : begin + self.window])
            for place in random.permutation(len(groups)):
                yield groups[place]

    def _cut(self, pairs: np.ndarray) -> list[np.ndarray]:
        sources = self.encoded.source_lengths[pairs]
        targets = self.encoded.target_lengths[pairs]
        longer = np.maximum(sources, targets)
        order = np.lexsort((sources, targets, longer))
        return [pairs[group] for group in _groups_within(longer, order, self.batch_tokens, self.max_sentences)]


def sorted_batches(lengths: Sequence[int] | np.ndarray, budget: int) -> list[np.ndarray]:
    """Return the places of `lengths` in groups of rising length, rows times the longest of each at most `budget`.

    Args:
        lengths: of the sentences, in tokens.
        budget: most padded tokens of a group; a longer sentence is a group by itself.
    """
    lengths = np.asarray(lengths)
    return _groups_within(lengths, np.argsort(lengths, kind="stable"), budget)


def pad(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Return id lists as one `(rows, longest)` int64 array, filled up with PAD."""
    padded = np.full((len(rows), max(map(len, rows), default=0)), PAD, dtype=np.int64)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    return padded


def _groups_within(lengths: np.ndarray, order: np.ndarray, budget: int, max_sentences: int = 0) -> list[np.ndarray]:
    """Cut `order` where the next row would bring rows times the longest over `budget`, or rows over `max_sentences`.

    `lengths[order]` rises; `max_sentences` 0 means any number.
    """
    max_sentences = max_sentences or len(lengths)
    starts = []
    begin = 0
    for place, length in enumerate(lengths[order].tolist()):
        rows = place - begin + 1
        if not starts or rows * length > budget or rows > max_sentences:
            begin = place
            starts.append(place)
    return np.split(order, starts[1:]) if starts else []
