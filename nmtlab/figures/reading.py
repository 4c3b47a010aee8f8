"""The direction in which text is read, and text that keeps it beside text of the other direction."""

import unicodedata
from collections.abc import Iterable

_RIGHT_TO_LEFT = ("R", "AL")
_ISOLATES = {True: "\u2067", False: "\u2066"}  # RIGHT-TO-LEFT ISOLATE, LEFT-TO-RIGHT ISOLATE
_END = "\u2069"  # POP DIRECTIONAL ISOLATE


def is_right_to_left(tokens: Iterable[str]) -> bool:
    """Return whether most letters of some tokens are of a right-to-left script; those of tags as `<s>` do not count."""
    words = (token for token in tokens if not (token.startswith("<") and token.endswith(">")))
    kinds = [unicodedata.bidirectional(letter) for word in words for letter in word]
    return sum(kind in _RIGHT_TO_LEFT for kind in kinds) > kinds.count("L")


def isolated(text: str) -> str:
    """Return text that keeps its direction, and leaves the text around it its own; unchanged if it is left-to-right."""
    if not any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in text):
        return text
    return f"{_ISOLATES[is_right_to_left(text.split())]}{text}{_END}"
