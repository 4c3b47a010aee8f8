"""Are suggested translations used? (Pham et al. 2018)"""

from collections.abc import Sequence

Phrase = Sequence[str] | Sequence[int]
"""Words, or types."""


def occurs(phrase: Phrase, sentence: Phrase) -> bool:
    """Return whether a phrase is in a sentence, word after word."""
    length = len(phrase)
    return any(list(sentence[at : at + length]) == list(phrase) for at in range(len(sentence) - length + 1))


def hit(suggested: Sequence[Phrase], sentence: Phrase) -> float:
    """Return HIT, the share of suggestions, one or more, that are in a sentence."""
    return sum(occurs(phrase, sentence) for phrase in suggested) / len(suggested)
