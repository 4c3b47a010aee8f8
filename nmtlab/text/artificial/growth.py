"""The words of the source languages: common roots, roots of one language alone, borrowed names, and suffixes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count
from random import Random
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nmtlab.text.artificial.concepts import LOANS, NEW, Concept, Concepts, Ids, pick
from nmtlab.text.artificial.family import FAMILY, SUFFIXES, C, Laws, Relative, V, changed, further_laws
from nmtlab.text.artificial.grammar import FEATURES
from nmtlab.text.artificial.language_settings import ArtificialSettings
from nmtlab.text.artificial.words import OPEN_CLASSES

SHAPES = [(front, vowel) for front in (False, True) for vowel in (False, True)]
"""Shapes of a stem that determine its suffixes: (front vowels, ends in a vowel)."""

_SUFFIX_SOUNDS = ("tksnmrldbgpšj", "AUi", "tksnmrldbgpšj")


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
            new = morphs | {mark: "".join(pick(sounds, kind) for kind in _SUFFIX_SOUNDS)}
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
        sounds += bare if bool(re.match(V, joined)) == after_vowel else joined
    return sounds


Origin = Literal["inherited", "own", "borrowed", ""]
"""Where a stem comes from: the family's root, a root of this language alone, English; empty for none."""

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
        origins: (concepts,), where each stem comes from.
    """

    stems: NDArray[np.object_]
    shapes: Ids
    suffixes: NDArray[np.object_]
    origins: list[Origin]


def grow(code: str, concepts: Concepts, settings: ArtificialSettings) -> Lexis:
    """Return the words of a language: descendants of common roots, and names borrowed from English.

    No two stems of a language can yield the same word, whatever their suffixes: at ambiguity 0, each word of a source
    language has a single meaning.
    """
    stems, morphs = _family_stems(concepts, settings.seed)[code], inherited_morphs(code)
    origins = [_origin(concept, stem) for concept, stem in zip(concepts.concepts, stems, strict=True)]
    if settings.cognates < 1 or settings.sound_changes:
        morphs = diverged_morphs(code, settings)
        words = _diverged(code, concepts, stems, suffix_table(code, morphs), settings)
        stems, origins = [stem for stem, _ in words], [origin for _, origin in words]
    return _lexis(FAMILY[code], concepts, stems, suffix_table(code, morphs), origins)


def _family_stems(concepts: Concepts, seed: int) -> dict[str, list[str]]:
    """Return the sounds of every stem in each language of the family."""
    random = Random(f"{seed} roots")
    taken = {code: _Taken(suffix_table(code, inherited_morphs(code)).ravel().tolist()) for code in FAMILY}
    stems: dict[str, list[str]] = {code: [""] * len(concepts.concepts) for code in FAMILY}
    for number in _in_turn(concepts):
        for code, stem in _stems(random, concepts.concepts[number], taken).items():
            stems[code][number] = stem
    return stems


def _diverged(
    code: str, concepts: Concepts, stems: list[str], suffixes: NDArray[np.object_], settings: ArtificialSettings
) -> list[tuple[str, Origin]]:
    """Return the stems of a language that has left its family, and where they come from.

    Of two shares of cognates, the larger one keeps the roots that the smaller one keeps, unless they would be mistaken
    for other words.
    """
    chances, roots = Random(f"{settings.seed} {code} cognates"), Random(f"{settings.seed} {code} roots")
    laws = further_laws(code, settings)
    taken = _Taken(suffixes.ravel().tolist())
    words: list[tuple[str, Origin]] = [("", "")] * len(stems)
    for number in _in_turn(concepts):
        concept, stem = concepts.concepts[number], stems[number]
        if concept.group in _SILENT or concept.group in _MARKS:
            words[number] = stem, ""
            continue
        choices = _borrowed(stem)
        if concept.group not in LOANS:
            kept = chances.random() < settings.cognates
            choices = chain(_inherited(stem, laws) if kept else (), _own(roots, concept, FAMILY[code]))
        words[number] = next(word for word in choices if taken.free(FAMILY[code].write(word[0])))
        taken.add(FAMILY[code].write(words[number][0]))
    return words


def _borrowed(stem: str) -> Iterator[tuple[str, Origin]]:
    return ((stem + attempt * "an", "borrowed") for attempt in count())


def _inherited(stem: str, laws: Laws) -> Iterator[tuple[str, Origin]]:
    """Yield a stem after sound changes, and without them for the case that another word sounds like that."""
    yield changed(stem, laws), "inherited"
    yield stem, "inherited"


def _own(random: Random, concept: Concept, relative: Relative) -> Iterator[tuple[str, Origin]]:
    for attempt in count():
        yield changed(_root(random, concept, longer=attempt // 20), relative.laws), "own"


def _origin(concept: Concept, stem: str) -> Origin:
    if not stem or concept.group in _MARKS:
        return ""
    return "borrowed" if concept.group in LOANS else "inherited"


def _in_turn(concepts: Concepts) -> list[int]:
    """Return the concepts in turn: names, which cannot be varied, then closed classes, whose short words run out.

    New nouns are the last, so that all other words are the same without them.
    """

    def turn(number: int) -> int:
        group = concepts.concepts[number].group
        return 0 if group in LOANS else 1 + (group in OPEN_CLASSES) + 2 * (group == NEW)

    return sorted(range(len(concepts.concepts)), key=turn)


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
            name = changed(concept.words[0][0].lower(), _ADAPTATIONS)
            stems = {code: changed(name, relative.loans) + attempt * "an" for code, relative in FAMILY.items()}
        else:
            root = _root(random, concept, longer=attempt // 20)
            stems = {code: changed(root, relative.laws) for code, relative in FAMILY.items()}
        written = {code: FAMILY[code].write(stem) for code, stem in stems.items()}
        if all(taken[code].free(stem) for code, stem in written.items()):
            break
    for code, stem in written.items():
        taken[code].add(stem)
    return stems


def _root(random: Random, concept: Concept, longer: int) -> str:
    """Return a root of the common ancestor, with front or back vowels, short for frequent concepts."""
    vowels = pick(random, ("aaaoouui", "eeeöüüii"))
    syllables = longer + (concept.group in (*OPEN_CLASSES, NEW)) + (concept.rank > 20 and random.random() < 0.4)
    root = pick(random, _CONSONANTS) if random.random() < 0.85 else ""
    for _ in range(syllables):
        coda = pick(random, _CODAS) if random.random() < 0.3 else ""
        root += pick(random, vowels) + coda + pick(random, _CONSONANTS)
    return root + pick(random, vowels) + (pick(random, _CONSONANTS) if syllables == 0 or random.random() < 0.5 else "")


def _front(sounds: str) -> bool:
    """Return whether suffixes after `sounds` have front vowels, decided by its last vowel other than i."""
    vowels = re.findall(V, sounds)
    return next((vowel in "eöü" for vowel in reversed(vowels) if vowel != "i"), True)


def _lexis(
    relative: Relative,
    concepts: Concepts,
    stems: list[str],
    suffixes: NDArray[np.object_],
    origins: list[Origin],
) -> Lexis:
    unsaid = set() if relative.particles else _PARTICLES
    written = [
        "" if concept.group in unsaid else _capitalised(relative.write(stem), concept.group)
        for concept, stem in zip(concepts.concepts, stems, strict=True)
    ]
    shapes = [SHAPES.index((_front(stem), ends_in_vowel(stem))) for stem in stems]
    return Lexis(np.array(written, dtype=object), np.array(shapes), suffixes, origins)


def _capitalised(word: str, group: str) -> str:
    return word[:1].upper() + word[1:] if group in LOANS and group != "nationality" else word
