"""Products of clipped inputs, and the integers that stand for them."""

import pytest
import torch

from nmtlab.nn.clipped import LEVELS, ClippedLinear, ProductInput


def linear(limit: float, rounded: bool = False) -> ClippedLinear:
    torch.manual_seed(1)
    found = ClippedLinear(24, 16, limit).double()
    found.weight.data.normal_(std=limit)
    found.clip.rounded = rounded
    return found


def test_inputs_are_clipped_and_their_gradient_is_zero_outside():
    x = torch.tensor([-3.0, -2.0, -0.5, 1.9, 2.1], dtype=torch.float64, requires_grad=True)
    clip = ProductInput(2.0)
    assert clip(x).tolist() == [-2.0, -2.0, -0.5, 1.9, 2.0]
    (clip(x) * torch.arange(1.0, 6.0)).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 3.0, 4.0, 0.0]


def test_the_gradient_passes_straight_through_the_rounding():
    x = torch.tensor([-3.0, -0.5, 0.013, 1.9, 2.1], dtype=torch.float64, requires_grad=True)
    clip = ProductInput(2.0)
    clip.rounded = True
    (clip(x) * torch.arange(1.0, 6.0)).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 3.0, 4.0, 0.0]


def test_a_map_is_that_of_a_loop_over_clipped_inputs_and_weights():
    layer, x = linear(0.7), torch.randn(3, 24, dtype=torch.float64)
    found = layer(x)
    for row, vector in enumerate(x.tolist()):
        for unit, (weights, bias) in enumerate(zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)):
            total = bias
            for w, v in zip(weights, vector, strict=True):
                total += max(-0.7, min(0.7, w)) * max(-0.7, min(0.7, v))
            assert found[row, unit].item() == pytest.approx(total, abs=1e-12)
    assert torch.autograd.gradcheck(layer, x.requires_grad_())


@pytest.mark.parametrize("limit", [0.5, 2.0, 3.0])
def test_rounding_moves_an_input_by_half_a_step_at_most_and_again_not_at_all(limit):
    x = torch.linspace(-2 * limit, 2 * limit, 4001, dtype=torch.float64)
    clip = ProductInput(limit)
    exact = clip(x)
    clip.rounded = True
    assert (clip(x) - exact).abs().max() <= limit / (2 * LEVELS) + 1e-12
    assert len(clip(x).unique()) == 2 * LEVELS + 1
    torch.testing.assert_close(clip(clip(x)), clip(x), atol=1e-12, rtol=0)


@pytest.mark.parametrize("limit", [0.5, 2.0])
def test_rounded_products_are_those_of_8_bit_integers(limit):
    layer, x = linear(limit, rounded=True), 2 * limit * torch.randn(32, 24, dtype=torch.float64)
    integers = [(part.clamp(-limit, limit) * LEVELS / limit).round().to(torch.int8) for part in (x, layer.weight)]
    product = torch._int_mm(integers[0], integers[1].T.contiguous())
    assert product.dtype == torch.int32
    wanted = product.double() * (limit / LEVELS) ** 2 + layer.bias
    torch.testing.assert_close(layer(x), wanted, atol=1e-12, rtol=0)
