"""The source languages: sound laws, suffixes and word order of each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np

from nmtlab.text.artificial.concepts import Flags, Ids
from nmtlab.text.artificial.grammar import COORDINATE, REPORT, SIMPLE, SLOT, SUBORDINATE
from nmtlab.text.artificial.language_settings import ArtificialSettings


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


Laws = tuple[tuple[str, str], ...]
"""Regular expressions over sounds (one character each) and their replacements, applied in order."""

V, C = "[aeiouöü]", "[^aeiouöü]"
_PLAIN = {"č": "ch", "š": "sh", "ŋ": "ng", "ğ": "gh"}
_TURKISH = {"č": "ç", "š": "ş", "j": "c", "ŋ": "n"}
_ARABIC = dict(zip("aebptjčxdrzsšğfqkgŋlmnhouöüwiy,", "اەبپتجچخدرزسشغفقكگڭلمنھوۇۆۈۋىي،", strict=True))


@dataclass(frozen=True)
class Relative:
    """One language of the family.

    Args:
        laws: sound laws from the common roots, for stems only.
        loans: sound laws for names borrowed from English.
        spelling: sound -> letters; other sounds are spelt as themselves.
        carrier: letter written before a word-initial vowel.
        harmony: whether suffixes agree with the stem's vowels (A: a or e, U: u or ü).
        drops: whether subject pronouns marked on the verb (I, you, we) are dropped.
        particles: whether the language has words for who, which and that.
    """

    name: str
    order: WordOrder
    laws: Laws
    loans: Laws
    spelling: dict[str, str]
    carrier: str = ""
    harmony: bool = True
    drops: bool = False
    particles: bool = False

    def write(self, stem: str) -> str:
        """Return a stem in the language's spelling."""
        return (self.carrier if re.match(V, stem) else "") + self.spell(stem)

    def spell(self, sounds: str) -> str:
        """Return sounds in the language's spelling inside a word."""
        return "".join(self.spelling.get(sound, sound) for sound in sounds)


_VERB_LAST = WordOrder(
    clause="time subject place object manner complement verb",
    noun_phrase="relative det adj title first head adposition",
    relative="object verb",
    complement="clause that",
    subordinate="b conn comma a",
)
_NOUN_FIRST = WordOrder(
    clause="subject time object place manner complement verb",
    noun_phrase="det relative title first head adj adposition",
    relative="object verb",
    complement="clause that",
    subordinate="b conn comma a",
)
_VERB_SECOND = WordOrder(
    clause="time subject verb complement manner object place",
    noun_phrase="adposition title first head adj det relative",
    relative="who verb object",
    complement="that clause",
    subordinate="a comma conn b",
)

_FURTHER = (
    ("k", "h"), ("a", "e"), ("t", "s"), ("p", "f"), ("d", "z"), ("o", "u"), ("g", "k"), ("b", "p"), ("s", "š"),
    ("č", "š"), ("q", "k"), ("r", "l"), ("y", "j"), ("e", "i"), ("ö", "ü"),
)  # fmt: skip

FAMILY = {
    "qaa": Relative(
        "Nara",
        _VERB_LAST,
        laws=((rf"^({C}*)a", r"\1o"), ("ö", "o"), ("ü", "u"), ("z$", "s")),
        loans=(("w", "v"), (rf"^s(?={C})", "is")),
        spelling=_PLAIN,
        harmony=False,
    ),
    "qab": Relative(
        "Nari",
        _VERB_LAST,
        laws=(("q", "k"), ("^t", "d"), ("^k(?=[eiöü])", "g"), (rf"(?<={V})b(?={V})", "v"), ("^y", "j")),
        loans=(("w", "v"), (rf"({C})(?={C}$)", r"\1i"), ("^k(?=[ei])", "g"), ("o$", "u")),
        spelling=_TURKISH,
        drops=True,
    ),
    "qac": Relative(
        "Nuru",
        _NOUN_FIRST,
        laws=(
            ("^y", "j"),
            (rf"(?<={V})g(?={V})", "ğ"),
            (rf"(?<={V}{C})[ae](?={C}{V})", "i"),
            ("q$", "x"),
            ("b$", "p"),
            ("d$", "t"),
            ("g$", "k"),
        ),
        loans=(("v", "w"), ("f", "p"), ("e(?=[lr]$)", "i"), ("^o", "u"), ("ng", "ŋ")),
        spelling=_ARABIC,
        carrier="ئ",
    ),
    "qad": Relative(
        "Neru",
        _VERB_SECOND,
        laws=(
            ("p", "f"),
            ("q", "h"),
            ("č", "ts"),
            (rf"(?<={V})k(?={V})", "h"),
            ("ö", "e"),
            ("ü", "i"),
            ("u", "o"),
            (rf"(?<={C}{V}{C}{V}{C}){V}$", ""),
        ),
        loans=(("w", "v"), ("č", "ts"), ("k$", "ko"), (rf"({C})$", r"\1e")),
        spelling=_PLAIN,
        harmony=False,
        particles=True,
    ),
}
"""The languages by code: ISO 639 keeps qaa to qtz for private use."""

SUFFIXES = {
    "plural": "nar lAr lAn na",
    "my": "(a)m (U)m (i)m (e)m",
    "your": "(i)s (U)z (i)ŋ (e)s",
    "our": "(i)mus (i)mUz (i)mis (e)mos",
    "object": "ni (y)U nU (e)n",
    "to": "ka (y)A qA ko",
    "in": "do dA tA do",
    "from": "don dAn tin don",
    "of": "niŋ (n)Un niŋ no",
    "be": "(y)i (y)i (y)U (y)e",
    "not": "ma mA mi va",
    "past": "di dU ti de",
    "present": "(a)r (A)r (U)r (a)l",
    "future": "gay (y)AjAk sAy vor",
    "I": "(i)m (i)m men (e)n",
    "you": "san sUn sAn (e)t",
    "he": "- - - -",
    "we": "(o)k (i)k miz (e)ga",
    "they": "nar lAr lAn (e)na",
    "participle": "gan (y)An qAn (e)nt",
}
"""The suffix of each feature in Nara, Nari, Nuru and Neru; a sound in brackets appears only between two vowels or two
consonants."""


def changed(sounds: str, laws: Laws) -> str:
    """Return sounds after sound laws, in order."""
    for pattern, replacement in laws:
        sounds = re.sub(pattern, replacement, sounds)
    return sounds


def further_laws(code: str, settings: ArtificialSettings) -> Laws:
    """Return the sound laws by which a language has moved further from its family; a smaller number has the first."""
    random = Random(f"{settings.seed} {code} sound changes")
    shuffled = sorted(_FURTHER, key=lambda _: random.random())
    return tuple(shuffled[: settings.sound_changes])
