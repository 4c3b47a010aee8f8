"""Recorded attention: what the decoder records step by step, and nothing that stays behind."""

import torch
from support.hand_made_model import random_system

from nmtlab.models.interface import on_device
from nmtlab.models.recording import recorded_attention
from nmtlab.search.forced import forced_decode_all
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.segmentation.vocabulary import EOS

SOURCE, TARGET = [[4, 6, 5, EOS], [7, EOS]], [[7, 4, EOS], [4, 5, 9, EOS]]


def test_cross_attention_is_what_forced_decoding_records_and_self_attention_looks_back():
    model = random_system("layer", torch.float32).model
    batch = on_device(batch_of(pad(SOURCE), pad(TARGET)))
    found = recorded_attention(model, batch)
    for row, forced in forced_decode_all(model, SOURCE, TARGET):
        _, _, t, s = forced.attention.shape
        torch.testing.assert_close(found.cross[:, row, :, :t, :s], torch.from_numpy(forced.attention))
    assert (found.decoder.triu(1) == 0).all()
    assert (found.encoder[:, 1, :, :, 2:] == 0).all()  # padding
    for weights in found:
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_nothing_is_recorded_afterwards():
    model = random_system("scale").model
    batch = on_device(batch_of(pad(SOURCE), pad(TARGET)))
    before = model(batch)
    recorded_attention(model, batch)
    assert not [module for module in model.modules() if module._forward_hooks or module._forward_pre_hooks]
    assert torch.equal(model(batch), before)
