"""The suffixes of the source languages: from the family, or of one language alone."""

import re
from collections.abc import Iterable, Mapping
from random import Random

import numpy as np
from numpy.typing import NDArray

from nmtlab.text.artificial.concepts import pick
from nmtlab.text.artificial.family import FAMILY, SUFFIXES, V
from nmtlab.text.artificial.grammar import FEATURES
from nmtlab.text.artificial.settings import ArtificialSettings

SHAPES = [(front, vowel) for front in (False, True) for vowel in (False, True)]
"""Shapes of a stem that determine its suffixes: (front vowels, ends in a vowel)."""

_CONSONANTS = "tksnmrldbgpšj"
_VOWELS = "AUi"


def inherited_morphs(code: str) -> dict[str, str]:
    """Return the suffix of each feature that a language has from its family."""
    column = list(FAMILY).index(code)
    return {mark: row.split()[column].strip("-") for mark, row in SUFFIXES.items()}


def diverged_morphs(code: str, settings: ArtificialSettings) -> dict[str, str]:
    """Return the suffix of each feature, a share of them replaced by suffixes of this language alone."""
    chances, sounds = Random(f"{settings.seed} {code} kept"), Random(f"{settings.seed} {code} suffixes")
    morphs = inherited_morphs(code)
    distinct = _distinct(code, morphs)
    for mark in [mark for mark, morph in morphs.items() if morph and chances.random() >= settings.cognates]:
        new = morphs
        while new == morphs or _distinct(code, new) < distinct:
            new = morphs | {mark: "".join(pick(sounds, kind) for kind in (_CONSONANTS, _VOWELS, _CONSONANTS))}
        morphs = new
    return morphs


def suffix_table(code: str, morphs: Mapping[str, str]) -> NDArray[np.object_]:
    """Return a language's suffixes in its spelling: (shapes, features)."""
    relative = FAMILY[code]
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


def ends_in_vowel(sounds: str) -> bool:
    """Return whether a stem ends in a vowel."""
    return bool(re.search(f"{V}$", sounds))


def _distinct(code: str, morphs: Mapping[str, str]) -> int:
    return sum(len(set(row)) for row in suffix_table(code, morphs).tolist())


def _attached(front: bool, vowel: bool, morphs: Iterable[str]) -> str:
    """Return the suffixes `morphs` joined, as realised after a stem of this shape."""
    harmonic = str.maketrans({"A": "ae"[front], "U": "uü"[front]})
    sounds = ""
    for morph in morphs:
        joined = re.sub(r"[()]", "", morph).translate(harmonic)
        bare = re.sub(r"\(.\)", "", morph).translate(harmonic)
        after_vowel = ends_in_vowel(sounds) if sounds else vowel
        sounds += bare if _begins_with_vowel(joined) == after_vowel else joined
    return sounds


def _begins_with_vowel(sounds: str) -> bool:
    return bool(re.match(V, sounds))
