"""The grown languages that several test modules look at, each made once."""

from collections import defaultdict
from functools import cache

import pytest

from nmtlab.text.artificial import FAMILY, ArtificialLanguage, ArtificialPair

NOUNS = {"person", "animal", "food", "thing", "text", "place", "topic", "policy"}
VERBS = {
    *("see", "meet", "feed", "eat", "buy", "read", "study", "govern", "visit", "give", "go", "act", "happen", "say"),
}
ADJECTIVES = {"adjective", "living", "material", "idea", "nationality"}
ADVERBS = {"past", "present", "future", "manner"}
NAMES = {"scientist", "politician", "writer", "artist", "city", "river", "first name"}
TITLES = {"scientist title", "politician title", "writer title", "artist title", "river title"}
CONTENT = NOUNS | VERBS | ADJECTIVES | ADVERBS | NAMES | TITLES

LANGUAGES = {code: ArtificialLanguage(code) for code in FAMILY}


@cache
def pairs_of(code: str) -> list[ArtificialPair]:
    return list(LANGUAGES[code].pairs(10_000))


every_language = pytest.mark.parametrize("code", FAMILY)


def content_forms(language: ArtificialLanguage, groups: set[str] = CONTENT) -> dict[str, set[str]]:
    """Each form of a target word, with its stems."""
    stems = defaultdict(set)
    for entry in language.lexicon():
        if entry.group in groups:
            for form in entry.forms:
                stems[form].add(entry.stem)
    return stems
