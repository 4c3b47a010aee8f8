from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import (
    BLANK,
    DUPLICATE,
    LEAK,
    RATIO,
    TOO_LONG,
    Limits,
    clean,
    is_copied,
    is_in_other_script,
    normalise,
    rejection_reason,
    sentence_digests,
    without_leaks,
)
from nmtlab.text.corpora.corpus import ParallelCorpus

SHARED = Path(__file__).parents[2].parent / "shared/data"
SENTENCES = st.text("aAbB ", max_size=4)
PAIRS = st.lists(st.tuples(SENTENCES, SENTENCES), max_size=15)


@pytest.mark.parametrize(
    ("pair", "limits", "reason"),
    [
        (("a b", "c"), Limits(), ""),
        (("", "c"), Limits(), BLANK),
        (("a", " \t\u2003"), Limits(), BLANK),
        (("", ""), Limits(), BLANK),
        (("a b c", "d"), Limits(max_words=3), ""),
        (("d", "a b c d"), Limits(max_words=3), TOO_LONG),
        (("a b c", "d"), Limits(max_ratio=3), ""),
        (("a b c d", "e"), Limits(max_ratio=3), RATIO),
        (("e", "a b c d"), Limits(max_ratio=3), RATIO),
        (("a b c", "d e"), Limits(max_ratio=1.5), ""),
        (("e", "a b c d"), Limits(max_words=3, max_ratio=3), TOO_LONG),
        (("e", "x" * 300), Limits(max_words=3), ""),
        (("e", "x" * 301), Limits(max_words=3), TOO_LONG),
        (("", "a b c d"), Limits(max_words=3), BLANK),
    ],
)
def test_the_fault_of_a_pair(pair, limits, reason):
    assert rejection_reason(pair, limits) == reason


@pytest.mark.parametrize(("source", "ratio"), [("ja", 3), ("tha_Thai", 3), ("ko", 9), ("qaa", 9)])
def test_the_ratio_is_of_characters_where_words_cannot_be_counted(source, ratio):
    limits = Limits(max_ratio=ratio).of(source, "en")
    assert limits.ratio(("a b c d e fghi", " kkkkk ")) == pytest.approx(14 / 5 if ratio == 3 else 6)
    assert rejection_reason(("a b c d e f g h", "kkkkk"), limits) == ""
    assert rejection_reason(("a b c d e f g h i", "kkkkk"), limits) == (RATIO if ratio == 3 else "")
    assert limits.options.get("by_characters", False) == (ratio == 3)


@pytest.mark.parametrize(
    ("pair", "copied"), [(("OK", "ok "), True), (("a  b", "a b"), True), (("2019", "2019"), True), (("a.", "a"), False)]
)
def test_a_copy_is_one_whatever_its_case_and_white_space(pair, copied):
    assert is_copied(pair) is copied


@pytest.mark.parametrize(
    ("sentence", "language", "other"),
    [
        ("Файл", "uz", True),
        ("Файл", "uz-Cyrl", False),
        ("Файл VLC", "uz-Cyrl", False),
        ("Файл OpenGL", "uz-Cyrl", True),
        ("ファイル 漢字ー", "ja", False),
        ("漢字とかな", "zh", True),
        ("Ａ１ 100 %", "ug", True),
        ("100 % ...", "ug", False),
        ("", "ug", False),
        ("word", "qaa", False),
        ("слово", "qaa", False),
        ("слово", "en-Abcd", False),
        ("tiếng Việt ª", "vi", False),
    ],
)
def test_a_sentence_is_in_another_script_if_most_of_its_letters_are(sentence, language, other):
    assert is_in_other_script(sentence, language) is other


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"max_words": 0}, "max_words is 0; give 1"), ({"max_ratio": 0.5}, "max_ratio is 0.5; give 1 or more, or 0")],
)
def test_limits_that_allow_nothing_are_refused(settings, message):
    with pytest.raises(CorpusError, match=message):
        Limits(**settings)


@given(PAIRS)
def test_what_is_kept_and_what_is_dropped_make_up_the_input(pairs):
    dropped = Counter()
    kept = list(clean(pairs, Limits(max_words=1), dropped))
    assert len(kept) + dropped.total() == len(pairs)
    good = [pair for pair in pairs if all(len(side.split()) == 1 for side in pair)]
    assert kept == list(dict.fromkeys(good))
    assert dropped[DUPLICATE] == len(good) - len(set(good))
    assert dropped[BLANK] == sum(not pair[0].split() or not pair[1].split() for pair in pairs)


def test_sides_are_not_run_together_when_duplicates_are_sought():
    pairs = [("a b", "c"), ("a", "b c"), ("ab", "c"), ("a", "bc")]
    assert list(clean(pairs, Limits(), Counter())) == pairs


@given(PAIRS, PAIRS)
def test_a_leak_is_a_pair_with_a_sentence_of_the_other_set(train, dev):
    dropped = Counter()
    kept = list(without_leaks(train, sentence_digests(dev), dropped))
    known = {normalise(side) for pair in dev for side in pair}
    assert kept == [pair for pair in train if not {normalise(side) for side in pair} & known]
    assert dropped.total() == dropped[LEAK] == len(train) - len(kept)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Save  As", "save as ", True),
        ("STRASSE", "straße", True),
        ("ti\u1ebfng", "tie\u0302\u0301ng", True),
        ("10\u00a0km", "10 km", True),
        ("save as", "save as.", False),
        ("save as", "saveas", False),
    ],
)
def test_case_white_space_and_composition_make_no_difference(one, other, equal):
    assert (normalise(one) == normalise(other)) is equal


def test_cleaning_streams():
    def endless():
        while True:
            yield "same", "pair"
            yield "", "blank"
            number[0] += 1
            yield f"new {number[0]}", "pair"

    number = [0]
    kept = clean(endless(), Limits(), Counter())
    assert [next(kept) for _ in range(3)] == [("same", "pair"), ("new 1", "pair"), ("new 2", "pair")]


@pytest.mark.parametrize("name", ["tatoeba-ug-en", "software-ur-en"])
def test_real_corpora_that_were_cleaned_more_strictly_lose_nothing(name):
    if not SHARED.is_dir():
        pytest.skip("no real corpora beside the checkout")
    corpus = ParallelCorpus.open(SHARED / name)
    dropped = Counter()
    held_out = sentence_digests(corpus.pairs("dev")) | sentence_digests(corpus.pairs("test"))
    kept = list(without_leaks(clean(corpus.pairs("train"), Limits(10_000), dropped), held_out, dropped))
    assert kept == list(corpus.pairs("train"))
    leaked = list(without_leaks(corpus.pairs("dev"), held_out, dropped))
    assert leaked == []
    assert dropped == {LEAK: corpus.count("dev")}
