import math

import pytest
import torch

from nmtlab.nn.private import SharedLinear, small_normal, xavier_normal

# The standard deviation of n normal draws is off by a share of 1/sqrt(2n), here 0.14 %; five of these are allowed.
TOLERANCE = 0.007


def drawn(initialise, d_in: int, d_out: int) -> SharedLinear:
    torch.manual_seed(0)
    linear = SharedLinear(d_in, d_out)
    initialise(linear, {})
    return linear


@pytest.mark.parametrize(("d_in", "d_out"), [(512, 512), (256, 1024), (1024, 256)])
def test_xavier_has_a_variance_of_two_over_both_widths(d_in, d_out):
    weight = drawn(xavier_normal, d_in, d_out).weight
    assert weight.std().item() == pytest.approx(math.sqrt(2 / (d_in + d_out)), rel=TOLERANCE)


def test_small_init_has_a_variance_of_two_over_five_times_the_width():
    assert drawn(small_normal, 512, 512).weight.std().item() == pytest.approx(math.sqrt(2 / (5 * 512)), rel=TOLERANCE)


@pytest.mark.parametrize("initialise", [xavier_normal, small_normal])
def test_draws_are_normal_around_zero_and_biases_are_zero(initialise):
    linear = drawn(initialise, 512, 512)
    weight = linear.weight.detach()
    units = weight / weight.std()
    assert abs(units.mean().item()) < 5 / 512
    # Of a normal distribution 68.27 % lie within one standard deviation; of a uniform one 57.7 %.
    assert (units.abs() < 1).double().mean().item() == pytest.approx(0.6827, abs=0.005)
    assert torch.equal(linear.bias, torch.zeros(512))
