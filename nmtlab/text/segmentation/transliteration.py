"""Transliteration into Latin letters, by a table, letter by letter (thesis 3.1.2.1), or by uroman."""

import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.lines import read_lines


class Transliteration:
    """Replaces every letter in a table, regardless of context, and keeps all other letters.

    Args:
        table: letter -> its replacement, any text, possibly empty.

    Raises:
        CorpusError: a key is not a single character.
    """

    def __init__(self, table: Mapping[str, str]) -> None:
        for letter in table:
            if len(letter) != 1:
                raise CorpusError(
                    f"transliteration table: {letter!r} has {len(letter)} characters", "give one character for each key"
                )
        self.table = dict(table)
        self._table = str.maketrans(self.table)

    def apply(self, text: str) -> str:
        """Return `text` with each letter replaced."""
        return text.translate(self._table)

    @classmethod
    def from_tsv(cls, path: Path | str) -> "Transliteration":
        """Read a table from a file of lines `letter TAB replacement`; blank lines are skipped.

        Raises:
            CorpusError: the file cannot be read, a line is malformed, or a letter is repeated.
        """
        table: dict[str, str] = {}
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip(" "):
                continue
            letter, tab, replacement = line.partition("\t")
            if not tab or "\t" in replacement:
                raise CorpusError(f"{path}, line {number}: not two columns", "write: letter, TAB, replacement")
            if len(letter) != 1:
                raise CorpusError(
                    f"{path}, line {number}: {letter!r} has {len(letter)} characters",
                    "write one character before the TAB",
                )
            if letter in table:
                raise CorpusError(f"{path}, line {number}: {letter!r} is repeated", "give each letter one line")
            table[letter] = replacement
        return cls(table)


UYGHUR_LATIN = Transliteration(
    {
        "ا": "a", "ە": "e", "ب": "b", "پ": "p", "ت": "t", "ج": "j", "چ": "ch", "خ": "x",
        "د": "d", "ر": "r", "ز": "z", "ژ": "zh", "س": "s", "ش": "sh", "غ": "gh", "ف": "f",
        "ق": "q", "ك": "k", "گ": "g", "ڭ": "ng", "ل": "l", "م": "m", "ن": "n", "ھ": "h",
        "و": "o", "ۇ": "u", "ۆ": "ö", "ۈ": "ü", "ۋ": "w", "ې": "ë", "ى": "i", "ي": "y",
        "ئ": "", "،": ",", "؛": ";", "؟": "?",
    }
)  # fmt: skip
"""Uyghur Arabic script to Latin: the 32 letters of Uyghur Latin Yëziqi (ULY; Xinjiang University 2000-2001, as amended
in January 2008). The vowel carrier (U+0626) is dropped: ULY writes an apostrophe for it inside a word, which a
homomorphism cannot detect. There are no capitals."""


def transliterator(name: str) -> Callable[[str], str] | None:
    """Return the transliteration of a word that `text.transliteration` names, or None for `none`."""
    return {"none": None, "uyghur-latin": UYGHUR_LATIN.apply, "uroman": romanised}[name]


def transliterated(text: str, transliterate: Callable[[str], str]) -> str:
    """Return text with each word transliterated; a word that is mapped to nothing is kept, so their number is too."""
    return " ".join("".join(transliterate(word).split()) or word for word in text.split())


@lru_cache(maxsize=1 << 18)
def romanised(word: str) -> str:
    """Return a word romanised by uroman (Hermjakob et al. 2018); words in Latin letters are kept."""
    if all("LATIN" in unicodedata.name(letter, "") for letter in word if letter.isalpha()):
        return word
    return "".join(_uroman().romanize_string(word).split())


@cache
def _uroman():
    from uroman import Uroman  # takes six seconds to load

    return Uroman()
