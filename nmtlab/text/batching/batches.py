"""Batches of sentences of similar length, limited by padded tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nmtlab.text.batching.batch import Batch
from nmtlab.text.batching.curriculum import Curriculum
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.segmentation.vocabulary import PAD


@dataclass(frozen=True)
class Batches:
    """Training pairs in batches of one direction, rebuilt and reordered each epoch.

    All pairs are shuffled; windows of them are sorted by length and cut into batches; the batches of a window are
    shuffled. The order of an epoch depends only on `seed` and its number.

    Args:
        batch_tokens: maximum rows times the longer side, with EOS; a longer pair forms a batch of one.
        seed: seed of the order, 0 or more.
        window: number of pairs sorted together, 1 or more.
        max_sentences: maximum pairs in a batch (0: as many as batch_tokens allows).
        curriculum: leaves pairs out of the first epochs; None for none.
    """

    mixture: Mixture
    batch_tokens: int
    seed: int
    window: int = 50_000
    max_sentences: int = 0
    curriculum: Curriculum | None = None

    def count(self, number: int) -> int:
        """Return the number of batches of an epoch."""
        return sum(1 for _ in self._groups(number))

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch[np.ndarray]]:
        """Yield the batches of an epoch, which together have each of its pairs once, but for those of a curriculum.

        Args:
            number: number of the epoch, 0 or more.
            start: number of batches to skip, without reading their ids.
        """
        for index, pairs in enumerate(self._groups(number)):
            if index >= start:
                yield self.mixture.batch(pairs)

    def _groups(self, number: int) -> Iterator[np.ndarray]:
        random = np.random.Generator(np.random.PCG64DXSM([self.seed, number]))
        for window in self.mixture.windows(random, self.window, number):
            ready = self.curriculum.ready(window, number) if self.curriculum else window
            groups = [group for pairs in self.mixture.by_direction(ready) for group in self._cut(pairs)]
            for index in random.permutation(len(groups)):
                yield groups[index]

    def _cut(self, pairs: np.ndarray) -> list[np.ndarray]:
        sources, targets = self.mixture.lengths(pairs)
        longer = np.maximum(sources, targets)
        order = np.lexsort((sources, targets, longer))
        return [pairs[group] for group in _groups_within(longer, order, self.batch_tokens, self.max_sentences)]


def sorted_batches(lengths: Sequence[int] | np.ndarray, budget: int) -> list[np.ndarray]:
    """Return indices of `lengths` in groups by increasing length, each at most `budget` padded tokens.

    Args:
        lengths: sentence lengths in tokens.
        budget: maximum rows times the longest of a group; a longer sentence forms a group of one.
    """
    lengths = np.asarray(lengths)
    return _groups_within(lengths, np.argsort(lengths, kind="stable"), budget)


def pad(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Return id lists as one `(rows, longest)` int64 array, padded with PAD."""
    padded = np.full((len(rows), max(map(len, rows), default=0)), PAD, dtype=np.int64)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    return padded


def _groups_within(lengths: np.ndarray, order: np.ndarray, budget: int, max_sentences: int = 0) -> list[np.ndarray]:
    """Cut `order` before rows times the longest would exceed `budget`, or rows would exceed `max_sentences`.

    `lengths[order]` must increase; `max_sentences` 0 means no limit.
    """
    max_sentences = max_sentences or len(lengths)
    starts: list[int] = []
    begin = 0
    for index, length in enumerate(lengths[order].tolist()):
        rows = index - begin + 1
        if not starts or rows * length > budget or rows > max_sentences:
            begin = index
            starts.append(index)
    return np.split(order, starts[1:]) if starts else []
