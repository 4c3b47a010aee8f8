"""Choice of the held-out dev and test sentences, by a hash of each sentence rather than chance or order."""

import hashlib
import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import normalise


@dataclass(frozen=True)
class HoldOut:
    """How much of a corpus without published splits becomes dev and test.

    Args:
        dev: a share of the pairs if below 1, else a number of pairs; 0 for no dev set.
        test: the same for test.
        most: maximum number of pairs held out for a share; the rest stays in training.
        by: the side whose sentence is hashed.
    """

    dev: float = 0.05
    test: float = 0.05
    most: int = 1000
    by: Literal["source", "target"] = "target"

    def __post_init__(self) -> None:
        for name, size in (("dev", self.dev), ("test", self.test)):
            if not 0 <= size < math.inf or (size > 1 and size != int(size)):
                raise CorpusError(f"{name} is {size}", "give a share below 1 or a whole number of pairs")
        if self.most < 0:
            raise CorpusError(f"most is {self.most}", "give 0 or more pairs")


@dataclass(frozen=True)
class Division:
    """The hash positions, between 0 and 1, where test ends and dev begins; training is in between."""

    test_below: float
    dev_above: float

    def split(self, place: float) -> str:
        """Return the split (train, dev or test) of a sentence at hash position `place`."""
        if place < self.test_below:
            return "test"
        return "dev" if place > self.dev_above else "train"


def hash_position(sentence: str) -> float:
    """Return the position of `sentence` in [0, 1): the first 52 bits of the SHA-1 of its normalised form.

    A sentence has the same position in every corpus, so corpora that share one side (the same English translated into
    many languages, say) hold out the same sentences.
    """
    digest = hashlib.sha1(normalise(sentence).encode(), usedforsecurity=False).digest()
    return (int.from_bytes(digest[:8]) >> 12) / 2**52


def divide(places: Iterable[float], hold_out: HoldOut) -> Division:
    """Return the division of a corpus by the hash positions of its sentences, one per pair.

    Test takes the lowest positions and dev the highest, up to the shares or numbers wanted. Pairs with the same
    sentence are never separated, so there may be fewer pairs than wanted. A smaller dev or test is always part of a
    larger one.

    Raises:
        CorpusError: dev and test would leave nothing for training.
    """
    ordered = sorted(places)
    test_below = _bound(ordered, hold_out.test, hold_out.most)
    dev_above = 1 - _bound([1 - place for place in reversed(ordered)], hold_out.dev, hold_out.most)
    division = Division(test_below, dev_above)
    if not any(division.split(place) == "train" for place in ordered):
        raise CorpusError(
            f"{len(ordered):,} pairs: with dev {hold_out.dev:g} and test {hold_out.test:g} none is left for training",
            "hold out less, or give more text",
        )
    return division


def _bound(ordered: list[float], size: float, most: int) -> float:
    """Return the greatest bound with a share `size` or, if smaller, at most `most` positions below it."""
    share, number = (size, most) if size < 1 else (1.0, int(size))
    within = bisect_left(ordered, share)
    return share if within <= number else ordered[number]
