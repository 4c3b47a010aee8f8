"""Relatives at a distance: cognates, sound changes and word order can be set; the meanings stay the same."""

import pytest
from support.grown import NOUNS, content_forms

from nmtlab.errors import CorpusError
from nmtlab.text.artificial import FAMILY, ArtificialLanguage, ArtificialSettings

CHILD = ArtificialLanguage("qab")
RELATED = [ArtificialLanguage("qaa", ArtificialSettings(cognates=share)) for share in (1.0, 0.8, 0.4, 0.0)]


def stems(language, origin="inherited"):
    return {number: entry.stem for number, entry in enumerate(language.lexicon()) if entry.origin == origin}


def test_a_language_at_the_defaults_inherits_all_stems_but_borrowed_names():
    origins = {entry.group: entry.origin for entry in CHILD.lexicon()}
    assert origins["person"] == origins["pronoun"] == "inherited"
    assert origins["scientist"] == origins["nationality"] == "borrowed"
    assert origins["."] == ""


def test_the_share_of_cognates_is_the_one_that_was_set():
    shares = [len(stems(language)) / len(stems(RELATED[0])) for language in RELATED]
    assert shares == pytest.approx([1, 0.8, 0.4, 0], abs=0.05)
    assert all(stems(language, "borrowed") == stems(RELATED[0], "borrowed") for language in RELATED)


def test_a_closer_relative_keeps_the_cognates_of_a_more_distant_one():
    """But for a few that another word, or one with a suffix, would sound like."""
    family, close, distant = (stems(language).items() for language in RELATED[:3])
    assert close < family
    assert len(distant - close) < 0.02 * len(distant)


def test_a_stranger_shares_only_names_and_marks():
    words = {word for pair in RELATED[3].pairs(2000) for word in pair.source.split() if word.islower()}
    family = {word for pair in RELATED[0].pairs(2000) for word in pair.source.split()}
    assert len(words & family) < 0.01 * len(words)


@pytest.mark.full
@pytest.mark.parametrize("code", FAMILY)
@pytest.mark.parametrize("distance", [{"cognates": 0.5, "sound_changes": 8}, {"cognates": 0.0}, {"sound_changes": 15}])
def test_every_word_of_a_distant_relative_still_has_a_single_meaning(code, distance):
    language = ArtificialLanguage(code, ArtificialSettings(**distance))
    meanings = {}
    for entry in language.lexicon():
        assert meanings.setdefault(entry.stem, (entry.group, entry.target)) == (entry.group, entry.target)
    translations = {}
    for pair in language.pairs(3000):
        assert translations.setdefault(pair.source, pair.target) == pair.target


@pytest.mark.parametrize("distance", [{"cognates": 0.3}, {"sound_changes": 9}, {"order": "qad"}])
def test_relatives_say_the_same_in_english_and_their_gold_links_hold(distance):
    language = ArtificialLanguage("qac", ArtificialSettings(**distance))
    stem_of = content_forms(language, NOUNS)
    checked = 0
    for pair, same in zip(language.pairs(300), CHILD.pairs(300), strict=True):
        assert pair.target == same.target
        for i, j in pair.links:
            if linked := stem_of.get(pair.target.split()[j]):
                word = pair.source.split()[i].lower()
                assert any(word.startswith(stem) for stem in linked)
                checked += 1
    assert checked > 500


def test_sound_changes_are_regular_and_a_larger_number_has_the_smaller_ones():
    few, many = (ArtificialLanguage("qaa", ArtificialSettings(sound_changes=number)) for number in (3, 9))
    family = stems(RELATED[0])
    few_changed, many_changed = (
        {number for number, stem in stems(language).items() if stem != family[number]} for language in (few, many)
    )
    assert few_changed
    assert len(few_changed) < len(many_changed)
    assert len(stems(many)) > 0.95 * len(stems(RELATED[0]))


def test_a_language_can_take_the_word_order_of_another():
    own, other = ArtificialLanguage("qaa"), ArtificialLanguage("qaa", ArtificialSettings(order="qad"))
    for pair, moved in zip(own.pairs(200), other.pairs(200), strict=True):
        assert sorted(pair.source.lower().split()) == sorted(moved.source.lower().split())
    assert [p.source for p in own.pairs(50)] != [p.source for p in other.pairs(50)]


def test_an_order_of_no_language_is_an_error():
    with pytest.raises(CorpusError, match="order is 'qaz'; choose one of qaa, qab, qac, qad"):
        ArtificialSettings(order="qaz")
