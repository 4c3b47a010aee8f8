"""Batches of sentence pairs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from nmtlab.text.segmentation.vocabulary import BOS, PAD

A = TypeVar("A")
"""A numpy array or a tensor."""
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Batch(Generic[A]):
    """Sentence pairs of one translation direction: numpy arrays when read, tensors when fed to a model.

    Shapes: B sentences, S source and T target length.

    Args:
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        target_input: (B, T) int64 ids, BOS and all tokens: the decoder's input.
        target: (B, T) int64 ids, all tokens and EOS: what the decoder predicts.
        origin: (B,) int64, index in the recipe of the text that each pair comes from.
        weight: (B,) float32, weight of each pair in the loss; None if all are 1.
        source_language, target_language: language codes of the direction; empty for a model with a single one.
        links: (B, T, S) bool, which tokens of target and source are linked; None if no attention is guided.
        more_sources: (B, S') int64 ids of each further source, like those of the first; see `sources`.
    """

    source: A
    target_input: A
    target: A
    origin: A
    weight: A | None = None
    source_language: str = ""
    target_language: str = ""
    links: A | None = None
    more_sources: tuple[A, ...] = ()

    @property
    def sources(self) -> tuple[A, ...]:
        """The ids of every source that is translated, the first one's first."""
        return self.source, *self.more_sources

    @property
    def target_mask(self) -> A:
        """(B, T) bool: which target tokens are not padding."""
        return self.target != PAD  # type: ignore[return-value]

    @property
    def rows(self) -> int:
        """Number of sentence pairs."""
        return len(self.source)  # type: ignore[arg-type]

    @property
    def source_tokens(self) -> int:
        """Number of source tokens, with EOS, without padding."""
        return sum(int((source != PAD).sum()) for source in self.sources)  # type: ignore[attr-defined, misc]

    @property
    def target_tokens(self) -> int:
        """Number of target tokens, with EOS, without padding."""
        return int(self.target_mask.sum())  # type: ignore[attr-defined]

    @property
    def counted_tokens(self) -> float:
        """Number of target tokens weighted by pair: the denominator of a mean loss."""
        if self.weight is None:
            return self.target_tokens
        return float((self.target_mask.sum(1) * self.weight).sum())  # type: ignore[attr-defined]

    def map(self, change: Callable[[A], T]) -> "Batch[T]":
        """Return the batch with `change` applied to every array, e.g. to move or slice it; other fields are kept."""
        source, target_input = change(self.source), change(self.target_input)
        target, origin = change(self.target), change(self.origin)
        weight = None if self.weight is None else change(self.weight)
        links = None if self.links is None else change(self.links)
        languages, more = (self.source_language, self.target_language), tuple(map(change, self.more_sources))
        return Batch(source, target_input, target, origin, weight, *languages, links, more)

    def cut(self, rows: slice) -> "Batch[A]":
        """Return the pairs in `rows`."""
        return self.map(lambda values: values[rows])  # type: ignore[index]

    def without_targets(self) -> "Batch[A]":
        """Return the batch with padding as its targets, so that nothing is learned from it."""
        padding: A = self.target * 0 + PAD  # type: ignore[assignment, operator]
        return replace(self, target=padding, target_input=padding)


def batch_of(source: np.ndarray, target: np.ndarray, **more: Any) -> Batch[np.ndarray]:
    """Return a batch of padded ids, (B, S) and (B, T), each row ended by EOS.

    Args:
        source, target: ids.
        more: further fields of `Batch`; without `origin`, all pairs are of the first text.
    """
    target_input = np.roll(target, 1, axis=1)
    target_input[:, 0] = BOS
    target_input[target == PAD] = PAD
    return Batch(source, target_input, target, **{"origin": np.zeros(len(source), dtype=np.int64), **more})
