"""Concepts, their frequencies, and the English-like words for them."""

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import numpy as np
from numpy.typing import NDArray

from nmtlab.text.artificial import words
from nmtlab.text.artificial.language_settings import ArtificialSettings

Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]
Chances = NDArray[np.float64]
"""Probabilities, or uniform random numbers in [0, 1)."""
Forms = tuple[str, str, str]
"""A noun's singular and plural; a verb's base, third person and past; I, me, my; or the same form three times."""

PEOPLE = ("scientist", "politician", "writer", "artist")
NAME_CLASSES = (*PEOPLE, "city", "river")
LOANS = (*NAME_CLASSES, "first name", "nationality")
NAME_EXPONENT = 1.2
"""The n-th name of a class has a share of n ** -1.2, the n-th word of another group one of 1 / (n + 2)."""
NEW = "new noun"
"""The group of nouns that no sentence has unless a document puts them there."""


@dataclass(frozen=True)
class Concept:
    """A meaning: its group, its rank there from 1, and its words, the default one first."""

    group: str
    rank: int
    words: tuple[Forms, ...]


class Concepts:
    """The concepts of a vocabulary, group by group; concept 0 means an empty slot.

    Args:
        new: number of concepts of the group `NEW`.

    Attributes:
        concepts: all concepts, by number.
        group: group name -> number.
        forms: all forms of all words, three per word; `wants_an` and `checksum` are parallel to it.
        first_form: index in `forms` of each concept's first form.
        synonyms: number of words of each concept.
        first_name: the first name of each person, 0 for other concepts.
        share: probability of a concept within its group; of first names, within the persons.
    """

    def __init__(self, settings: ArtificialSettings, new: int = 0) -> None:
        groups = _groups(settings, new)
        self.group = {name: number for number, name in enumerate(groups)}
        self.concepts = [
            Concept(group, rank, synonyms)
            for group, members in groups.items()
            for rank, synonyms in enumerate(members, start=1)
        ]
        ends = list(accumulate(len(members) for members in groups.values()))
        self._members = {group: range(end - len(groups[group]), end) for group, end in zip(groups, ends, strict=True)}
        shares = [_zipf(group, len(members)) for group, members in groups.items()]
        self._cumulative = np.concatenate([number + np.cumsum(share) for number, share in enumerate(shares)])
        self._cumulative[np.array(ends) - 1] = np.arange(1, len(groups) + 1)
        forms = [form for concept in self.concepts for word in concept.words for form in word]
        self.forms = np.array(forms, dtype=object)
        self.synonyms = np.array([len(concept.words) for concept in self.concepts])
        self.first_form = 3 * (np.cumsum(self.synonyms) - self.synonyms)
        self.wants_an = np.array([_wants_an(form) for form in forms])
        self.checksum = np.array([zlib.crc32(form.encode()) for form in forms], dtype=np.uint64)
        self.share = np.concatenate(shares)
        self.first_name = self._first_names(Random(f"{settings.seed} first names"))
        first_names = list(self.members("first name"))
        borne = np.bincount(self.first_name, self.share / len(PEOPLE), minlength=len(self.share))
        self.share[first_names] = borne[first_names]

    def members(self, group: str) -> range:
        """Return the concepts of `group`, the most frequent first."""
        return self._members[group]

    def only(self, group: str) -> int:
        """Return the first concept of `group`."""
        return self._members[group][0]

    def draw(self, group: Ids | int, chances: Chances) -> Ids:
        """Return a concept of `group` for each of `chances`, by Zipf's law."""
        return np.searchsorted(self._cumulative, group + chances, side="right")

    def _first_names(self, random: Random) -> Ids:
        first = np.zeros(len(self.concepts), dtype=np.int64)
        for person in (person for group in PEOPLE for person in self.members(group)):
            first[person] = self.draw(self.group["first name"], np.array([random.random()]))[0]
        return first


def _zipf(group: str, size: int) -> Chances:
    rank = np.arange(1, size + 1)
    weights = rank**-NAME_EXPONENT if group in NAME_CLASSES else 1 / (rank + 2)
    return weights / weights.sum()


def _groups(settings: ArtificialSettings, new: int) -> dict[str, list[tuple[Forms, ...]]]:
    """Return every group's concepts, each as its words."""
    random = Random(f"{settings.seed} words")
    texts = {**words.OPEN_CLASSES, **words.TITLES, **words.UNINFLECTED, "first name": words.FIRST_NAMES}
    listed = {group: [concept.split("/") for concept in text.split()] for group, text in texts.items()}
    taken = {word.lower() for members in listed.values() for synonyms in members for word in synonyms}
    open_class = sum(len(listed[group]) for group in words.OPEN_CLASSES)
    for group in words.OPEN_CLASSES:
        size = max(4, round(settings.vocabulary * len(listed[group]) / open_class))
        made_up = _invented(random, group, 2 * max(0, size - len(listed[group])), taken)
        listed[group] = listed[group][:size] + [list(pair) for pair in zip(made_up[::2], made_up[1::2], strict=True)]
    for group in NAME_CLASSES:
        listed[group] = [[name] for name in _names(random, group, settings.names, taken)]
    if new:  # the last to be invented: whatever their number, all other words are the same
        listed[NEW] = [[word] for word in _invented(random, NEW, new, taken)]
    inflected: dict[str, list[tuple[Forms, ...]]] = {
        group: [tuple(_inflected(group, word) for word in synonyms) for synonyms in members]
        for group, members in listed.items()
    }
    written_out: dict[str, list[tuple[Forms, ...]]] = {
        group: [(_three(forms),) for forms in text.split()] for group, text in words.THREE_FORMS.items()
    }
    return {"absent": [(("", "", ""),)], **inflected, **written_out}


def _three(text: str) -> Forms:
    first, second, third = text.split(",")
    return first, second, third


def _kind(group: str) -> str:
    if group in words.NOUN_GROUPS or group in words.TITLES or group == NEW:
        return "noun"
    return "adjective" if group in words.ADJECTIVE_GROUPS else "verb"


def _inflected(group: str, word: str) -> Forms:
    if group in words.OPEN_CLASSES and _kind(group) == "verb":
        return word, _with_s(word), words.IRREGULAR_PASTS.get(word) or _with_ed(word)
    if _kind(group) == "noun":
        return word, words.IRREGULAR_PLURALS.get(word) or _with_s(word), word
    return word, word, word


def _with_s(word: str) -> str:
    if _changes_y(word):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh", "go")) else "s")


def _with_ed(word: str) -> str:
    if _changes_y(word):
        return word[:-1] + "ied"
    return word + ("d" if word.endswith("e") else "ed")


def _changes_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in "aeiou"


def _wants_an(form: str) -> bool:
    return form in words.WITH_AN or (form.startswith(("a", "e", "i", "o", "u")) and form not in words.WITH_A)


def pick(random: Random, choices: Sequence[str]) -> str:
    """Return one of `choices`; only `random()` of Python's generator is guaranteed never to change."""
    return choices[int(random.random() * len(choices))]


def _distinct(make: Callable[[], str], number: int, taken: set[str]) -> list[str]:
    """Return `number` new words and add them to `taken` in lower case."""
    fresh: list[str] = []
    while len(fresh) < number:
        word = make()
        if word.lower() not in taken:
            taken.add(word.lower())
            fresh.append(word)
    return fresh


def _joined(random: Random, parts: Iterable[Sequence[str]]) -> str:
    return "".join(pick(random, choices) for choices in parts)


def _invented(random: Random, group: str, number: int, taken: set[str]) -> list[str]:
    ending = words.ENDINGS[_kind(group)]
    short = (words.ONSETS, words.NUCLEI, words.CODAS, ending)
    long = (words.ONSETS, words.NUCLEI, words.CODAS, words.NUCLEI[:10], words.CODAS, ending)
    return _distinct(lambda: _joined(random, short if random.random() < 0.7 else long), number, taken)


def _names(random: Random, group: str, number: int, taken: set[str]) -> list[str]:
    parts = (words.NAME_STARTS, words.NAME_MIDDLES, words.NAME_ENDINGS["people" if group in PEOPLE else group])
    return _distinct(lambda: _joined(random, parts), number, taken)
