import torch

from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, UNK
from nmtlab.training.step import word_dropout

WORDS = torch.arange(12) > UNK


def batch(rows: int = 400) -> Batch:
    source = torch.tensor([[5, 6, 7, 8, EOS, PAD]]).repeat(rows, 1)
    target = torch.tensor([[9, 10, 11, EOS, PAD]]).repeat(rows, 1)
    target_input = torch.tensor([[BOS, 9, 10, 11, PAD]]).repeat(rows, 1)
    return Batch(source, target_input, target, origin=torch.zeros(rows, dtype=torch.long))


def test_a_share_of_the_input_words_becomes_unk_and_nothing_else_does():
    torch.manual_seed(0)
    stored = batch()
    dropped = word_dropout(stored, 0.3, WORDS, WORDS)
    for before, after, words in (
        (stored.source, dropped.source, slice(0, 4)),
        (stored.target_input, dropped.target_input, slice(1, 4)),
    ):
        gone = after == UNK
        assert torch.equal(after[~gone], before[~gone])
        share, count = gone[:, words].double().mean().item(), gone[:, words].numel()
        assert abs(share - 0.3) < 5 * (0.3 * 0.7 / count) ** 0.5
        assert gone.sum() == gone[:, words].sum()  # BOS, EOS and padding stay


def test_tags_stay():
    dropped = word_dropout(batch(), 0.9, (WORDS & (torch.arange(12) > 6)), WORDS)
    assert (dropped.source[:, :2] == torch.tensor([5, 6])).all()
    assert (dropped.source[:, 2:4] == UNK).any()
    assert (dropped.target_input[:, 1] == UNK).any()


def test_the_words_to_be_predicted_and_the_stored_batch_are_left_alone():
    torch.manual_seed(0)
    stored, fresh = batch(), batch()
    dropped = word_dropout(stored, 0.9, WORDS, WORDS)
    assert torch.equal(dropped.target, fresh.target)
    for name in ("source", "target_input", "target"):
        assert torch.equal(getattr(stored, name), getattr(fresh, name))


def test_without_word_dropout_the_batch_is_the_stored_one():
    stored = batch()
    assert word_dropout(stored, 0.0, WORDS, WORDS) is stored
