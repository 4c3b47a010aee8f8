"""What a layer of the Transformer's decoder keeps of the words so far.

Shapes: t words, N slots of a search, D width.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from nmtlab.nn.precision import widened

_ROOM = 16
"""How many more words fit into a new store of all slots."""


class History(ABC):
    """What a layer keeps of the words so far, in N slots."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of words of the longest slot."""

    @abstractmethod
    def select(self, slots: Tensor) -> Self:
        """Return what is kept in some of the slots, (N',), in a new order."""

    @abstractmethod
    def replace(self, slots: Tensor, other: Self, others: Tensor, unneeded: int) -> Self:
        """Return it with the last words of some slots overwritten by those of another one, which is not longer.

        Args:
            slots: (n,) indices of slots.
            other, others: the other one, and (n,) indices of its slots.
            unneeded: how many words to leave out, from the first on.
        """


@dataclass
class _Store:
    """Keys and values, and room for those of more words.

    Args:
        words: (2, T, N, D) keys and values.
        used: how many of the T words are there.
    """

    words: Tensor
    used: int


@dataclass(frozen=True)
class Past(History):
    """A layer's keys and values of the words so far, in N slots.

    The next word is written behind them into the same store. All are copied only if there is no room, if another word
    follows already in another continuation of the same past, or if a search has chosen some of the slots.

    Args:
        store: of keys and values.
        begin, end: which words of the store are the past.
        chosen: (N',) the slots that go on, in their new order; all if not given.
    """

    store: _Store
    begin: int
    end: int
    chosen: Tensor | None = None

    @classmethod
    def empty(cls, slots: Tensor) -> "Past":
        """Return the past before the first word, for as many slots as there are vectors, (N, D)."""
        return cls(_Store(slots.new_empty(2, 0, *slots.shape), 0), 0, 0)

    def __len__(self) -> int:
        return self.end - self.begin

    @property
    def words(self) -> Tensor:
        """Keys and values, (2, t, N, D)."""
        return self.store.words[:, self.begin : self.end]

    def select(self, slots: Tensor) -> "Past":
        return replace(self, chosen=slots if self.chosen is None else self.chosen[slots])

    def longer(self, key: Tensor, value: Tensor) -> "Past":
        """Return the past with one more word, given its keys and values, each (N', D)."""
        if torch.is_grad_enabled():  # which writing into a given tensor excludes
            before = self.words if self.chosen is None else self.words[:, :, self.chosen]
            words = torch.cat((before, torch.stack((key, value)).unsqueeze(1)), dim=1)
            return Past(_Store(words, words.shape[1]), 0, words.shape[1])
        past = self if self._has_room() else self._moved()
        past.store.words[0, past.end] = key
        past.store.words[1, past.end] = value
        past.store.used += 1
        return replace(past, end=past.end + 1)

    def replace(self, slots: Tensor, other: "Past", others: Tensor, unneeded: int) -> "Past":
        past = self if self.chosen is None else self._moved()
        if len(other):
            past.words[:, len(past) - len(other) :, slots] = other.words[:, :, others]
        return replace(past, begin=past.begin + unneeded)

    def _has_room(self) -> bool:
        return (
            self.chosen is None
            and self.store.used == self.end < self.store.words.shape[1]
            and self.store.words.is_inference() == torch.is_inference_mode_enabled()
        )

    def _moved(self) -> "Past":
        """Return the past of the slots that go on, in a new store."""
        size, slots = len(self), self.store.words.shape[2] if self.chosen is None else len(self.chosen)
        room = _ROOM if self.chosen is None else 1  # a search chooses again after the next word
        words = self.store.words.new_empty(2, size + room, slots, self.store.words.shape[3])
        for new, old in zip(words[:, :size], self.words, strict=True):
            if self.chosen is None:
                new.copy_(old)
            else:
                torch.index_select(old, 1, self.chosen, out=new)
        return Past(_Store(words, size), 0, size)


@dataclass(frozen=True)
class Mean(History):
    """The mean of a layer's words so far, in N slots: what an averaging decoder has in place of `Past`.

    Args:
        sums: (N, D) of the words, in single precision at least.
        counts: (N, 1) of them.
        length: words of the longest slot.
    """

    sums: Tensor
    counts: Tensor
    length: int = 0

    @classmethod
    def empty(cls, slots: Tensor) -> "Mean":
        """Return the state before the first word, for as many slots as there are vectors, (N, D)."""
        sums = torch.zeros_like(widened(slots))
        return cls(sums, sums[:, :1])

    def __len__(self) -> int:
        return self.length

    @property
    def value(self) -> Tensor:
        """The mean, (N, D), of one word or more."""
        return self.sums / self.counts

    def select(self, slots: Tensor) -> "Mean":
        return replace(self, sums=self.sums[slots], counts=self.counts[slots])

    def longer(self, word: Tensor) -> "Mean":
        """Return the mean with one more word, (N, D)."""
        return Mean(self.sums + word, self.counts + 1, self.length + 1)

    def replace(self, slots: Tensor, other: "Mean", others: Tensor, unneeded: int) -> "Mean":
        sums = self.sums.index_copy(0, slots, other.sums[others])
        counts = self.counts.index_copy(0, slots, other.counts[others])
        return Mean(sums, counts, self.length - unneeded)
