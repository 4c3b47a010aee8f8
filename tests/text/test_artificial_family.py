"""Sister languages share pieces of words and differ as real ones do."""

import re

import pytest
from support.grown import ADJECTIVES, LANGUAGES, NOUNS, content_forms, pairs_of

from nmtlab.text.segmentation.transliteration import UYGHUR_LATIN


def pieces(words):
    return {f"^{word}$"[start : start + 3] for word in words for start in range(len(word))}


def latin_types(code):
    return {UYGHUR_LATIN.apply(word.lower()) for pair in pairs_of(code) for word in pair.source.split(" ")}


@pytest.mark.full
@pytest.mark.parametrize("child", ["qab", "qac", "qad"])
def test_sisters_share_pieces_of_words_and_few_words(child):
    words, pieces_shared = (
        len(ours & theirs) / len(ours)
        for ours, theirs in [
            (latin_types(child), latin_types("qaa")),
            (pieces(latin_types(child)), pieces(latin_types("qaa"))),
        ]
    )
    assert words < 0.12
    assert pieces_shared > 4 * words


def test_nuru_is_written_in_uyghur_letters_and_read_back():
    text = " ".join(pair.source for pair in pairs_of("qac"))
    assert set(text) <= set(UYGHUR_LATIN.table) | {" ", "."}
    assert set(text.split(" ")) & latin_types("qaa") == {"."}
    latin = UYGHUR_LATIN.apply(text)
    assert latin == latin.lower()
    letters = {value: key for key, value in UYGHUR_LATIN.table.items() if value}
    pattern = "|".join(sorted(map(re.escape, letters), key=len, reverse=True))
    assert " ".join(arabic(word, letters, pattern) for word in latin.split(" ")) == text


def arabic(word, letters, pattern):
    carried = "ئ" if word[0] in "aeiouöü" else ""
    return carried + re.sub(pattern, lambda match: letters[match[0]], word)


def test_nari_has_vowel_harmony():
    stems = {entry.stem for entry in LANGUAGES["qab"].lexicon() if entry.group in NOUNS}
    words = {word.lower() for pair in pairs_of("qab") for word in pair.source.split(" ")}
    found = set()
    for word in words:
        match = re.fullmatch(r"(\w+)l([ae])r", word)
        if match and match[1] in stems and (vowels := re.findall("[aouöüe]", match[1])):
            assert (match[2] == "a") == (vowels[-1] in "aou")
            found.add(match[2])
    assert found == {"a", "e"}


def test_nari_leaves_out_pronouns_that_its_verbs_show():
    for nara, nari in zip(pairs_of("qaa"), pairs_of("qab"), strict=True):
        if re.match("(I|We|You) [a-z]+ed the ", nara.target):
            both = [{j: i for i, j in pair.links} for pair in (nara, nari)]
            assert both[0][0] != both[0][1]
            assert both[1][0] == both[1][1]


@pytest.mark.parametrize(("code", "last"), [("qaa", True), ("qab", True), ("qac", True), ("qad", False)])
def test_the_verb_is_last_in_all_but_neru(code, last):
    positions = []
    for pair in pairs_of(code):
        if re.fullmatch(r"(He|She|They) [a-z]+ed (the|a|an|some|this|every) [a-z]+ \.", pair.target):
            verb, noun = (next(i for i, j in pair.links if j == place) for place in (1, 3))
            positions.append(verb > noun)
    assert len(positions) > 5
    assert set(positions) == {last}


@pytest.mark.parametrize(("code", "before"), [("qaa", True), ("qab", True), ("qac", False), ("qad", False)])
def test_an_adjective_is_before_its_noun_or_after_it(code, before):
    adjectives = content_forms(LANGUAGES[code], ADJECTIVES - {"nationality"})
    nouns = content_forms(LANGUAGES[code], NOUNS)
    orders = set()
    for pair in pairs_of(code):
        words, source = pair.target.split(" "), {j: i for i, j in pair.links}
        for place in range(1, len(words) - 1):
            if words[place] in adjectives and words[place + 1] in nouns:
                orders.add(source[place] < source[place + 1])
    assert orders == {before}
