"""Text that looks blank."""

import unicodedata

SPACE = "▁"
"""SentencePiece's marker of white space before a word; in text, it is white space."""


def is_blank(text: str) -> bool:
    """Return whether `text` has only white space, `SPACE` and format characters (category Cf), such as U+200B."""
    return all(sign.isspace() or sign == SPACE or unicodedata.category(sign) == "Cf" for sign in text)
