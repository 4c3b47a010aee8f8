import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.splitting import HoldOut, divide, hash_position

NUMBERS = [hash_position(f"sentence {number}") for number in range(20_000)]
PLACES = st.lists(st.integers(0, 2**52 - 1).map(lambda k: k / 2**52), min_size=1, max_size=30)


def _parts(places, hold_out):
    division = divide(places, hold_out)
    return {split: [p for p in places if division.split(p) == split] for split in ("train", "dev", "test")}


def test_the_place_is_the_beginning_of_the_sha1_as_a_fraction():
    digits = hashlib.sha1(b"hello world").hexdigest()[:13]
    assert hash_position("Hello  World ") == int(digits, 16) / 16**13


def test_places_are_spread_evenly():
    assert sum(NUMBERS) / len(NUMBERS) == pytest.approx(0.5, abs=0.01)
    for tenth in range(10):
        assert sum(tenth <= 10 * p < tenth + 1 for p in NUMBERS) == pytest.approx(2000, rel=0.1)


def test_shares_are_held_out_as_far_as_chance_allows():
    parts = _parts(NUMBERS, HoldOut(dev=0.1, test=0.2, most=20_000))
    assert len(parts["dev"]) == pytest.approx(2000, rel=0.1)
    assert len(parts["test"]) == pytest.approx(4000, rel=0.1)
    assert max(parts["test"]) < 0.2 <= min(parts["train"])
    assert max(parts["train"]) <= 0.9 < min(parts["dev"])


@pytest.mark.parametrize(
    ("hold_out", "dev", "test"),
    [
        (HoldOut(dev=300, test=500), 300, 500),
        (HoldOut(dev=0.2, test=0.2, most=700), 700, 700),
        (HoldOut(dev=0, test=1), 0, 1),
        (HoldOut(dev=0, test=0), 0, 0),
        (HoldOut(dev=2000, test=0.5, most=1000), 2000, 1000),
    ],
)
def test_numbers_and_the_most_of_a_share_are_met_exactly(hold_out, dev, test):
    parts = _parts(NUMBERS, hold_out)
    assert (len(parts["dev"]), len(parts["test"])) == (dev, test)


def test_without_a_limit_the_same_sentences_are_held_out_from_every_corpus():
    hold_out = HoldOut(most=20_000)
    whole = divide(NUMBERS, hold_out)
    part = divide(random.Random(1).sample(NUMBERS, 3000), hold_out)
    assert [whole.split(p) for p in NUMBERS] == [part.split(p) for p in NUMBERS]


def test_a_smaller_test_set_is_part_of_a_larger_one():
    sizes = [0.01, 50, 400, 0.1]
    tests = [set(_parts(NUMBERS, HoldOut(test=size, most=20_000))["test"]) for size in sizes]
    for one in tests:
        assert all(one <= other or other <= one for other in tests)


@given(PLACES, st.integers(0, 8), st.integers(0, 8), st.randoms(use_true_random=False))
def test_pairs_with_one_sentence_stay_together_and_no_more_than_asked_are_taken(places, dev, test, shuffled):
    places = [*places, *places[:10], 0.5]
    try:
        division = divide(places, HoldOut(dev=dev, test=test))
    except CorpusError:
        assert dev + test >= len(set(places))
        return
    taken = [division.split(p) for p in places]
    for split, size in (("dev", dev), ("test", test)):
        assert taken.count(split) <= size
    # One more sentence, with all its pairs, would have been too many.
    left = sorted(p for p, split in zip(places, taken, strict=True) if split == "train")
    if left[0] != left[-1]:
        assert taken.count("test") + left.count(left[0]) > test
        assert taken.count("dev") + left.count(left[-1]) > dev
    shuffled.shuffle(places)
    assert divide(places, HoldOut(dev=dev, test=test)) == division


@pytest.mark.parametrize("hold_out", [HoldOut(dev=60, test=60), HoldOut(dev=0.7, test=0.7), HoldOut(dev=500, test=0)])
def test_holding_everything_out_is_an_error(hold_out):
    with pytest.raises(CorpusError, match=r"100 pairs: with dev .* and test .* none is left .*; hold out less"):
        divide(NUMBERS[:100], hold_out)


@pytest.mark.parametrize("size", [-0.1, 1.5, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["dev", "test"])
def test_sizes_that_mean_nothing_are_refused(name, size):
    with pytest.raises(CorpusError, match=f"{name} is .*; give a share below 1 or a whole number"):
        HoldOut(**{name: size})


def test_a_negative_most_is_refused():
    with pytest.raises(CorpusError, match="most is -1"):
        HoldOut(most=-1)
