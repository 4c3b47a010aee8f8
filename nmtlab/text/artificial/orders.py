"""Word order: the sequence in which a language reads the slots of a sentence."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nmtlab.text.artificial.concepts import Flags, Ids
from nmtlab.text.artificial.grammar import COORDINATE, REPORT, SIMPLE, SLOT, SUBORDINATE


@dataclass(frozen=True)
class WordOrder:
    """The order of parts in each kind of phrase; parts not listed have no word.

    Args:
        clause: subject, verb, object, place, manner, time, and complement (the clause of reported speech).
        noun_phrase: adposition, det, adj, title, first, head, relative.
        relative: who, verb, object.
        complement: clause (b) and that.
        subordinate: clauses a and b, conn and comma, where b is the cause, time or condition of a.
    """

    clause: str
    noun_phrase: str
    relative: str
    complement: str
    subordinate: str

    def slots(self) -> Ids:
        """Return the slots in word order: (kinds of sentences, slots in the order); 0 is no slot."""
        coordinate = list(self._sentence("a comma conn b"))
        readings = {
            SIMPLE: coordinate,
            COORDINATE: coordinate,
            SUBORDINATE: list(self._sentence(self.subordinate)),
            REPORT: list(self._sentence("a", self.complement)),
        }
        table = np.zeros((len(readings), max(map(len, readings.values()))), dtype=np.int64)
        for kind, reading in readings.items():
            table[kind, : len(reading)] = [SLOT[slot] for slot in reading]
        return table

    def _sentence(self, parts: str, complement: str = "") -> Iterator[str]:
        for part in parts.split():
            if part == "a":
                yield from self._clause("a", complement)
            elif part == "b":
                yield from self._clause("b", "")
            else:
                yield part
        yield "stop"

    def _clause(self, c: str, complement: str) -> Iterator[str]:
        for part in self.clause.split():
            if part == "verb":
                yield from (f"{c}.{slot}" for slot in ("aux", "not", "verb", "pred"))
            elif part == "complement":
                for inner in complement.split():
                    yield from self._clause("b", "") if inner == "clause" else ["that"]
            elif part in ("subject", "object", "place"):
                yield from self._noun_phrase(f"{c}.{part}")
            else:
                yield f"{c}.{part}"

    def _noun_phrase(self, x: str) -> Iterator[str]:
        for part in self.noun_phrase.split():
            if part == "relative" and f"{x}.verb" in SLOT:
                for inner in self.relative.split():
                    yield from self._noun_phrase(f"{x}.object") if inner == "object" else [f"{x}.{inner}"]
            elif f"{x}.{part}" in SLOT:
                yield f"{x}.{part}"


def reading(order: Ids, present: Flags) -> tuple[Flags, Ids]:
    """Return which slots of an order have a word, and the position of each slot in the sentence.

    Args:
        order: (sentences, slots in the order), the slots in word order.
        present: (sentences, slots), whether a slot has a word.

    Returns:
        (sentences, slots in the order), whether there is a word; (sentences, slots), its position from 0, or -1.
    """
    realised = np.take_along_axis(present, order, axis=1)
    in_order = np.where(realised, np.cumsum(realised, axis=1) - 1, -1)
    positions = np.full(present.shape, -1)
    np.put_along_axis(positions, order, in_order, axis=1)
    return realised, positions
