"""Word links between the tokens of encoded pairs, for an attention that is guided by them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nmtlab.text.corpora.links import Link


@dataclass(frozen=True, eq=False)
class TokenLinks:
    """The linked positions of each pair of a mixture, counted in its ids.

    Args:
        offsets: (pairs + 1,) int64, the start of each pair's links, and the end of the last.
        source, target: (links,) int32 positions, from 0.
    """

    offsets: np.ndarray
    source: np.ndarray
    target: np.ndarray

    @classmethod
    def of_pairs(cls, pairs: Sequence[Iterable[Link]]) -> "TokenLinks":
        """Return the links of each pair, (source position, target position)."""
        ordered = [sorted(links) for links in pairs]
        flat = np.array([link for links in ordered for link in links], dtype=np.int32).reshape(-1, 2)
        return cls(np.cumsum([0, *map(len, ordered)], dtype=np.int64), flat[:, 0].copy(), flat[:, 1].copy())

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def dense(self, pairs: np.ndarray, target_length: int, source_length: int) -> np.ndarray:
        """Return which tokens of some pairs are linked, (B, T, S) bool."""
        linked = np.zeros((len(pairs), target_length, source_length), dtype=bool)
        for row, number in enumerate(pairs.tolist()):
            some = slice(self.offsets[number], self.offsets[number + 1])
            linked[row, self.target[some], self.source[some]] = True
        return linked
