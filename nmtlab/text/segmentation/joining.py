"""Words as plain text: which punctuation stands close to the word before it, and which to the one after it."""

from collections.abc import Sequence
from unicodedata import category

from sacremoses.util import is_cjk

from nmtlab.languages import language_of

_CLOSING = frozenset(".,;:!?%…)]}\\،؛؟٪۔।॥።፣፤፥፦፧།༎၊။៖។៕،、。，；：？！）」』】〉》")
_OPENING = frozenset("([{¿¡#（「『【〈《༼")
_BETWEEN_WORDS = frozenset("/@")
_BETWEEN_NUMBERS = frozenset(":&–")
_ALWAYS_OPEN = frozenset("„‚")
_QUOTES = ('"', "'", "`", "“”„‟", "‘’‚‛", "«»", "‹›")
"""Quotation marks; which one of a kind opens and which one closes depends on the language."""
_ZERO_WIDTH_SPACE = "\u200b"


def joined(words: Sequence[str], language: str) -> str:
    """Return words as plain text, with spaces where text of their language most often has them.

    Args:
        words: words without spaces, punctuation marks among them.
        language: language code.
    """
    return _Joiner(language_of(language)).joined(words)


class _Joiner:
    def __init__(self, language: str) -> None:
        self._language = language
        self._open: dict[str, bool] = dict.fromkeys(_QUOTES, False)

    def joined(self, words: Sequence[str]) -> str:
        text, glued = "", True
        for place, word in enumerate(words):
            before, after = words[place - 1] if place else "", words[place + 1] if place + 1 < len(words) else ""
            left, right = self._sides(before, word, after)
            text += word if left or glued else f" {word}"
            glued = right
        return text

    def _sides(self, before: str, word: str, after: str) -> tuple[bool, bool]:
        """Return whether a word stands close to the one before it and to the one after it."""
        numbers = _ends_in_digit(before) and after[:1].isdigit()
        if word == _ZERO_WIDTH_SPACE or (word in _BETWEEN_NUMBERS and numbers):
            return True, True
        if word in _BETWEEN_WORDS:
            return (True, True) if before[-1:].isalnum() and after[:1].isalnum() else (False, False)
        if kind := next((kind for kind in _QUOTES if _all(word, kind)), ""):
            return self._of_quote(kind, before, word, after)
        if word == "%" and not _ends_in_digit(before) and after[:1].isdigit():
            return False, True
        if _all(word, _CLOSING):
            return not (self._language == "fr" and word in ("?", "!", ":", ";", "%")), False
        if _all(word, _OPENING) or (category(word[0]) == "Sc" and after[:1].isdigit()):
            return False, True
        return self._of_elision(word, after) or (self._in_chinese_script(before, word), False)

    def _of_quote(self, kind: str, before: str, word: str, after: str) -> tuple[bool, bool]:
        if self._language == "fr" and kind == "«»":
            return False, False
        possessive = self._language == "en" and word == "'" and before.endswith("s")
        last = not after or _all(after, _CLOSING)
        closes = word not in _ALWAYS_OPEN and (self._open[kind] or last or possessive)
        self._open[kind] = not closes
        return closes, not closes

    def _of_elision(self, word: str, after: str) -> tuple[bool, bool] | None:
        """Return the sides of what Moses cut at an apostrophe; None of another word."""
        if self._language == "en" and word[0] == "'":
            return True, False
        if self._language in ("fr", "it") and word[-1] == "'" and after[:1].isalpha():
            return False, True
        return None

    def _in_chinese_script(self, before: str, word: str) -> bool:
        return self._language != "ko" and bool(before) and is_cjk(before[-1]) and is_cjk(word[0])


def _all(word: str, letters: frozenset[str] | str) -> bool:
    """Return whether a word consists of some letters, besides marks of direction."""
    return {letter for letter in word if category(letter) != "Cf"} <= set(letters) and word != _ZERO_WIDTH_SPACE


def _ends_in_digit(word: str) -> bool:
    return word[-1:].isdigit()
