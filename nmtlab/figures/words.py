"""Numbers, words and names as a finding, a sentence computed from what is shown, writes them."""

from collections.abc import Sequence

from nmtlab.figures.marks import bare
from nmtlab.figures.theme import isolated

_MOST_NAMED = 4
_UNKNOWN = "<unk>"


def number(value: float, digits: int = 2, sign: bool = False) -> str:
    """Return a number with a minus sign that is one, and commas between thousands.

    Args:
        sign: whether a positive number has a plus.
    """
    rounded = round(value, digits) + 0.0  # no minus before 0
    return f"{rounded:{'+' if sign else ''},.{digits}f}".replace("-", "−")


def listed(parts: Sequence[str], between: str = ", ") -> str:
    """Return the first four parts in one line, and how many more there are."""
    more = len(parts) - _MOST_NAMED
    return between.join(parts[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def quoted(word: str) -> str:
    """Return a type of a vocabulary as a reader knows it, in quotation marks; UNK as the unknown word."""
    return "the unknown word" if word == _UNKNOWN else f"“{isolated(bare(word))}”"
