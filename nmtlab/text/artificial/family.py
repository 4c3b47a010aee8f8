"""The source languages: sound laws, suffixes and word order of each."""

import re
from dataclasses import dataclass
from random import Random

from nmtlab.text.artificial.orders import WordOrder
from nmtlab.text.artificial.settings import ArtificialSettings

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
        name: name of the language.
        order: word order.
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
