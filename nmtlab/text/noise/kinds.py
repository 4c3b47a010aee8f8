"""Kinds of noise in training text (Khayrallah and Koehn 2018), each as an endless stream of bad pairs.

A stream depends on the clean pairs and on a random generator, not on how much of it is taken: with the same seed, less
noise is the beginning of more.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from numpy.random import Generator

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import Pair
from nmtlab.text.corpora.statistics import MOST_WORDS

Noise = Callable[..., Iterator[Pair]]
"""Yields bad pairs, given clean ones and a random generator; one in the wrong language also needs text in it."""


def misaligned(pairs: Sequence[Pair], random: Generator) -> Iterator[Pair]:
    """Yield sources with the target of another pair, never an equal one; each round uses every target once.

    Where a source has several targets, the other one may be right too.

    Raises:
        CorpusError: more than half of the targets are equal.
    """
    targets = Counter(target for _, target in pairs)
    most = max(targets.values())
    if 2 * most > len(pairs):
        raise CorpusError("misaligned: more than half of the target sentences are equal", "choose another --kind")
    while True:
        marks = dict(zip(targets, random.random(len(targets)), strict=True))
        # Equal targets are neighbours, so that a shift by the length of the longest block leaves none in its place.
        order = sorted(random.permutation(len(pairs)).tolist(), key=lambda place: marks[pairs[place][1]])
        shifted = order[most:] + order[:most]
        yield from (
            (pairs[order[place]][0], pairs[shifted[place]][1]) for place in random.permutation(len(pairs)).tolist()
        )


def misordered(pairs: Sequence[Pair], random: Generator, side: int) -> Iterator[Pair]:
    """Yield pairs with the white-space words of one side in random order."""
    for pair in _drawn(pairs, random):
        words = pair[side].split()
        yield _with(pair, side, " ".join(words[place] for place in random.permutation(len(words))))


def wrong_language(pairs: Sequence[Pair], random: Generator, side: int, third: Sequence[str]) -> Iterator[Pair]:
    """Yield pairs with a line of a third text on one side, until each line was used once."""
    lines = random.permutation(len(third)).tolist()
    for place, pair in zip(lines, _drawn(pairs, random), strict=False):
        yield _with(pair, side, third[place])


def copied(pairs: Sequence[Pair], random: Generator, side: int) -> Iterator[Pair]:
    """Yield pairs with a copy of the other side on one side."""
    for pair in _drawn(pairs, random):
        yield _with(pair, side, pair[1 - side])


def short(pairs: Sequence[Pair], random: Generator) -> Iterator[Pair]:
    """Yield pairs that have at most `MOST_WORDS` words on both sides, again and again.

    Raises:
        CorpusError: there is none.
    """
    found = [pair for pair in pairs if all(0 < len(text.split()) <= MOST_WORDS for text in pair)]
    if not found:
        raise CorpusError(f"short: no pair has at most {MOST_WORDS} words on both sides", "choose another --kind")
    yield from _drawn(found, random)


Kind = Literal[
    "misaligned", "misordered-source", "misordered-target", "wrong-language-source", "wrong-language-target",
    "copied-source", "copied-target", "short",
]  # fmt: skip

NOISES: Mapping[Kind, Noise] = {
    "misaligned": misaligned,
    "misordered-source": partial(misordered, side=0),
    "misordered-target": partial(misordered, side=1),
    "wrong-language-source": partial(wrong_language, side=0),
    "wrong-language-target": partial(wrong_language, side=1),
    "copied-source": partial(copied, side=0),
    "copied-target": partial(copied, side=1),
    "short": short,
}


def _drawn(pairs: Sequence[Pair], random: Generator) -> Iterator[Pair]:
    """Yield pairs in random order, in each round all of them."""
    while True:
        yield from (pairs[place] for place in random.permutation(len(pairs)).tolist())


def _with(pair: Pair, side: int, text: str) -> Pair:
    return (text, pair[1]) if side == 0 else (pair[0], text)
