"""Generation of the source languages' words: roots, borrowed names, suffixes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from random import Random

import numpy as np
from numpy.typing import NDArray

from nmtlab.text.artificial.concepts import LOANS, Concept, Concepts, Ids, pick
from nmtlab.text.artificial.family import FAMILY, SUFFIXES, C, Laws, Relative, V
from nmtlab.text.artificial.grammar import FEATURES
from nmtlab.text.artificial.settings import ArtificialSettings
from nmtlab.text.artificial.words import OPEN_CLASSES

SHAPES = [(front, vowel) for front in (False, True) for vowel in (False, True)]
"""Shapes of a stem that determine its suffixes: (front vowels, ends in a vowel)."""

_SILENT = {"absent", "the", "will", "not", "did", "do", "is", "was", "be", "in", "from", "to"}
_MARKS = {",", "."}
_PARTICLES = {"who", "which", "that"}

_CONSONANTS = "ttkkssnnmmrrllddbbyygšpčqzjh"
_CODAS = "rlmkt"

_ADAPTATIONS = (
    ("tch|ch", "č"),
    ("sh", "š"),
    ("ph", "f"),
    ("th", "t"),
    ("ck|c(?![eiy])|q(?!u)", "k"),
    ("qu", "kv"),
    (r"ci\b", "či"),
    ("c", "s"),
    ("x", "ks"),
    ("au", "av"),
    ("ee|ea", "i"),
    ("oo|ou", "u"),
    ("ai|ei", "ey"),
    ("eo", "io"),
    (r"(?<=[bdfghklmnprstvz])y\b", "i"),
    (rf"(?<={V}{C})e$", ""),
    (r"(.)\1", r"\1"),
    (rf"({V})(?={V})", r"\1y"),
)


@dataclass(frozen=True)
class Lexis:
    """The words of one language.

    Attributes:
        stems: (concepts,), in the language's spelling; empty if it has no word.
        shapes: (concepts,), index of the stem's shape in `SHAPES`.
        suffixes: (shapes, features), in the language's spelling.
    """

    stems: NDArray[np.object_]
    shapes: Ids
    suffixes: NDArray[np.object_]


def grow(concepts: Concepts, settings: ArtificialSettings) -> dict[str, Lexis]:
    """Return the words of each language: descendants of common roots, and names borrowed from English.

    No two stems of a language can yield the same word, whatever their suffixes: at ambiguity 0, each word of a source
    language has a single meaning.
    """
    random = Random(f"{settings.seed} roots")
    suffixes = {code: _suffixes(code) for code in FAMILY}
    taken = {code: _Taken(suffixes[code].ravel().tolist()) for code in FAMILY}
    stems: dict[str, list[str]] = {code: [""] * len(concepts.concepts) for code in FAMILY}
    in_turn = sorted(enumerate(concepts.concepts), key=lambda item: _turn(item[1]))
    for number, concept in in_turn:
        for code, stem in _stems(random, concept, taken).items():
            stems[code][number] = stem
    return {code: _lexis(FAMILY[code], concepts, stems[code], suffixes[code]) for code in FAMILY}


def _turn(concept: Concept) -> int:
    """Return a concept's priority: names, which cannot be varied, then closed classes, whose short words run out."""
    return 0 if concept.group in LOANS else 1 + (concept.group in OPEN_CLASSES)


class _Taken:
    """The stems of a language, to check that a new one cannot be mistaken for an inflected one, or the reverse."""

    def __init__(self, suffixes: Iterable[str]) -> None:
        self._beginnings = {suffix[:length] for suffix in suffixes for length in range(1, len(suffix) + 1)}
        self._stems: set[str] = set()
        self._shortened: set[str] = set()

    def free(self, stem: str) -> bool:
        if stem in self._stems or stem in self._shortened:
            return False
        return not any(stem[:cut] in self._stems for cut in self._cuts(stem))

    def add(self, stem: str) -> None:
        self._stems.add(stem)
        self._shortened.update(stem[:cut] for cut in self._cuts(stem))

    def _cuts(self, stem: str) -> list[int]:
        """Return where `stem` could split into a shorter stem and the beginning of a suffix."""
        return [cut for cut in range(1, len(stem)) if stem[cut:] in self._beginnings]


def _stems(random: Random, concept: Concept, taken: dict[str, _Taken]) -> dict[str, str]:
    """Return the sounds of a concept's stem in each language, all of them unused so far."""
    if concept.group in _SILENT:
        return dict.fromkeys(FAMILY, "")
    if concept.group in _MARKS:
        return dict.fromkeys(FAMILY, concept.group)
    for attempt in count():
        if concept.group in LOANS:
            name = _changed(concept.words[0][0].lower(), _ADAPTATIONS)
            stems = {code: _changed(name, relative.loans) + attempt * "an" for code, relative in FAMILY.items()}
        else:
            root = _root(random, concept, longer=attempt // 20)
            stems = {code: _changed(root, relative.laws) for code, relative in FAMILY.items()}
        written = {code: FAMILY[code].write(stem) for code, stem in stems.items()}
        if all(taken[code].free(stem) for code, stem in written.items()):
            break
    for code, stem in written.items():
        taken[code].add(stem)
    return stems


def _changed(sounds: str, laws: Laws) -> str:
    for pattern, replacement in laws:
        sounds = re.sub(pattern, replacement, sounds)
    return sounds


def _root(random: Random, concept: Concept, longer: int) -> str:
    """Return a root of the common ancestor, with front or back vowels, short for frequent concepts."""
    vowels = pick(random, ("aaaoouui", "eeeöüüii"))
    syllables = longer + (concept.group in OPEN_CLASSES) + (concept.rank > 20 and random.random() < 0.4)
    root = pick(random, _CONSONANTS) if random.random() < 0.85 else ""
    for _ in range(syllables):
        coda = pick(random, _CODAS) if random.random() < 0.3 else ""
        root += pick(random, vowels) + coda + pick(random, _CONSONANTS)
    return root + pick(random, vowels) + (pick(random, _CONSONANTS) if syllables == 0 or random.random() < 0.5 else "")


def _front(sounds: str) -> bool:
    """Return whether suffixes after `sounds` have front vowels, decided by its last vowel other than i."""
    vowels = re.findall(V, sounds)
    return next((vowel in "eöü" for vowel in reversed(vowels) if vowel != "i"), True)


def _attached(front: bool, vowel: bool, morphs: Iterable[str]) -> str:
    """Return the suffixes `morphs` joined, as realised after a stem of this shape."""
    harmonic = str.maketrans({"A": "ae"[front], "U": "uü"[front]})
    sounds = ""
    for morph in morphs:
        joined = re.sub(r"[()]", "", morph).translate(harmonic)
        bare = re.sub(r"\(.\)", "", morph).translate(harmonic)
        ends_in_vowel = _ends_in_vowel(sounds) if sounds else vowel
        sounds += bare if _begins_with_vowel(joined) == ends_in_vowel else joined
    return sounds


def _begins_with_vowel(sounds: str) -> bool:
    return bool(re.match(V, sounds))


def _ends_in_vowel(sounds: str) -> bool:
    return bool(re.search(f"{V}$", sounds))


def _suffixes(code: str) -> NDArray[np.object_]:
    relative = FAMILY[code]
    column = list(FAMILY).index(code)
    morphs = {mark: row.split()[column].strip("-") for mark, row in SUFFIXES.items()}
    return np.array(
        [
            [
                relative.spell(_attached(front and relative.harmony, vowel, [morphs[mark] for mark in marks if mark]))
                for marks in FEATURES
            ]
            for front, vowel in SHAPES
        ],
        dtype=object,
    )


def _lexis(relative: Relative, concepts: Concepts, stems: list[str], suffixes: NDArray[np.object_]) -> Lexis:
    unsaid = set() if relative.particles else _PARTICLES
    written = [
        "" if concept.group in unsaid else _capitalised(relative.write(stem), concept.group)
        for concept, stem in zip(concepts.concepts, stems, strict=True)
    ]
    shapes = [SHAPES.index((_front(stem), _ends_in_vowel(stem))) for stem in stems]
    return Lexis(np.array(written, dtype=object), np.array(shapes), suffixes)


def _capitalised(word: str, group: str) -> str:
    return word[:1].upper() + word[1:] if group in LOANS and group != "nationality" else word
