"""Words by the rules of Moses (Koehn et al. 2007), as sacremoses has them, and by these with Unicode's."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, groupby
from unicodedata import category

from sacremoses import MosesDetokenizer, MosesTokenizer
from sacremoses.util import is_cjk

from nmtlab.languages import first_subtag, is_in_han, language_of
from nmtlab.text.segmentation.joining import joined

_GLUED = ("ja", "zh", "yue")  # Moses would join their words without spaces, but text of a word system has spaces
_ELIDING = ("en", "fr", "it")  # Moses has rules for their apostrophes
_APOSTROPHE = re.compile(r"(?<=\w)['‘’](?=\w)")  # also after numbers: 2018'de
_TSHEG = "་༌"  # marks between syllables of Tibetan


class MosesRules:
    """Moses' words: punctuation cut off, hyphenated words whole, nothing escaped (thesis 3.1.3).

    It cuts words at letters and marks that it does not know, and at apostrophes, and does not join them again.

    Args:
        language: language code of two letters; other languages are tokenized as English.
    """

    def __init__(self, language: str) -> None:
        language = first_subtag(language)
        self._tokenizer = _moses_tokenizer(language)
        self._detokenizer = None if language in _GLUED else MosesDetokenizer(language)

    def split(self, text: str) -> list[str]:
        """Return the words of a text."""
        return self._tokenizer.tokenize(text, aggressive_dash_splits=False, escape=False)

    def join(self, words: Sequence[str]) -> str:
        """Return words as plain text."""
        return self._detokenizer.detokenize(words, unescape=False) if self._detokenizer else " ".join(words)


class UnicodeRules:
    """Moses' words, but none is cut that is one by Unicode's rules (UAX 29), and what was cut off is joined again.

    Args:
        language: language code; languages unknown to Moses are tokenized as English.
    """

    def __init__(self, language: str) -> None:
        self._language = language_of(language)
        self._tokenizer = _moses_tokenizer(self._language)
        self._spaced = is_in_han(language)  # text of a word system has spaces, and so have its words

    def split(self, text: str) -> list[str]:
        """Return the words of a text."""
        text = "".join(letter for letter in text if letter >= " ")  # Moses would leave these out
        words: list[str] = []
        cuts, end = self._cuts(text), 0
        for word in self._tokenizer.tokenize(text, aggressive_dash_splits=False, escape=False):
            begin = text.find(word, end)
            if words and begin == end and begin not in cuts:
                words[-1] += word
            else:
                words.append(word)
            end = begin + len(word)
        return words

    def join(self, words: Sequence[str]) -> str:
        """Return words as plain text."""
        return " ".join(words) if self._spaced else joined(words, self._language)

    def _cuts(self, text: str) -> set[int]:
        """Return the places in a text where a word may end and the next one begin."""
        from unicode_segmentation_rs import split_word_bounds

        ends = list(accumulate(map(len, split_word_bounds(text))))[:-1]
        cuts = {end for end in ends if not _within_word(text[end - 1], text[end])}
        if self._language in _ELIDING:
            return cuts | {place for found in re.finditer("'", text) for place in found.span()}
        return cuts - {place for found in _APOSTROPHE.finditer(text) for place in found.span()}


def _within_word(before: str, after: str) -> bool:
    """Return whether a word goes on between two letters, although Unicode's rules need a dictionary to know."""
    return _of_word(before) and _of_word(after) and not (is_cjk(before) and is_cjk(after))


def _of_word(letter: str) -> bool:
    return category(letter)[0] in "LMN" or letter in _TSHEG


@cache
def _moses_tokenizer(language: str) -> MosesTokenizer:
    tokenizer = MosesTokenizer(language)
    # sacremoses lists the letters beyond U+FFFF one by one, which makes Japanese 30 times slower.
    tokenizer.PAD_NOT_ISALNUM = re.compile(rf"([^{_ranges(tokenizer.IsAlnum)}\s.'`,\-])"), r" \1 "
    return tokenizer


def _ranges(letters: str) -> str:
    """Return `letters` as ranges of a regular expression's character class."""
    codes = enumerate(sorted(set(map(ord, letters))))
    runs = (list(run) for _, run in groupby(codes, lambda place_and_code: place_and_code[1] - place_and_code[0]))
    return "".join(f"{re.escape(chr(run[0][1]))}-{re.escape(chr(run[-1][1]))}" for run in runs)
