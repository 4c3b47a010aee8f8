"""Are translations in the order of their references?"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

_GRAM = 4
_RARE = 0.02
"""Largest share of the references that have an n-gram by which a reference is told from others."""

_FEWEST_GRAMS = 8
_SAMPLE = 200
_FEWEST_LINES = 10


def out_of_order(hypotheses: Sequence[str], references: Sequence[str]) -> int:
    """Return from about which line, from 1, translations seem to be those of other sentences; 0 if they are in order.

    This is so if most of a sample of lines, evenly spaced, share at least half of their rare 4-grams of characters with
    a reference that is not theirs, each with another one, and next to none with their own. It is also so if many more
    lines do than do not from some line to the end, as where a blank line is lost. A bad system shares few with any, or
    many with the same few.

    Args:
        references: of the same sentences.
    """
    places = _places(references)
    spacing = max(1, len(hypotheses) // _SAMPLE)
    fits = {line: _fit(hypotheses[line], line, places) for line in range(0, len(hypotheses), spacing)}
    known = [(line, fit) for line, fit in fits.items() if fit is not None]
    elsewhere = [fit.place if fit.there >= 0.5 and fit.here <= 0.1 else None for _, fit in known]
    leads = [0, *accumulate(-1 if place is None else 1 for place in reversed(elsewhere))]
    start = len(known) - leads.index(max(leads))
    for since, is_enough in ((0, len(known) >= _FEWEST_LINES), (start, max(leads) >= _FEWEST_LINES)):
        distinct = set(elsewhere[since:]) - {None}
        if is_enough and len(distinct) > (len(known) - since) / 2:
            return known[start][0] + 1
    return 0


class _Fit(NamedTuple):
    """The share of a line's rare n-grams in its own reference and in the best other one, and the line of the latter."""

    here: float
    there: float
    place: int


def _places(references: Sequence[str]) -> dict[str, list[int]]:
    """Return the lines of each rare n-gram."""
    places = defaultdict(list)
    for line, text in enumerate(references):
        for gram in _grams(text):
            places[gram].append(line)
    most = max(2, _RARE * len(references))
    return {gram: lines for gram, lines in places.items() if len(lines) <= most}


def _fit(text: str, line: int, places: dict[str, list[int]]) -> _Fit | None:
    """Return how a line fits the references; None if it has few rare n-grams."""
    rare = [places[gram] for gram in _grams(text) if gram in places]
    if len(rare) < _FEWEST_GRAMS:
        return None
    shared = Counter(place for lines in rare for place in lines)
    here = shared.pop(line, 0)
    place = max(shared, key=lambda place: (shared[place], -place), default=line)
    return _Fit(here / len(rare), shared[place] / len(rare), place)


def _grams(text: str) -> set[str]:
    text = " ".join(text.split()).lower()
    return {text[start : start + _GRAM] for start in range(len(text) - _GRAM + 1)}
