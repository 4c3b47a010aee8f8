"""Mixtures of training texts, and the share of each in an epoch."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.shards import Shard
from nmtlab.text.batching.token_links import TokenLinks
from nmtlab.text.segmentation.vocabulary import PAD


@dataclass(frozen=True)
class Mixture:
    """One or more texts, with pairs numbered consecutively across them.

    An epoch has as many pairs as its texts together. A text with a quota above its number of pairs is repeated, with
    randomly chosen pairs in the last, partial pass.

    Args:
        sampling_exponent: a text's share of an epoch is proportional to its number of pairs to this power, 0 to 1.
        links: of the tokens of each pair; None if no attention is guided.
        rotations: name of each text's rotation, empty for a text that every epoch has; none if no text has one. The
            texts of a direction and a rotation take turns: epoch e has the one at place e mod N (Imamura and Sumita
            2018).
    """

    texts: Sequence[EncodedCorpus]
    sampling_exponent: float = 1.0
    links: TokenLinks | None = None
    rotations: Sequence[str] = ()

    def __len__(self) -> int:
        return sum(map(len, self.texts))

    @property
    def begins_with(self) -> list[EncodedCorpus]:
        """The texts of the first epoch."""
        return [text for text, turn in zip(self.texts, self._turns(0), strict=True) if turn]

    @property
    def skipped(self) -> dict[str, int]:
        """Number of pairs left out of the texts of the first epoch, by reason."""
        return dict(sum((Counter(text.skipped) for text in self.begins_with), Counter()))

    def quotas_of(self, epoch: int) -> list[int]:
        """Return the number of pairs of each text in an epoch: at least 1, or 0 if another one has its turn."""
        sizes = np.array([len(text) * turn for text, turn in zip(self.texts, self._turns(epoch), strict=True)])
        shares = np.where(sizes > 0, sizes**self.sampling_exponent, 0)
        return [max(int(share > 0), round(sizes.sum() * share)) for share in shares / shares.sum()]

    def _turns(self, epoch: int) -> list[bool]:
        """Return which texts an epoch has."""
        names = self.rotations or [""] * len(self.texts)
        rotations = [(name, text.direction) for name, text in zip(names, self.texts, strict=True)]
        members = {one: [place for place, other in enumerate(rotations) if other == one] for one in rotations}
        return [not one[0] or members[one][epoch % len(members[one])] == place for place, one in enumerate(rotations)]

    def windows(self, random: np.random.Generator, size: int, epoch: int = 0) -> Iterator[np.ndarray]:
        """Yield the pairs of an epoch in random order, `size` at a time, each window mixed like the whole.

        Shards are read in sequence, one per text at a time.
        """
        quotas = self.quotas_of(epoch)
        orders = [_order(text, quota, random) for text, quota in zip(self.texts, quotas, strict=True)]
        total = sum(quotas)
        for begin in range(0, total, size):
            end = min(begin + size, total)
            yield np.concatenate(
                [
                    first + order[len(order) * begin // total : len(order) * end // total]
                    for first, order in zip(self._first_pairs, orders, strict=True)
                ]
            )

    def by_direction(self, pairs: np.ndarray) -> list[np.ndarray]:
        """Return pairs grouped by translation direction, in their order."""
        directions = list(dict.fromkeys(text.direction for text in self.texts))
        of_text = np.array([directions.index(text.direction) for text in self.texts])
        of_pair = of_text[self._origins(pairs)]
        return [pairs[of_pair == direction] for direction in range(len(directions))]

    def lengths(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return source and target lengths of pairs in tokens, with EOS, each (pairs,) int32.

        Of several sources, it is the length of the longest.
        """
        lengths = np.empty((2, len(pairs)), dtype=np.int32)
        for shard, where, indices in self._by_shard(pairs):
            lengths[:, where] = shard.source_lengths[indices], shard.target.lengths[indices]
        return lengths[0], lengths[1]

    def batch(self, pairs: np.ndarray) -> Batch[np.ndarray]:
        """Return pairs of one direction as a batch."""
        by_shard = list(self._by_shard(pairs))
        padded = [[side.padded(indices) for side in shard.sides] for shard, _, indices in by_shard]
        source, target, *more = (
            np.full((len(pairs), max(ids.shape[1] for ids in side)), PAD, dtype=np.int64)
            for side in zip(*padded, strict=True)
        )
        for (_, where, _), sides in zip(by_shard, padded, strict=True):
            for rows, ids in zip((source, target, *more), sides, strict=True):
                rows[where, : ids.shape[1]] = ids
        origin = self._origins(pairs)
        source_language, target_language = self.texts[origin[0]].direction
        return batch_of(
            source,
            target,
            origin=origin,
            weight=None if self._weights is None else self._weights[origin],
            source_language=source_language,
            target_language=target_language,
            links=None if self.links is None else self.links.dense(pairs, target.shape[1], source.shape[1]),
            more_sources=tuple(more),
        )

    def _origins(self, pairs: np.ndarray) -> np.ndarray:
        """Return the index of each pair's text."""
        return np.searchsorted(self._first_pairs, pairs, side="right") - 1

    def _by_shard(self, pairs: np.ndarray) -> Iterator[tuple[Shard, np.ndarray, np.ndarray]]:
        """Yield each shard of `pairs`, with the indices of its pairs in `pairs` and in the shard."""
        of_pair = np.searchsorted(self._first_of_shards, pairs, side="right") - 1
        for number in np.unique(of_pair):
            where = np.flatnonzero(of_pair == number)
            yield self.shards[number], where, pairs[where] - self._first_of_shards[number]

    @cached_property
    def shards(self) -> list[Shard]:
        """The shards of all texts, in the order of their pairs."""
        return [shard for text in self.texts for shard in text.shards]

    @cached_property
    def _first_of_shards(self) -> np.ndarray:
        """The number of the first pair of each shard."""
        return np.cumsum([0, *map(len, self.shards)])[:-1]

    @cached_property
    def _first_pairs(self) -> np.ndarray:
        """The number of the first pair of each text."""
        return np.cumsum([0, *map(len, self.texts)])[:-1]

    @cached_property
    def _weights(self) -> np.ndarray | None:
        """The weight of each text's pairs; None if all are 1, which saves the loss a multiplication."""
        weights = np.array([text.weight for text in self.texts], dtype=np.float32)
        return None if (weights == 1).all() else weights


def _order(text: EncodedCorpus, count: int, random: np.random.Generator) -> np.ndarray:
    """Return `count` pairs of a text in random order, shard by shard; pairs repeat equally often, give or take one."""
    if not count:
        return np.empty(0, dtype=np.uint32)
    passes = [_shuffled(text, random) for _ in range(-(-count // len(text)))]
    return np.concatenate(passes)[:count]


def _shuffled(text: EncodedCorpus, random: np.random.Generator) -> np.ndarray:
    """Return all pairs of a text with its shards, and the pairs of each, shuffled."""
    first = np.cumsum([0, *map(len, text.shards)])
    shuffled = []
    for shard in random.permutation(len(text.shards)):
        pairs = np.arange(first[shard], first[shard + 1], dtype=np.uint32)
        random.shuffle(pairs)
        shuffled.append(pairs)
    return np.concatenate(shuffled)
