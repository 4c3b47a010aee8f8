"""Attention against torch's own module with the same weights."""

import math

import pytest
import torch

from nmtlab.nn.attention import MultiHeadAttention
from nmtlab.nn.dropout import Dropout

D, H = 12, 3


def pair() -> tuple[MultiHeadAttention, torch.nn.MultiheadAttention]:
    """Return ours and torch's attention with the same weights, float64."""
    torch.manual_seed(0)
    ours = MultiHeadAttention(D, H, dropout=0.0).double()
    theirs = torch.nn.MultiheadAttention(D, H, batch_first=True, dtype=torch.float64)
    inputs = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in inputs]))
        theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in inputs]))
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)
    return ours, theirs


def padding(*lengths: int) -> torch.Tensor:
    """Return which of the keys are padding, (B, K)."""
    return torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]


def as_mask(padding: torch.Tensor) -> torch.Tensor:
    return torch.zeros(padding.shape, dtype=torch.float64).masked_fill(padding, -math.inf)[:, None, None, :]


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_attention_to_a_memory_is_that_of_torch(record, padded):
    ours, theirs = pair()
    x, memory = torch.randn(3, 4, D, dtype=torch.float64), torch.randn(3, 6, D, dtype=torch.float64)
    where = padding(6, 2, 4) if padded else None
    mixed, weights = ours(x, *ours.keys_values(memory), None if where is None else as_mask(where), record=record)
    expected, expected_weights = theirs(x, memory, memory, key_padding_mask=where, average_attn_weights=False)
    torch.testing.assert_close(mixed, expected)
    if record:
        torch.testing.assert_close(weights, expected_weights)
    else:
        assert weights is None


@pytest.mark.parametrize("keys", [1, 7, 200])
@pytest.mark.parametrize("padded", [False, True])
def test_a_single_query_attends_as_in_torch(keys, padded):
    ours, theirs = pair()
    x, memory = torch.randn(3, 1, D, dtype=torch.float64), torch.randn(3, keys, D, dtype=torch.float64)
    where = padding(keys, 1, keys) if padded else None
    mixed, _ = ours(x, *ours.keys_values(memory), None if where is None else as_mask(where))
    torch.testing.assert_close(mixed, theirs(x, memory, memory, key_padding_mask=where)[0])


@pytest.mark.parametrize("record", [False, True])
def test_causal_attention_is_that_of_torch(record):
    ours, theirs = pair()
    x = torch.randn(2, 5, D, dtype=torch.float64)
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    mixed, weights = ours(x, *ours.keys_values(x), causal=True, record=record)
    expected, expected_weights = theirs(x, x, x, attn_mask=later, average_attn_weights=False)
    torch.testing.assert_close(mixed, expected)
    if record:
        torch.testing.assert_close(weights, expected_weights)
        assert (weights.masked_select(later) == 0).all()


def test_gradients_are_those_of_torch():
    ours, theirs = pair()
    x, grad = torch.randn(2, 5, D, dtype=torch.float64), torch.randn(2, 5, D, dtype=torch.float64)
    where = padding(5, 3)
    mine, yours = x.clone().requires_grad_(), x.clone().requires_grad_()
    ours(mine, *ours.keys_values(mine), as_mask(where))[0].backward(grad)
    theirs(yours, yours, yours, key_padding_mask=where)[0].backward(grad)
    torch.testing.assert_close(mine.grad, yours.grad)
    torch.testing.assert_close(
        torch.cat([linear.weight.grad for linear in (ours.query, ours.key, ours.value)]), theirs.in_proj_weight.grad
    )


def test_recorded_weights_sum_to_one_and_are_zero_at_padding():
    ours, _ = pair()
    x = torch.randn(2, 5, D, dtype=torch.float64)
    _, weights = ours(x, *ours.keys_values(x), as_mask(padding(5, 2)), record=True)
    assert weights.shape == (2, H, 5, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, H, 5, dtype=torch.float64))
    assert (weights[1, :, :, 2:] == 0).all()


def test_recording_does_not_change_the_output_in_float32():
    attention = MultiHeadAttention(D, H, dropout=0.5).eval()
    x = torch.randn(3, 7, D)
    plain, _ = attention(x, *attention.keys_values(x))
    recorded, _ = attention(x, *attention.keys_values(x), record=True)
    torch.testing.assert_close(recorded, plain)


def test_dropout_falls_on_the_weights_in_training():
    attention = MultiHeadAttention(D, H, dropout=0.5)
    x = torch.randn(2, 5, D)
    keys, values = attention.keys_values(x)
    torch.manual_seed(3)
    mixed, weights = attention(x, keys, values, record=True)
    torch.manual_seed(3)
    by_hand = attention.output((Dropout(0.5)(weights) @ values).transpose(1, 2).reshape(2, 5, D))
    torch.testing.assert_close(mixed, by_hand)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, H, 5))  # what is recorded is not dropped from
    assert not torch.allclose(mixed, attention.eval()(x, keys, values)[0])
