"""The batches of a training, epoch after epoch."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from nmtlab.text.batching.batch import Batch
from nmtlab.text.batching.batches import Batches


class BatchStream:
    """An endless stream of batches that can be resumed from any position.

    Args:
        batches: of a training text.
        epoch: the pass over the text, from 0.
        batch: how many of the epoch's `size` batches have been taken.
    """

    def __init__(self, batches: Batches, epoch: int = 0, batch: int = 0) -> None:
        self.batches = batches
        self._begin(epoch, batch)

    @property
    def at_end(self) -> bool:
        """Whether this epoch is complete."""
        return self.batch == self.size

    @property
    def passes(self) -> int:
        """Complete passes over the text."""
        return self.epoch + self.at_end

    def take(self, count: int) -> list[Batch[np.ndarray]]:
        """Return the next `count` batches; fewer at the end of an epoch, which no update crosses."""
        if self.at_end:
            self._begin(self.epoch + 1)
        taken = list(islice(self._rest, count))
        self.batch += len(taken)
        return taken

    def __iter__(self) -> Iterator[Batch[np.ndarray]]:
        while True:
            yield from self.take(1)

    def _begin(self, epoch: int, batch: int = 0) -> None:
        self.epoch, self.batch = epoch, batch
        self.size = self.batches.count(epoch)
        self._rest = self.batches.epoch(epoch, batch)
