from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtlab.recipe.text import TextSettings
from nmtlab.text.batching.batches import Batches, pad, sorted_batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.batching.shards import EncodedSide, Shard
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import EOS, PAD

DATA = Path(__file__).parents[2].parent / "shared/data"

lengths_of_pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=120)


def numbered(lengths):
    """Return a side whose sentence i is i+10, i+10, ... EOS."""
    rows = [[number + 10] * (length - 1) + [EOS] for number, length in enumerate(lengths)]
    offsets = np.cumsum([0, *lengths])
    return EncodedSide(np.concatenate(rows).astype(np.uint16), offsets, np.array(lengths, dtype=np.int32))


def corpus_of(lengths):
    sources, targets = zip(*lengths, strict=True)
    return EncodedCorpus((Shard(numbered(sources), numbered(targets)),), {})


def rows_of(batches):
    """Return the pairs of batches without padding."""
    return [
        tuple(tuple(number for number in side if number != PAD) for side in pair)
        for batch in batches
        for pair in zip(batch.source.tolist(), batch.target.tolist(), strict=True)
    ]


def pairs_of(encoded):
    return [(tuple(encoded.source(number)), tuple(encoded.target(number))) for number in range(len(encoded))]


@settings(max_examples=150)
@given(lengths_of_pairs, st.integers(1, 200), st.integers(0, 2**32), st.integers(0, 9), st.integers(1, 50))
def test_every_pair_is_in_one_batch_of_an_epoch(lengths, budget, seed, number, window):
    encoded = corpus_of(lengths)
    batches = Batches(Mixture([encoded]), budget, seed, window).epoch(number)
    assert sorted(rows_of(batches)) == sorted(pairs_of(encoded))


@settings(max_examples=150)
@given(lengths_of_pairs, st.integers(1, 200), st.integers(0, 9), st.integers(1, 50))
def test_no_batch_is_over_the_budget_unless_it_is_a_single_pair(lengths, budget, number, window):
    for batch in Batches(Mixture([corpus_of(lengths)]), budget, 1, window).epoch(number):
        padded = batch.rows * max(batch.source.shape[1], batch.target.shape[1])
        assert padded <= budget or batch.rows == 1
        assert batch.source.dtype == batch.target.dtype == np.int64
        assert len(batch.source) == len(batch.target) == batch.rows


@settings(max_examples=100)
@given(lengths_of_pairs, st.integers(1, 200), st.integers(1, 50))
def test_tokens_are_counted_without_padding(lengths, budget, window):
    batches = list(Batches(Mixture([corpus_of(lengths)]), budget, 1, window).epoch(0))
    assert sum(batch.source_tokens for batch in batches) == sum(source for source, _ in lengths)
    assert sum(batch.target_tokens for batch in batches) == sum(target for _, target in lengths)


@settings(max_examples=50)
@given(lengths_of_pairs, st.integers(1, 200), st.integers(0, 9), st.integers(1, 50), st.integers(0, 130))
def test_an_epoch_begun_later_is_the_tail_of_the_whole(lengths, budget, number, window, start):
    batches = Batches(Mixture([corpus_of(lengths)]), budget, 3, window)
    whole = list(batches.epoch(number))
    tail = list(batches.epoch(number, start))
    assert len(tail) == max(0, len(whole) - start)
    for one, other in zip(whole[start:], tail, strict=True):
        assert np.array_equal(one.source, other.source)
        assert np.array_equal(one.target, other.target)


def test_each_epoch_and_each_seed_has_an_order_of_its_own():
    encoded = corpus_of([(3 + number % 5, 2 + number % 7) for number in range(200)])
    orders = [rows_of(Batches(Mixture([encoded]), 60, seed, 100).epoch(number)) for seed in (1, 2) for number in (0, 1)]
    for place, order in enumerate(orders):
        assert order not in orders[place + 1 :]


def test_batches_are_cut_anew_each_epoch():
    encoded = corpus_of([(5, 5)] * 100)
    batches = Batches(Mixture([encoded]), 50, 1)
    first, second = ({frozenset(rows_of([batch])) for batch in batches.epoch(number)} for number in (0, 1))
    assert len(first) == len(second) == 10
    assert first != second


def test_batches_do_not_come_in_the_order_of_their_length():
    encoded = corpus_of([(length, length) for length in range(1, 101)])
    widths = [batch.source.shape[1] for batch in Batches(Mixture([encoded]), 200, 1).epoch(0)]
    assert widths not in (sorted(widths), sorted(widths, reverse=True))


def test_pairs_of_one_window_share_batches_and_those_of_others_do_not():
    encoded = corpus_of([(4, 4)] * 60)
    sizes = [batch.rows for batch in Batches(Mixture([encoded]), 100, 1, window=10).epoch(0)]
    assert sizes == [10] * 6
    assert [batch.rows for batch in Batches(Mixture([encoded]), 100, 1, window=60).epoch(0)].count(25) == 2


@pytest.mark.full
@pytest.mark.skipif(not DATA.is_dir(), reason="no real corpora beside the checkout")
def test_real_batches_have_little_padding_on_both_sides(tmp_path):
    corpus = ParallelCorpus.open(DATA / "wmtnews-tr-en", "tr", "en")
    pipeline = Pipeline.learn(TextSettings(vocabulary_size=4000), corpus)
    encoded = EncodedCorpus.open(tmp_path, pipeline, corpus)
    batches = list(Batches(Mixture([encoded]), 4096, 1).epoch(0))
    tokens = sum(batch.source_tokens + batch.target_tokens for batch in batches)
    assert tokens == encoded.shards[0].source.lengths.sum() + encoded.shards[0].target.lengths.sum()
    assert 1 - tokens / sum(batch.source.size + batch.target.size for batch in batches) < 0.1
    used = [batch.rows * max(batch.source.shape[1], batch.target.shape[1]) for batch in batches]
    assert np.mean(used) > 0.97 * 4096


@given(st.lists(st.integers(0, 40), max_size=80), st.integers(1, 100))
def test_sorted_batches_hold_every_sentence_once_shortest_first_within_the_budget(lengths, budget):
    groups = sorted_batches(lengths, budget)
    assert sorted(place for group in groups for place in group) == list(range(len(lengths)))
    ordered = [lengths[place] for group in groups for place in group]
    assert ordered == sorted(lengths)
    for group in groups:
        assert len(group) * max(lengths[place] for place in group) <= budget or len(group) == 1
    for group, following in pairwise(groups):  # and none could have taken one more
        assert (len(group) + 1) * lengths[following[0]] > budget


def test_id_lists_are_filled_up_with_padding():
    assert pad([[5, 6, 2], [2], [7, 2]]).tolist() == [[5, 6, 2], [2, PAD, PAD], [7, 2, PAD]]
    assert pad([[5, 2]]).dtype == np.int64
    assert pad([]).shape == (0, 0)
    assert pad([[], []]).shape == (2, 0)
