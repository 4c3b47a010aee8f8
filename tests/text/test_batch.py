"""A batch is cut, moved and counted as a whole."""

from dataclasses import fields, replace

import numpy as np
import torch

from nmtlab.models.interface import on_device
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD

SOURCE = np.array([[5, 6, EOS], [7, EOS, PAD], [8, 9, EOS]])
TARGET = np.array([[10, 11, EOS, PAD], [12, EOS, PAD, PAD], [13, 14, 15, EOS]])
MORE = {
    "origin": np.array([0, 2, 1]), "weight": np.array([1.0, 0.5, 2.0], dtype=np.float32),
    "source_language": "uz", "target_language": "en", "links": np.arange(36).reshape(3, 4, 3) % 5 == 0,
    "more_sources": (np.array([[16, EOS], [17, EOS], [18, EOS]]), np.array([[19, EOS], [EOS, PAD], [20, EOS]])),
}  # fmt: skip


def full() -> Batch:
    return batch_of(SOURCE, TARGET, **MORE)


def arrays_of(batch: Batch, name: str) -> tuple:
    """Return a field's arrays, of further sources one each."""
    value = getattr(batch, name)
    return value if isinstance(value, tuple) else (value,)


def test_the_decoder_reads_what_it_has_predicted_one_place_before():
    expected = [[BOS, 10, 11, PAD], [BOS, 12, PAD, PAD], [BOS, 13, 14, 15]]
    assert full().target_input.tolist() == expected


def test_every_field_is_in_the_batch_that_these_tests_cut():
    assert all(len(getattr(full(), field.name)) for field in fields(Batch))


def test_no_field_is_lost_or_mixed_up_where_a_batch_is_cut():
    cut = full().cut(slice(1, None, 2))
    for field in fields(Batch):
        for whole, part in zip(arrays_of(full(), field.name), arrays_of(cut, field.name), strict=True):
            assert part == whole if isinstance(whole, str) else np.array_equal(part, whole[1::2])


def test_a_batch_is_moved_to_a_device_with_every_field():
    moved = on_device(full())
    for field in fields(Batch):
        for before, after in zip(arrays_of(full(), field.name), arrays_of(moved, field.name), strict=True):
            assert after == before if isinstance(before, str) else torch.equal(after, torch.from_numpy(before))
    assert on_device(replace(full(), weight=None)).weight is None


def test_tokens_are_counted_without_padding_and_as_often_as_their_pair_counts():
    for batch in (full(), on_device(full())):
        assert (batch.rows, batch.source_tokens, batch.target_tokens) == (3, 19, 9)
        assert batch.counted_tokens == 3 * 1.0 + 2 * 0.5 + 4 * 2.0
        assert replace(batch, weight=None).counted_tokens == 9


def test_nothing_is_learned_on_a_batch_without_targets():
    empty = full().without_targets()
    assert (empty.target_tokens, empty.counted_tokens) == (0, 0.0)
    assert empty.target_input.tolist() == empty.target.tolist() == np.full_like(TARGET, PAD).tolist()
    assert (empty.source.tolist(), empty.origin.tolist()) == (SOURCE.tolist(), [0, 2, 1])
