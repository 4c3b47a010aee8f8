import re
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Container
from functools import cache
from itertools import islice

import numpy as np
import pytest
from sacremoses import MosesTokenizer
from support.grown import ADJECTIVES, LANGUAGES, NOUNS, VERBS, content_forms, every_language, pairs_of
from support.trees import is_tree

from nmtlab.errors import CorpusError
from nmtlab.text.artificial import FAMILY, ArtificialLanguage, ArtificialSettings
from nmtlab.text.artificial.concepts import Concepts
from nmtlab.text.artificial.grammar import BLOCK, Block, Grammar
from nmtlab.text.artificial.language import English
from nmtlab.text.segmentation.transliteration import UYGHUR_LATIN

SPLITS = ("train", "dev", "test")
AMBIGUOUS = ArtificialLanguage("qaa", ArtificialSettings(ambiguity=0.6))


@cache
def english_words() -> list[list[str]]:
    return [pair.target.split(" ") for pair in LANGUAGES["qaa"].pairs(40_000)]


def words_of(target: str, forms: Container[str]) -> list[str]:
    """The words of a sentence, the first as it would stand inside it."""
    first, *others = target.split(" ")
    return [first if first in forms else first[0].lower() + first[1:], *others]


# The same from the same seed


@every_language
def test_the_same_settings_grow_the_same_sentences(code):
    assert list(ArtificialLanguage(code).pairs(300)) == pairs_of(code)[:300]


def test_another_seed_grows_other_sentences():
    assert list(ArtificialLanguage("qaa", ArtificialSettings(seed=2)).pairs(50)) != pairs_of("qaa")[:50]


@pytest.mark.parametrize(("start", "count"), [(0, 1), (7, 20), (BLOCK - 3, 6), (BLOCK, 5), (2 * BLOCK - 1, 2)])
def test_a_pair_is_the_same_from_wherever_one_begins(start, count):
    assert list(AMBIGUOUS.pairs(count, start)) == list(islice(AMBIGUOUS.pairs(3 * BLOCK), start, start + count))


def test_the_splits_share_out_all_the_pairs():
    whole = pairs_of("qaa")[:2000]
    parts = {split: list(LANGUAGES["qaa"].pairs(2000, split=split)) for split in SPLITS}
    assert [len(part) for part in parts.values()] == [2000] * 3
    shared_out = {split: [pair for pair in whole if pair in set_of] for split, set_of in as_sets(parts).items()}
    assert sum(map(len, shared_out.values())) == len(whole)
    assert all(parts[split][: len(found)] == found for split, found in shared_out.items())
    assert 0.04 < len(shared_out["dev"]) / len(whole) < 0.09


def as_sets(parts):
    return {split: set(part) for split, part in parts.items()}


def test_the_split_of_a_sentence_does_not_depend_on_its_neighbours():
    concepts = Concepts(ArtificialSettings())
    english = English(concepts, seed=1, ambiguity=0.5)
    block = Grammar(concepts).draw(seed=1, number=0)
    wording = english.say(block, 0)
    short = np.flatnonzero(wording.present.sum(axis=1) < 14)
    assert {0, 1, 2, 3} == set(block.kind[short])
    alone = Block(block.kind[short], block.concept[short], block.form[short], block.feature[short])
    assert np.array_equal(english.say(alone, 5).lot, wording.lot[short])
    assert np.bincount(wording.lot, minlength=16) == pytest.approx(BLOCK / 16, rel=0.3)


def test_sisters_say_the_same_in_english():
    targets = [[pair.target for pair in pairs] for pairs in map(pairs_of, FAMILY)]
    assert all(others == targets[0] for others in targets)
    assert len({tuple(pair.source for pair in pairs[:100]) for pairs in map(pairs_of, FAMILY)}) == len(FAMILY)


def test_nothing_is_made_before_it_is_asked_for():
    endless = LANGUAGES["qaa"].pairs(10**12, start=10**10)
    tracemalloc.start()
    for _ in islice(endless, BLOCK):
        pass
    tracemalloc.reset_peak()
    for _ in islice(endless, BLOCK):
        pass
    _, early = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    for _ in islice(endless, 3 * BLOCK):
        pass
    _, late = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert late < 1.3 * early


# Text


@every_language
def test_the_moses_tokenizer_changes_nothing(code):
    for language, side in (("en", 1), ("tr", 0)):
        moses = MosesTokenizer(lang=language)
        for pair in pairs_of(code)[:300]:
            assert moses.tokenize(pair[side], escape=False, return_str=True) == pair[side]


def test_sentences_have_about_ten_words():
    lengths = np.array([len(pair.target.split(" ")) for pair in pairs_of("qaa")])
    assert 9 < lengths.mean() < 12
    assert lengths.min() >= 3
    assert np.quantile(lengths, [0.05, 0.95]).tolist() == pytest.approx([5, 20], abs=2)


def test_english_has_an_before_a_vowel():
    text = " ".join(pair.target for pair in AMBIGUOUS.pairs(10_000)).lower()
    assert not re.search(r" a (?!useful )[aeiou]", text)
    assert not re.search(r" an (?!honest )[^aeiou]", text)
    assert text.count(" an ") > 100


def test_english_verbs_agree_with_their_subjects():
    third, plain = set(), set()
    for entry in LANGUAGES["qaa"].lexicon():
        if entry.group in VERBS:
            plain.add(entry.forms[0])
            third.add(entry.forms[1])
    seen = Counter()
    for pair in pairs_of("qaa"):
        subject, verb, *_ = pair.target.split(" ")
        if subject in ("He", "She"):
            assert verb not in plain - {"read"} | {"are", "were", "am", "do"}
            seen["he"] += verb in third
        if subject in ("I", "You", "We", "They"):
            assert verb not in third | {"is", "does"}
            assert (verb == "am") <= (subject == "I")
            seen["they"] += verb in plain - {"read"}
    assert min(seen["he"], seen["they"]) > 20


@pytest.mark.parametrize(
    "forms",
    [
        *("teacher teachers", "child children", "thief thieves", "city cities", "monkey monkeys", "crisis crises"),
        *("box boxes", "church churches", "potato potatoes", "boss bosses", "key keys"),
        *("go goes went", "study studies studied", "carry carries carried", "play plays played", "fix fixes fixed"),
        *("chat chats chatted", "write writes wrote", "like likes liked", "catch catches caught", "deny denies denied"),
    ],
)
def test_english_words_are_inflected_as_english_is(forms):
    entries = AMBIGUOUS.lexicon()
    assert tuple(forms.split()) in {entry.forms for entry in entries}


def test_no_english_word_has_two_meanings():
    stems = content_forms(AMBIGUOUS)
    assert not {form: meanings for form, meanings in stems.items() if len(meanings) > 1}


def test_a_larger_vocabulary_has_invented_words():
    language = ArtificialLanguage("qad", ArtificialSettings(vocabulary=2000, names=300))
    entries = [entry for entry in language.lexicon() if entry.group in NOUNS | VERBS | ADJECTIVES - {"nationality"}]
    assert len(entries) == pytest.approx(2000, abs=20)
    assert len({entry.target for entry in entries}) == len({entry.stem for entry in entries}) == len(entries)
    known = {entry.target for entry in AMBIGUOUS.lexicon()}
    words = {word for pair in language.pairs(5000) for word in pair.target.split(" ")}
    assert len(words & {entry.target for entry in entries} - known) > 200


def test_frequencies_fall_by_zipfs_law():
    counts = Counter(word.lower() for pair in pairs_of("qaa") for word in pair.target.split(" "))
    frequency = np.sort(list(counts.values()))[::-1][4:500]
    slope, offset = np.polyfit(np.log(np.arange(5, 5 + len(frequency))), np.log(frequency), 1)
    assert -1.2 < slope < -0.8
    fitted = slope * np.log(np.arange(5, 5 + len(frequency))) + offset
    assert np.abs(fitted - np.log(frequency)).mean() < 0.15


# The truth


@every_language
def test_links_stay_inside_the_sentence_and_are_not_given_twice(code):
    for pair in pairs_of(code):
        source, target = len(pair.source.split(" ")), len(pair.target.split(" "))
        assert all(0 <= i < source and 0 <= j < target for i, j in pair.links)
        assert len(set(pair.links)) == len(pair.links)
        assert [j for _, j in pair.links] == sorted(j for _, j in pair.links)


@every_language
def test_every_word_is_linked_but_the_and_that_and_a_comma(code):
    for pair in pairs_of(code):
        source, target = pair.source.split(" "), pair.target.split(" ")
        linked = {i for i, _ in pair.links}, {j for _, j in pair.links}
        assert {word for i, word in enumerate(source) if i not in linked[0]} <= {",", "،"}
        assert {word.lower() for j, word in enumerate(target) if j not in linked[1]} <= {"the", "that"}


@every_language
def test_heads_are_a_tree_of_the_sentences_words_with_one_root_that_is_a_verb_or_a_predicate(code):
    for pair in pairs_of(code):
        words = pair.source.split(" ")
        assert len(pair.heads) == len(words)
        assert is_tree(pair.heads)
        root = next(word for word, head in enumerate(pair.heads) if word == head)
        assert pair.heads[-1] == root  # the full stop
        if code != "qad" and not {",", "،"} & {*words}:
            assert root == len(words) - 2  # the verb is at the end


def test_heads_are_those_of_a_sentence_worked_by_hand():
    pair = next(pair for pair in LANGUAGES["qaa"].pairs(10) if pair.target.startswith("Walter Belkanov ignored"))
    assert pair.target == "Walter Belkanov ignored a planet with Anthony Volviley earlier ."
    assert pair.source == "Sos Valter Belkanov Antoni Volviley kosh ob lukikni nehudi ."
    # earlier, Walter, Belkanov, Anthony, Volviley, with, a, planet, ignored, stop
    assert pair.heads == (8, 2, 8, 4, 8, 4, 7, 8, 8, 8)
    report = next(pair for pair in LANGUAGES["qad"].pairs(10) if " said that " in pair.target)
    assert report.target == "Some beautiful sisters said that the hunter saw the box in a red hotel ."
    assert report.source == "Etisna saro ob kelikdena yad hazay jetsefde tsezesen tselhihdo ibil ob ."
    # sisters, beautiful, some, said, that, hunter, saw, box, in a hotel, red, a, stop
    assert report.heads == (3, 0, 0, 3, 6, 6, 3, 6, 6, 8, 8, 3)


@pytest.mark.parametrize("language", [*LANGUAGES.values(), AMBIGUOUS], ids=[*FAMILY, "ambiguous"])
def test_a_linked_content_word_has_its_stem_in_the_lexicon(language):
    stems = content_forms(language)
    checked = 0
    for pair in language.pairs(3000):
        source = pair.source.split(" ")
        target = words_of(pair.target, stems)
        partners = defaultdict(list)
        for i, j in pair.links:
            partners[j].append(source[i].lower())
        for j, word in enumerate(target):
            if word in stems:
                (stem,) = stems[word]
                assert [other.startswith(stem.lower()) for other in partners[j]] == [True]
                checked += 1
    assert checked > 10_000


@pytest.mark.full
@every_language
def test_without_ambiguity_a_sentence_has_one_translation(code):
    pairs = [*pairs_of(code), *LANGUAGES[code].pairs(20_000, start=10**6)]
    translations = defaultdict(set)
    for pair in pairs:
        translations[pair.source].add(pair.target)
    assert len(translations) < len(pairs)
    assert all(len(targets) == 1 for targets in translations.values())


@every_language
def test_without_ambiguity_the_source_form_gives_the_content_word_back(code):
    language = LANGUAGES[code]
    content = content_forms(language)
    table = defaultdict(set)
    for pair in pairs_of(code):
        source, target = pair.source.split(" "), words_of(pair.target, content)
        for i, j in pair.links:
            if target[j] in content:
                table[source[i].lower()].add(target[j])
    assert len(table) > 3000
    assert not {form: words for form, words in table.items() if len(words) > 1}


def test_synonyms_are_as_frequent_as_the_lexicon_says():
    entries = AMBIGUOUS.lexicon()[:3]
    assert [entry.target for entry in entries] == ["teacher", "instructor", "tutor"]
    assert [entry.probability for entry in entries] == pytest.approx([0.6, 0.2, 0.2])
    text = Counter(word for pair in AMBIGUOUS.pairs(10_000) for word in pair.target.split(" "))
    counts = np.array([sum(text[form] for form in entry.forms) for entry in entries])
    assert counts.sum() > 500
    assert counts / counts.sum() == pytest.approx([0.6, 0.2, 0.2], abs=0.08)


def test_ambiguity_gives_a_sentence_several_translations():
    pairs = list(AMBIGUOUS.pairs(10_000))
    usual = pairs_of("qaa")
    assert [pair.source for pair in pairs] == [pair.source for pair in usual]
    changed = np.mean([pair.target != other.target for pair, other in zip(pairs, usual, strict=True)])
    assert 0.7 < changed < 1
    translations = defaultdict(list)
    for pair in pairs:
        translations[pair.source].append(pair.target)
    repeated = [targets for targets in translations.values() if len(targets) > 1]
    assert np.mean([len(set(targets)) > 1 for targets in repeated]) > 0.5


def test_the_lexicon_adds_up():
    for language in (LANGUAGES["qab"], AMBIGUOUS):
        sums = Counter()
        for entry in language.lexicon():
            sums[entry.stem] += entry.probability
        assert list(sums.values()) == pytest.approx([1] * len(sums))


# Names: Fauci and Chan


def test_names_are_as_frequent_as_their_rank_says():
    names = [name for name in LANGUAGES["qaa"].names() if name.group == "scientist"]
    counts = Counter(word for words in english_words() for word in words)
    seen = np.array([counts[name.target] for name in names])
    share = np.array([name.share for name in names])
    assert [name.rank for name in names] == list(range(1, 61))
    assert share.sum() == pytest.approx(1)
    assert seen / seen.sum() == pytest.approx(share, abs=0.02)
    assert share[0] / share[-1] > 100


def test_the_share_of_a_first_name_is_that_of_its_bearers():
    names = {name.target: name for name in LANGUAGES["qaa"].names()}
    first = [name for name in names.values() if name.group == "first name"]
    assert sum(name.share for name in first) == pytest.approx(1)
    assert [name.share for name in first] == sorted((name.share for name in first), reverse=True)
    counts = Counter(word for words in english_words() for word in words)
    total = sum(counts[name.target] for name in first)
    assert [counts[name.target] / total for name in first] == pytest.approx([name.share for name in first], abs=0.02)


def verbs_after(names):
    found = Counter(
        words[place + 1]
        for words in english_words()
        for place, word in enumerate(words[:-1])
        if word in names and words[place + 1] not in ("did", "will", "does", "was", "is", ".", "and")
    )
    return {word: count / found.total() for word, count in found.items()}


def distance(left, right):
    return sum(abs(left.get(word, 0) - right.get(word, 0)) for word in left | right) / 2


def test_a_rare_name_stands_where_a_frequent_one_of_its_class_does():
    ranked = defaultdict(list)
    for name in LANGUAGES["qaa"].names():
        ranked[name.group].append(name.target)
    frequent = verbs_after(ranked["scientist"][:1])
    rare = verbs_after(ranked["scientist"][10:])
    others = verbs_after(ranked["politician"])
    assert distance(frequent, rare) < 0.25
    assert distance(frequent, others) > 0.5


def test_a_name_is_borrowed_as_it_sounds():
    borrowed = {
        code: {name.target: name.source for name in LANGUAGES[code].names() if name.group == "first name"}
        for code in FAMILY
    }
    assert [borrowed[code]["Anthony"] for code in ("qaa", "qab")] == ["Antoni", "Antoni"]
    assert [borrowed[code]["Walter"] for code in ("qaa", "qad")] == ["Valter", "Valtere"]
    assert [borrowed[code]["Stella"] for code in ("qaa", "qab")] == ["Istela", "Stela"]
    assert UYGHUR_LATIN.apply(borrowed["qac"]["Felix"]) == "peliks"


# Settings


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        ("seed", -1, "from 0 to 4294967295"),
        ("vocabulary", 99, "from 100 to 50000"),
        ("names", 0, "from 1 to 2000"),
        ("ambiguity", 1.5, "from 0 to 1"),
    ],
)
def test_a_setting_out_of_range_is_named_with_a_remedy(setting, value, remedy):
    with pytest.raises(CorpusError) as error:
        ArtificialSettings(**{setting: value})
    assert str(error.value) == f"artificial language: {setting} is {value}; choose a number {remedy}"
