"""Low-rank changes of linear maps."""

import pytest
import torch
import torch.nn.functional as F

from nmtlab.nn.low_rank import LowRankLinear, merged
from nmtlab.nn.private import SharedLinear

INSIDE, OUTSIDE = 5, 7


def made(rank: int) -> LowRankLinear:
    torch.manual_seed(1)
    layer = LowRankLinear(INSIDE, OUTSIDE, rank).double()
    layer.draw(0.5, {})
    return layer


@pytest.mark.parametrize("rank", [1, 3, INSIDE])
def test_merged_weights_give_the_same_as_the_change_beside_them(rank):
    layer, x = made(rank).float(), torch.randn(4, INSIDE)
    assert torch.equal(layer(x), SharedLinear.forward(layer, x))  # no change at first
    torch.nn.init.normal_(layer.low_rank_up)
    found = merged({f"some.{name}": weight.detach() for name, weight in layer.named_parameters()})
    assert sorted(found) == ["some.bias", "some.weight"]
    expected = F.linear(x, found["some.weight"], found["some.bias"])
    torch.testing.assert_close(layer(x).detach(), expected, atol=1e-6, rtol=1e-6)


def test_a_base_in_half_precision_is_computed_with_in_that_of_the_change_or_of_autocast():
    torch.manual_seed(1)
    layer, x = LowRankLinear(INSIDE, OUTSIDE, 2, torch.bfloat16), torch.randn(4, INSIDE)
    layer.draw(0.5, {})
    torch.nn.init.normal_(layer.low_rank_up)
    assert [weight.dtype for weight in layer.parameters()].count(torch.bfloat16) == 1
    found = merged({f"some.{name}": weight.detach() for name, weight in layer.named_parameters()})
    expected = F.linear(x, found["some.weight"], found["some.bias"])
    torch.testing.assert_close(layer(x).detach(), expected, atol=1e-6, rtol=1e-6)
    whole = LowRankLinear(INSIDE, OUTSIDE, 2)
    whole.load_state_dict(layer.state_dict())
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(layer(x), whole(x))


@pytest.mark.parametrize("rank", [1, 3, INSIDE])
def test_at_first_the_gradient_of_b_is_that_of_w_through_a_and_a_has_none(rank):
    layer, x = made(rank), torch.randn(4, INSIDE).double()
    layer(x).square().sum().backward()
    torch.testing.assert_close(layer.low_rank_up.grad, layer.weight.grad @ layer.low_rank_down.detach().T)
    assert not layer.low_rank_down.grad.any()


def test_the_first_step_of_full_rank_with_an_orthogonal_a_is_that_of_full_tuning():
    """By SGD, W + B A moves by -rate grad(W) A^T A."""
    layer, x, rate = made(INSIDE), torch.randn(4, INSIDE).double(), 0.1
    torch.nn.init.orthogonal_(layer.low_rank_down)
    layer(x).square().sum().backward()
    full = layer.weight.detach() - rate * layer.weight.grad
    layer.weight.requires_grad_(False)
    torch.optim.SGD([layer.low_rank_down, layer.low_rank_up], lr=rate).step()
    product = layer.low_rank_up @ layer.low_rank_down
    torch.testing.assert_close((layer.weight + product).detach(), full)
