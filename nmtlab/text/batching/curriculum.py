"""A curriculum: the first passes over a text have only its easier pairs (Platanios et al. 2019)."""

import math
from dataclasses import dataclass

import numpy as np

from nmtlab.text.batching.mixture import Mixture


@dataclass(frozen=True)
class Curriculum:
    """Which pairs are in a pass: those whose rank by difficulty is within its competence.

    Args:
        ranks: (pairs,) the share of the pairs of a mixture that are no harder, above 0; the hardest has 1.
        passes: number of the first pass, from 1, that has all pairs.
    """

    ranks: np.ndarray
    passes: int

    @classmethod
    def by_length(cls, mixture: Mixture, passes: int) -> "Curriculum":
        """Return one in which a pair is as hard as its source is long, in tokens; of several, the longest."""
        return cls(_ranks(np.concatenate([shard.source_lengths for shard in mixture.shards])), passes)

    @classmethod
    def by_rarity(cls, mixture: Mixture, passes: int) -> "Curriculum":
        """Return one in which a pair is as hard as its first source is rare: - Σ log p of its tokens, by frequency."""
        size = 1 + max(int(shard.source.ids.max()) for shard in mixture.shards)
        counts = np.sum([np.bincount(shard.source.ids, minlength=size) for shard in mixture.shards], axis=0)
        rarity = -np.log(np.maximum(counts, 1) / counts.sum())
        sides = [shard.source for shard in mixture.shards]
        sums = [np.add.reduceat(rarity[side.ids], side.offsets[:-1]) for side in sides]
        return cls(_ranks(np.concatenate(sums)), passes)

    def competence(self, number: int) -> float:
        """Return the share of the pairs that are in a pass: it grows with the square root of the pass's number.

        Args:
            number: of the pass, from 0.
        """
        return min(1.0, math.sqrt((number + 1) / self.passes))

    def ready(self, pairs: np.ndarray, number: int) -> np.ndarray:
        """Return those of some pairs that are in a pass; the easiest one always is."""
        ranks = self.ranks[pairs]
        return pairs[ranks <= max(self.competence(number), ranks.min())]


def _ranks(difficulty: np.ndarray) -> np.ndarray:
    """Return ranks of (pairs,) values, as shares of their number; of equal ones, earlier pairs are easier."""
    ranks = np.empty(len(difficulty))
    ranks[np.argsort(difficulty, kind="stable")] = np.arange(1, len(difficulty) + 1) / len(difficulty)
    return ranks
