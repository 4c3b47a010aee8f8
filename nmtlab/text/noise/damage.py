"""Damaged references: their words dropped, swapped or replaced, as translations to be corrected."""

from collections.abc import Sequence

from numpy.random import Generator

KINDS = ("drop", "swap", "replace")


def damaged(sentence: str, share: float, words: Sequence[str], random: Generator) -> str:
    """Return a sentence of which a share of the white-space words is damaged, each in one of `KINDS`, equally often.

    A word is dropped, changes places with the next one (the last word with the one before it, if they have not), or is
    replaced by one of `words`, which may be the same. With equal draws, the words that a smaller share damages are
    among those of a larger one.

    Args:
        share: the probability that a word is damaged, 0 to 1.
        words: one or more to draw from, as often as they are there.
        random: from which as much is drawn whatever the share.
    """
    found = sentence.split()
    chances, kinds = random.random(len(found)), random.integers(len(KINDS), size=len(found))
    others = random.integers(len(words), size=len(found))
    swapped = 0
    for place in (chances < share).nonzero()[0].tolist():
        if KINDS[kinds[place]] == "swap":
            if swapped and swapped == place == len(found) - 1:
                continue
            swapped = other = place + 1 if place + 1 < len(found) else place - 1
            found[place], found[other] = found[other], found[place]
        else:
            found[place] = "" if KINDS[kinds[place]] == "drop" else words[others[place]]
    return " ".join(filter(None, found))
