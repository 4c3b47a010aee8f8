"""Sentences that training text has in nearly the same words."""

import random

import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.similar import Similar, shares_similar, similar


@pytest.mark.parametrize("alike", [0.1, 0.5, 0.7, 1.0])
def test_the_same_sentences_are_found_as_by_comparing_all_pairs(alike):
    draw = random.Random(1)
    text = [" ".join(draw.choices("a b c d e f g h".split(), k=draw.randint(0, 7))) for _ in range(300)]
    lines, train = text[:100], text[100:]
    assert similar(lines, iter(train), "en", alike) == [
        any(jaccard(line, other) >= alike for other in train) for line in lines
    ]


def jaccard(one: str, other: str) -> float:
    first, second = set(one.split()), set(other.split())
    return len(first & second) / len(first | second) if first else 0.0


def test_order_repetition_case_and_punctuation_do_not_count():
    assert similar(["Open the file ...", "Close it."], ["the: the file, open"], "en") == [True, False]


def test_seven_words_of_ten_are_enough():
    ten = "a b c d e f g h i j"
    assert similar([ten, "a b c d e f h i j k l"], ["a b c d e f g"], "en") == [True, False]


def test_a_blank_line_is_similar_to_none():
    assert similar([""], ["", "a"], "en") == [False]


def test_without_spaces_pairs_of_letters_are_compared():
    line = "彼女は毎朝公園を散歩します"
    assert similar([line], ["彼は毎朝公園を散歩します。"], "ja") == [True]
    assert similar([line], ["彼は毎朝公園を散歩します。"], "en") == [False]
    assert similar([line], ["彼は毎晩新聞を読みます"], "ja") == [False]
    assert similar(["犬"], ["犬!"], "ja") == [True]


@pytest.mark.parametrize("alike", [0, 1.1, -1])
def test_a_share_out_of_range_is_refused(alike):
    with pytest.raises(CorpusError, match="give a share above 0 and at most 1"):
        Similar(["a"], "en", alike)


def test_each_split_and_side_of_a_corpus_has_its_share(tmp_path):
    files = {"train.uz": ["a b c", "d e"], "train.en": ["x", "y z"], "dev.uz": ["C B a", "e"], "dev.en": ["y", "Z Y"]}
    for name, lines in {**files, "test.uz": ["d, e!"], "test.en": ["w"]}.items():
        write_lines(tmp_path / name, lines)
    shares = shares_similar(ParallelCorpus.open(tmp_path))
    assert shares == {("dev", "uz"): 0.5, ("dev", "en"): 0.5, ("test", "uz"): 1.0, ("test", "en"): 0.0}


def test_without_train_nothing_is_similar_to_it(tmp_path):
    for name in ("dev.uz", "dev.en"):
        write_lines(tmp_path / name, ["a"])
    assert shares_similar(ParallelCorpus.open(tmp_path)) == {}
