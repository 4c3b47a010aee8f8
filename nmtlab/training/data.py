"""The batches of a training, pass after pass over its text."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from nmtlab.text.batch import Batch
from nmtlab.text.batches import Batches


class BatchStream:
    """Batches without an end, and the place in the text that is reached, from which they can be had again.

    Args:
        batches: of a training text.
        epoch: the pass over the text, from 0.
        batch: how many batches of it have been taken, of `size`.
    """

    def __init__(self, batches: Batches, epoch: int = 0, batch: int = 0) -> None:
        self.batches = batches
        self._begin(epoch, batch)

    @property
    def at_end(self) -> bool:
        """Whether this pass over the text is complete."""
        return self.batch == self.size

    def take(self, count: int) -> list[Batch[np.ndarray]]:
        """Return so many of the next batches; fewer at the end of a pass over the text, which no update crosses."""
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
