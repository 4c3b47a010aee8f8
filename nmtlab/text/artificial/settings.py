"""Settings of the artificial languages."""

from dataclasses import dataclass

from nmtlab.errors import CorpusError

_RANGES = {"seed": (0, 2**32 - 1), "vocabulary": (100, 50_000), "names": (1, 2_000), "ambiguity": (0, 1)}


@dataclass(frozen=True)
class ArtificialSettings:
    """Settings that determine a family of languages and its sentences.

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

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise CorpusError(f"artificial language: {name} is {value}", f"choose a number from {least} to {most}")
