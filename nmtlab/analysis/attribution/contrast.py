"""Why this token and not that one? (Yin and Neubig 2022)"""

from collections.abc import Sequence
from typing import NamedTuple


class Contrast(NamedTuple):
    """A token that a target token is compared with: what is explained is the difference of their log-probabilities.

    Args:
        position: of the target token, from 0.
        type: id of the other token, which the model can produce.
    """

    position: int
    type: int

    def instead(self, target: Sequence[int]) -> list[int]:
        """Return a target with the other token at the position."""
        return [*target[: self.position], self.type, *target[self.position + 1 :]]
