from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.errors import RunError
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary, most_frequent

WORDS = Counter({"the": 5, "a": 2, "cat": 2, "sat": 1})


def test_types_are_ordered_by_falling_frequency_and_then_by_the_alphabet():
    assert most_frequent(Counter(b=2, a=2, c=3, d=1)) == ["c", "a", "b", "d"]


def test_the_most_frequent_types_are_kept():
    assert most_frequent(WORDS, most=3) == ["the", "a", "cat"]


def test_types_seen_too_seldom_are_dropped():
    assert most_frequent(WORDS, min_frequency=2) == ["the", "a", "cat"]


def test_the_special_types_come_first():
    vocabulary = Vocabulary.of_words(["the"], WORDS, 2)
    assert vocabulary.tokens([PAD, BOS, EOS, UNK, 4]) == ["<pad>", "<s>", "</s>", "<unk>", "the"]
    assert vocabulary.size == 5


def test_an_unknown_word_is_unk():
    assert Vocabulary.of_words(["the", "cat"], WORDS, 2).ids(["the", "dog", "cat"]) == [4, UNK, 5]


def test_text_that_looks_like_a_special_type_is_not_one():
    assert Vocabulary.of_words(["the"], WORDS, 2).ids(SPECIALS) == [UNK] * 4
    assert Vocabulary.of_words(["<s>"], Counter({"<s>": 1}), 2).ids(["<s>"]) == [4]


def test_words_outside_the_vocabulary_are_counted_as_unk_and_sentences_as_eos():
    vocabulary = Vocabulary.of_words(["the", "cat", "dog"], WORDS, 7)
    assert vocabulary.counts.tolist() == [0, 0, 7, 3, 5, 2, 0]
    assert vocabulary.counts.dtype == np.int64


def test_counts_cannot_be_changed():
    given_counts = np.arange(5)
    vocabulary = Vocabulary((*SPECIALS, "a"), given_counts)
    given_counts[4] = 100
    assert vocabulary.counts[4] == 4
    with pytest.raises(ValueError, match="read-only"):
        vocabulary.counts[4] = 0


@given(st.dictionaries(st.text(min_size=1), st.integers(0, 2**60), max_size=20))
def test_any_types_come_back_from_tsv(counts):
    vocabulary = Vocabulary((*SPECIALS, *counts), np.array([0, 0, 1, 2, *counts.values()]))
    again = Vocabulary.from_tsv(vocabulary.to_tsv(), "source.tsv")
    assert again.types == vocabulary.types
    assert again.counts.tolist() == vocabulary.counts.tolist()


def test_a_tsv_has_a_line_for_each_type_even_with_tabs_and_line_breaks_inside():
    vocabulary = Vocabulary((*SPECIALS, "a\tb\nc\\n"), np.zeros(5))
    assert vocabulary.to_tsv().split("\n") == [*(f"{name}\t0" for name in SPECIALS), r"a\tb\nc\\n" + "\t0", ""]


@pytest.mark.parametrize("line", ["word", "word\t", "word\tmany", "word\t-1", "word\t1\t2", "word\t1.5", ""])
def test_a_damaged_line_is_named(line):
    text = Vocabulary.of_words(["the"], WORDS, 2).to_tsv() + line + "\nnext\t1\n"
    with pytest.raises(RunError, match=r"^source\.tsv, line 6: not a type and a count; restore the file") as caught:
        Vocabulary.from_tsv(text, "source.tsv")
    assert "\n" not in str(caught.value)


def test_a_tsv_without_the_special_types_is_refused():
    with pytest.raises(RunError, match=r"^source\.tsv: does not begin with <pad>, <s>.*; restore"):
        Vocabulary.from_tsv("the\t5\na\t2\n", "source.tsv")
