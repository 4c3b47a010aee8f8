"""The texts of many languages in one model (thesis 4.2), each with English, and test sets for zero-shot directions.

Dev and test text of one language is in no training text of another, in English neither: the software texts were divided
by their English sentence, and the artificial ones are by theirs.
"""

from dataclasses import dataclass, replace
from itertools import permutations

from nmtlab.grids.declared.corpora import Corpus, backwards, in_direction
from nmtlab.grids.declared.whole_corpora import (
    ConcatenatedCorpus,
    ExternalCorpus,
    MultiParallelCorpus,
    SyntheticCorpus,
    SyntheticFamily,
)
from nmtlab.text.artificial import ArtificialSettings


@dataclass(frozen=True)
class ManyTexts:
    """Texts of several languages with English.

    Args:
        name: of the group of languages.
        into_english: a text of each language, the largest first.
        together: the same sentences in all of these languages; its test text is for zero-shot directions.
    """

    name: str
    into_english: tuple[ConcatenatedCorpus, ...] | tuple[SyntheticCorpus, ...] | tuple[ExternalCorpus, ...]
    together: MultiParallelCorpus | SyntheticFamily | ExternalCorpus

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages other than English."""
        return tuple(corpus.source for corpus in self.into_english)

    @property
    def from_english(self) -> tuple[Corpus, ...]:
        """The same texts from English."""
        return tuple(backwards(corpus) for corpus in self.into_english)

    @property
    def both_ways(self) -> tuple[Corpus, ...]:
        """The texts into English, then those from it."""
        return (*self.into_english, *self.from_english)

    @property
    def zero_shot(self) -> tuple[Corpus, ...]:
        """The common text in every direction without English."""
        return tuple(in_direction(self.together, *pair) for pair in permutations(self.languages, 2))


_SOFTWARE = "libreoffice-{}-en"


def _software(source: str, pairs: int, dev: int = 200) -> ConcatenatedCorpus:
    parts = (_SOFTWARE.format(source),)
    return ConcatenatedCorpus(
        f"many-{source}-en", source, "en", parts, train=pairs, dev=dev, test=500, title="LibreOffice"
    )


def _common(first: str, second: str, third: str) -> MultiParallelCorpus:
    """Return the sentences that three languages have; all of them, since there are few."""
    parts = tuple(_SOFTWARE.format(code) for code in (first, second, third))
    return MultiParallelCorpus(f"many-{first}-{second}-{third}", first, second, parts, title="LibreOffice")


IBERIAN = ManyTexts(
    "iberian", (_software("pt", 20_000), _software("es", 10_000), _software("gl", 4000)), _common("gl", "pt", "es")
)
TED = ManyTexts(
    "ted", tuple(ExternalCorpus(f"ted-{code}-en", code, "en", "TED") for code in ("pt", "es", "gl")),
    ExternalCorpus("ted-gl-pt-es", "gl", "pt", "TED"),
)  # fmt: skip
"""TED talks (Qi et al. 2018), which the user provides, in the same languages."""

TURKIC = ManyTexts(
    "turkic", (_software("tr", 10_000, 60), _software("ug", 0, 60), _software("uz", 0, 60)), _common("tr", "uz", "ug")
)
"""All text of Uyghur and Uzbek; with 63 common test lines an anecdote."""

_FAMILY = ArtificialSettings(vocabulary=2000, names=100, ambiguity=0.1)
_TINY_FAMILY = ArtificialSettings(vocabulary=100, names=3)
_STRANGER = "qad"
_APART = 10_000_000
"""Distance between the first sentences of two texts: their training sentences are drawn apart."""


def _relatives(settings: ArtificialSettings, codes: tuple[str, ...]) -> tuple[tuple[str, ArtificialSettings], ...]:
    """Return each language's settings; the stranger shares names with the family, and no stems or suffixes."""
    return tuple((code, replace(settings, cognates=0.0) if code == _STRANGER else settings) for code in codes)


def _artificial(prefix: str, settings: ArtificialSettings, sizes: dict[str, int], dev: int, test: int) -> ManyTexts:
    """Return texts of some sizes, with different sentences, and one with the same sentences, mostly for its test."""
    relatives = _relatives(settings, tuple(sizes))
    texts = tuple(
        SyntheticCorpus(f"{prefix}-{code}-en", code, own, train=sizes[code], dev=dev, test=test, start=place * _APART)
        for place, (code, own) in enumerate(relatives)
    )
    start = len(texts) * _APART
    name = "artificial" if prefix == "many" else prefix
    return ManyTexts(name, texts, SyntheticFamily(f"{prefix}-{'-'.join(sizes)}", relatives, dev, dev, test, start))


ARTIFICIAL = _artificial("many", _FAMILY, {"qaa": 16_000, "qac": 8000, "qad": 4000, "qab": 2000}, dev=200, test=500)
"""A family and a stranger, qad. The smallest text is of qab, the closest relative of qaa with the largest: both are in
Latin letters and have one word order; qac is in Arabic letters and shares subwords only after transliteration."""

TINY = _artificial("tiny-many", _TINY_FAMILY, {"qaa": 200, "qab": 200}, dev=30, test=30)
