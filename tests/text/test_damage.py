"""References with damaged words: each kind by hand, and the share over many words."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.text.noise import damage
from nmtlab.text.noise.damage import KINDS, damaged

sentences = st.lists(st.sampled_from("abcdefgh"), max_size=12).map(" ".join)


class Fixed:
    """Draws that are given: of the damage, of its kinds and of other words."""

    def __init__(self, chances: list[float], kinds: list[str], others: list[int]) -> None:
        self._chances, self._integers = chances, [[KINDS.index(kind) for kind in kinds], others]

    def random(self, size: int) -> np.ndarray:
        return np.array(self._chances[:size])

    def integers(self, most: int, size: int) -> np.ndarray:
        return np.array(self._integers.pop(0)[:size])


@pytest.mark.parametrize(
    ("kind", "result"),
    [("drop", "the dog a cat"), ("swap", "the dog a sees cat"), ("replace", "the dog house a cat")],
)
def test_a_word_is_dropped_swapped_with_the_next_or_replaced(kind, result):
    random = Fixed([0.9, 0.9, 0.1, 0.9, 0.9], [kind] * 5, [1] * 5)
    assert damaged("the dog sees a cat", 0.2, ["child", "house"], random) == result


def test_the_last_word_is_swapped_with_the_one_before_it_and_a_single_one_stays():
    assert damaged("a cat", 0.2, ["x"], Fixed([0.9, 0.1], ["swap"] * 2, [0, 0])) == "cat a"
    assert damaged("cat", 0.2, ["x"], Fixed([0.1], ["swap"], [0])) == "cat"


def test_a_sentence_can_lose_all_of_its_words_and_a_blank_one_has_none():
    assert damaged("a cat", 0.2, ["x"], Fixed([0.1, 0.1], ["drop"] * 2, [0, 0])) == ""
    assert damaged("  ", 1, ["x"], np.random.default_rng(1)) == ""


@given(sentences, st.integers(0, 9))
def test_the_same_draws_give_the_same_text_and_no_share_leaves_it(sentence, seed):
    ways = [damaged(sentence, 0.5, ["x", "y"], np.random.default_rng(seed)) for _ in range(2)]
    assert ways[0] == ways[1]
    assert damaged(sentence, 0, ["x"], np.random.default_rng(seed)) == sentence


@given(st.integers(0, 50), st.sampled_from(["drop", "replace"]))
def test_a_smaller_share_damages_some_of_the_words_of_a_larger_one(seed, kind):
    sentence, places = " ".join(map(str, range(20))), []
    original, damage.KINDS = damage.KINDS, (kind,) * 3
    try:
        for share in (0.1, 0.3):
            left = damaged(sentence, share, ["x"], np.random.default_rng(seed)).split()
            places.append({word for word in sentence.split() if word not in left})
    finally:
        damage.KINDS = original
    assert places[0] <= places[1]


def test_the_share_is_that_of_the_words_and_the_kinds_are_equally_frequent():
    words, share = 60_000, 0.03  # small enough that damaged words are seldom neighbours
    sentence = " ".join(f"w{number}" for number in range(words))
    found = damaged(sentence, share, ["x"], np.random.default_rng(3)).split()
    kept = [int(word[1:]) for word in found if word != "x"]
    swapped = sum(first > second for first, second in pairwise(kept))
    assert [words - len(found), found.count("x"), swapped] == pytest.approx([share * words / 3] * 3, rel=0.1)


def test_two_words_that_both_change_places_do_not_change_back():
    found = {damaged("a b", 1.0, ["x"], np.random.default_rng(seed)) for seed in range(200)}
    assert "a b" not in found
    assert "b a" in found
