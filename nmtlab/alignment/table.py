"""A sparse table p(target | source) over the ids of two vocabularies."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class LexicalTable:
    """The translations of source types, those of one type together.

    Args:
        offsets: (source types + 1,) int64: where each source type's entries begin, and the end of the last.
        targets: (entries,) target ids.
        probabilities: (entries,) float32, those of a source type summing to at most 1.
    """

    offsets: np.ndarray
    targets: np.ndarray
    probabilities: np.ndarray
