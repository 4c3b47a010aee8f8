"""Settings of the artificial languages."""

from dataclasses import dataclass

from nmtlab.errors import CorpusError

CODES = ("qaa", "qab", "qac", "qad")
"""Codes of the source languages."""

DISTANCES = ("cognates", "sound_changes", "order")
"""The settings of a language's distance from its family; the others determine concepts and sentences."""

_RANGES = {
    "seed": (0, 2**32 - 1), "vocabulary": (100, 50_000), "names": (1, 2_000), "ambiguity": (0, 1),
    "cognates": (0, 1), "sound_changes": (0, 15),
}  # fmt: skip


@dataclass(frozen=True)
class ArtificialSettings:
    """Settings that determine a family of languages and its sentences, and how far a language is from the family.

    Languages with the same `seed`, `vocabulary`, `names` and `ambiguity` have the same concepts and sentences. A
    relative's distance is set by the other three: compare a language at their defaults with one that has changed them.

    Raises:
        CorpusError: a setting is out of its range.
    """

    seed: int = 1
    """Seed of roots, names and sentences, 0 to 2**32 - 1."""

    vocabulary: int = 400
    """Number of nouns, verbs and adjectives, 100 to 50,000; beyond about 360, English words are invented."""

    names: int = 60
    """Number of names in each class (scientists, politicians, writers, artists, cities, rivers), 1 to 2,000."""

    ambiguity: float = 0.0
    """Probability, 0 to 1, that a word is drawn from all its synonyms instead of the first, and twice the probability
    of the other word order, and of omitting 'that'; at 0 a source sentence has a single translation."""

    cognates: float = 1.0
    """Share of stems and of suffixes, 0 to 1, that go back to the family's roots; the others are the language's alone.
    Names are borrowed from English whatever the share."""

    sound_changes: int = 0
    """Number of further sound changes in the inherited stems, 0 to 15."""

    order: str = ""
    """Code of the language whose word order is used; empty for its natural one."""

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise CorpusError(f"artificial language: {name} is {value}", f"choose a number from {least} to {most}")
        if self.order and self.order not in CODES:
            raise CorpusError(f"artificial language: order is {self.order!r}", f"choose one of {', '.join(CODES)}")
