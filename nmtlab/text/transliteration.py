"""Transliteration: a string homomorphism, letter by letter (thesis 3.1.2.1)."""

from collections.abc import Mapping
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.files import read_lines


class Transliteration:
    """Replaces every letter that is in a table, whatever stands beside it, and leaves all others as they are.

    Args:
        table: what is written for a letter: any text, the empty one too.

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
    def from_tsv(cls, path: Path) -> "Transliteration":
        """Read a table from a file with a line `letter TAB replacement` for each letter; blank lines are skipped.

        Raises:
            CorpusError: the file cannot be read, or a line is not such a line or gives a letter again.
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
                raise CorpusError(f"{path}, line {number}: {letter!r} is there already", "give each letter one line")
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
in January 2008). The carrier of a vowel (U+0626) is not written: where ULY has an apostrophe for it, inside a word, a
homomorphism cannot know. There are no capitals."""
