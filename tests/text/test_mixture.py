"""Several texts in one epoch: how much of each, in which order, and what their batches know of them."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.batching.shards import EncodedSide, Shard
from nmtlab.text.segmentation.vocabulary import EOS, PAD


def side(first: int, lengths: list[int]) -> EncodedSide:
    """Return sentences of which the words of each have a number of their own, from `first` on."""
    rows = [[first + number] * (length - 1) + [EOS] for number, length in enumerate(lengths)]
    return EncodedSide(np.concatenate(rows), np.cumsum([0, *lengths]), np.array(lengths, dtype=np.int32))


def text(first: int, shards: list[int], source: str = "xx", target: str = "en", weight: float = 1.0) -> EncodedCorpus:
    """Return a text whose pair i has the words `first` + i on both sides, in shards of some sizes."""
    starts = np.cumsum([0, *shards])
    made = []
    for begin, end in pairwise(starts):
        lengths = [2 + (number * 7) % 5 for number in range(begin, end)]
        made.append(Shard(side(first + begin, lengths), side(first + begin, lengths[::-1])))
    return EncodedCorpus(tuple(made), {"too long": 1}, source, target, weight)


def drawn(mixture: Mixture, epoch: int = 0, window: int = 50) -> Counter[int]:
    """Return how often an epoch has each pair, by the number of its words."""
    batches = Batches(mixture, 60, seed=1, window=window).epoch(epoch)
    return Counter(row[0] for batch in batches for row in batch.source.tolist())


SIZES = st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=3), min_size=1, max_size=3)


@settings(max_examples=80)
@given(SIZES, st.integers(0, 5), st.integers(1, 20))
def test_texts_that_are_sampled_as_they_are_have_each_pair_once_in_an_epoch(sizes, epoch, window):
    texts = [text(1000 * (number + 1), shards) for number, shards in enumerate(sizes)]
    expected = {1000 * (n + 1) + pair for n, shards in enumerate(sizes) for pair in range(sum(shards))}
    assert drawn(Mixture(texts, 1.0), epoch, window) == dict.fromkeys(expected, 1)


@settings(max_examples=80)
@given(SIZES, st.floats(0, 1), st.integers(1, 20))
def test_no_pair_of_a_text_comes_twice_before_all_have_come_once(sizes, exponent, window):
    mixture = Mixture([text(1000 * (number + 1), shards) for number, shards in enumerate(sizes)], exponent)
    found = drawn(mixture, window=window)
    for number, (shards, quota) in enumerate(zip(sizes, mixture.quotas_of(0), strict=True), start=1):
        times = [found[1000 * number + pair] for pair in range(sum(shards))]
        assert sum(times) == quota
        assert max(times) - min(times) <= 1


@pytest.mark.parametrize(
    ("exponent", "quotas"),
    [(1.0, [900, 100]), (0.0, [500, 500]), (0.5, [750, 250]), (0.7, [823, 177])],  # 900**0.7 : 100**0.7 = 4.655 : 1
)
def test_shares_follow_the_power_of_the_sizes(exponent, quotas):
    assert Mixture([text(4, [900]), text(2000, [100])], exponent).quotas_of(0) == quotas


def test_a_part_of_a_pass_is_other_pairs_in_another_epoch():
    mixture = Mixture([text(10, [60]), text(1000, [20])], 0.5)
    parts = [{pair for pair in drawn(mixture, epoch) if pair < 1000} for epoch in (0, 1)]
    assert all(40 < len(part) < 60 for part in parts)
    assert parts[0] != parts[1]


def test_every_window_is_mixed_like_the_whole():
    mixture = Mixture([text(10, [300]), text(1000, [100])], 1.0)
    windows = list(mixture.windows(np.random.default_rng(1), 40))
    assert [sum(window < 300) for window in windows] == [30] * 10


def test_shards_are_read_one_after_the_other_each_in_random_order():
    orders = []
    for seed in range(8):
        (pairs,) = Mixture([text(10, [30, 20, 10])]).windows(np.random.default_rng(seed), 100)
        shards = np.searchsorted([30, 50], pairs, side="right")
        order = list(dict.fromkeys(shards.tolist()))
        assert shards.tolist() == sorted(shards.tolist(), key=order.index)
        assert sorted(pairs) != pairs.tolist()
        orders.append(tuple(order))
    assert len(set(orders)) > 1


def test_a_text_in_one_shard_is_shuffled_as_a_whole_and_in_no_other_way():
    random = np.random.Generator(np.random.PCG64DXSM([3, 5]))
    expected = np.arange(40, dtype=np.uint32)
    np.random.Generator(np.random.PCG64DXSM([3, 5])).shuffle(expected)
    for exponent in (0.0, 0.7, 1.0):
        random = np.random.Generator(np.random.PCG64DXSM([3, 5]))
        (pairs,) = Mixture([text(10, [40])], exponent).windows(random, 100)
        assert pairs.tolist() == expected.tolist()


def test_a_batch_has_one_direction_and_knows_the_text_of_each_pair():
    texts = [text(10, [20, 11]), text(1000, [25], weight=0.5), text(2000, [30], "en", "xx", weight=2.0)]
    seen: Counter[tuple[str, str]] = Counter()
    for batch in Batches(Mixture(texts, 1.0), 60, seed=1, window=30).epoch(0):
        of_rows = [0 if row[0] < 1000 else 1 if row[0] < 2000 else 2 for row in batch.source.tolist()]
        assert batch.origin.tolist() == of_rows
        assert batch.weight.tolist() == [(1.0, 0.5, 2.0)[origin] for origin in of_rows]
        assert {texts[origin].direction for origin in of_rows} == {(batch.source_language, batch.target_language)}
        seen[batch.source_language, batch.target_language] += batch.rows
    assert seen == {("xx", "en"): 56, ("en", "xx"): 30}


def test_pairs_of_several_shards_are_padded_together_and_stay_translations_of_each_other():
    mixture = Mixture([text(10, [9, 8]), text(1000, [7])], 1.0)
    batch = mixture.batch(np.array([20, 3, 16, 9]))
    assert [row[0] for row in batch.source.tolist()] == [1003, 13, 26, 19]
    assert [row[0] for row in batch.target.tolist()] == [1003, 13, 26, 19]
    source, target = mixture.lengths(np.array([20, 3, 16, 9]))
    assert (batch.source != PAD).sum(1).tolist() == source.tolist()
    assert batch.target_mask.sum(1).tolist() == target.tolist()


def test_pairs_that_all_count_once_have_no_weights_and_what_was_left_out_is_added_up():
    mixture = Mixture([text(10, [5]), text(1000, [5])])
    assert mixture.batch(np.array([0, 7])).weight is None
    assert mixture.skipped == {"too long": 2}


# Texts that take turns


def taking_turns(*rotations: str, sizes: tuple[int, ...] = (20, 11, 13, 7), exponent: float = 1.0) -> Mixture:
    texts = [text(1000 * (place + 1), [size]) for place, size in zip(range(len(rotations)), sizes, strict=False)]
    return Mixture(texts, exponent, rotations=rotations)


@pytest.mark.parametrize("first", [0, 4])
def test_as_many_epochs_as_texts_that_take_turns_have_each_of_them_once_and_the_others_always(first):
    mixture = taking_turns("", "made", "made", "made")
    epochs = [drawn(mixture, number) for number in range(first, first + 3)]
    for epoch in epochs:
        assert {pair // 1000 for pair in epoch if pair >= 2000} in ({2}, {3}, {4})
        assert {pair for pair in epoch if pair < 2000} == set(range(1000, 1020))
        assert set(epoch.values()) == {1}
    together = sum(epochs, Counter())
    assert {pair for pair, times in together.items() if times == 1} == {
        1000 * place + pair for place, size in ((2, 11), (3, 13), (4, 7)) for pair in range(size)
    }


def test_a_rotation_counts_as_the_text_whose_turn_it_is():
    mixture = taking_turns("", "made", "made", sizes=(900, 100, 900), exponent=0.5)
    assert [mixture.quotas_of(epoch) for epoch in range(3)] == [[750, 250, 0], [900, 0, 900], [750, 250, 0]]


def test_rotations_of_different_names_or_directions_turn_by_themselves():
    texts = [text(10, [5]), text(1000, [5]), text(2000, [5], "en", "xx"), text(3000, [5], "en", "xx"), text(4000, [5])]
    mixture = Mixture(texts, rotations=("a", "a", "a", "a", "b"))
    present = [[quota > 0 for quota in mixture.quotas_of(epoch)] for epoch in (0, 1)]
    assert present == [[True, False, True, False, True], [False, True, False, True, True]]


@pytest.mark.parametrize("epoch", [0, 1, 7])
def test_a_rotation_of_one_text_is_that_text_in_every_epoch(epoch):
    turning, always = taking_turns("", "made", exponent=0.7), taking_turns("", "", exponent=0.7)
    for ours, theirs in zip(*(Batches(one, 60, seed=3).epoch(epoch) for one in (turning, always)), strict=True):
        assert np.array_equal(ours.source, theirs.source)


def test_an_epoch_of_texts_that_take_turns_goes_on_where_it_was_left():
    batches = Batches(taking_turns("", "made", "made"), 60, seed=1)
    for number in (0, 1):
        whole = list(batches.epoch(number))
        assert len(whole) == batches.count(number) > 2
        rest = batches.epoch(number, start=2)
        assert all(np.array_equal(ours.source, theirs.source) for ours, theirs in zip(rest, whole[2:], strict=True))
