"""Gated convolutions against loops over positions and units, and against torch's convolution and weight norm."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from nmtlab.nn.convolution import GatedConvolution, WeightNormLinear, windows

B, L, D = 2, 7, 4


def far_from_initial(module: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in module.double().parameters():
            parameter.copy_(torch.randn(parameter.shape, dtype=torch.float64))
    return module


def vectors(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 0), (0, 0), (2, 2), (8, 0)])
def test_a_window_has_the_positions_around_and_zeros_outside_of_the_sentence(before, after):
    x = vectors(B, L, D)
    found = windows(x, before, after)
    for position in range(L):
        for place, there in enumerate(range(position - before, position + after + 1)):
            wanted = x[:, there] if 0 <= there < L else torch.zeros(B, D, dtype=torch.float64)
            assert torch.equal(found[:, position, place], wanted)


@pytest.mark.parametrize("kernel", [1, 3, 4])
def test_a_gated_convolution_is_what_loops_over_positions_and_units_compute(kernel):
    module, x = far_from_initial(GatedConvolution(D, kernel, separable=False)), vectors(B, L, D)
    found = module(windows(x, kernel - 1, 0))
    v, g, bias = module.map.v, module.map.g, module.map.bias
    for b in range(B):
        for t in range(L):
            sums = []
            for unit in range(2 * D):
                length = sum(v[unit, i] ** 2 for i in range(kernel * D)) ** 0.5
                total = bias[unit]
                for place in range(kernel):
                    there = t - (kernel - 1) + place
                    if there >= 0:
                        for i in range(D):
                            total = total + g[unit] * v[unit, place * D + i] / length * x[b, there, i]
                sums.append(total)
            for unit in range(D):
                assert found[b, t, unit].item() == pytest.approx((sums[unit] * torch.sigmoid(sums[D + unit])).item())


@pytest.mark.parametrize("around", [0, 1, 2])
def test_a_convolution_is_torchs(around):
    kernel = 2 * around + 1
    module, x = far_from_initial(GatedConvolution(D, kernel, separable=False)), vectors(B, L, D)
    weight = module.map.g[:, None] * F.normalize(module.map.v, dim=1)
    kernels = weight.unflatten(1, (kernel, D)).transpose(1, 2)  # (2 D, D, k)
    wanted = F.glu(F.conv1d(x.transpose(1, 2), kernels, module.map.bias, padding=around), dim=1).transpose(1, 2)
    torch.testing.assert_close(module(windows(x, around, around)), wanted)


def test_a_separable_convolution_is_torchs_by_unit_and_then_a_map_of_each_position():
    module, x = far_from_initial(GatedConvolution(D, 3, separable=True)), vectors(B, L, D)
    alone = module.depthwise
    kernels = (alone.g[:, None] * F.normalize(alone.v, dim=1)).unsqueeze(1)
    by_unit = F.conv1d(x.transpose(1, 2), kernels, alone.bias, padding=1, groups=D).transpose(1, 2)
    torch.testing.assert_close(module(windows(x, 1, 1)), F.glu(module.map(by_unit), dim=-1))


def test_a_map_with_normalised_weights_is_torchs_and_has_its_gradient():
    module = far_from_initial(WeightNormLinear(5, D))
    theirs = weight_norm(nn.Linear(5, D).double(), dim=0)
    with torch.no_grad():
        theirs.parametrizations.weight.original0.copy_(module.g[:, None])
        theirs.parametrizations.weight.original1.copy_(module.v)
        theirs.bias.copy_(module.bias)
    x = vectors(B, 5)
    torch.testing.assert_close(module(x), theirs(x))
    ours = torch.autograd.grad(module(x).square().sum(), [module.g, module.v, module.bias])
    weight = theirs.parametrizations.weight
    wanted = torch.autograd.grad(theirs(x).square().sum(), [weight.original0, weight.original1, theirs.bias])
    for one, other in zip(ours, wanted, strict=True):
        torch.testing.assert_close(one, other.reshape(one.shape))


@pytest.mark.parametrize("separable", [False, True])
def test_the_gradients_are_those_of_finite_differences(separable):
    module, x = far_from_initial(GatedConvolution(2, 3, separable)), vectors(1, 4, 2).requires_grad_()
    names, parameters = zip(*module.named_parameters(), strict=True)

    def convolved(x, *values):
        return torch.func.functional_call(module, dict(zip(names, values, strict=True)), windows(x, 1, 1))

    assert torch.autograd.gradcheck(convolved, (x, *parameters))


@pytest.mark.parametrize("kernel", [3, 5])
def test_a_separable_convolution_has_k_d_weights_and_a_map_in_place_of_k_maps(kernel):
    def weights(separable: bool) -> int:
        return sum(p.numel() for p in GatedConvolution(D, kernel, separable).parameters() if p.dim() == 2)

    assert weights(separable=False) == kernel * D * 2 * D
    assert weights(separable=True) == kernel * D + D * 2 * D


@pytest.mark.parametrize("separable", [False, True])
def test_initial_weights_quadruple_the_variance_of_an_input_of_which_dropout_keeps_a_share_for_the_gate(separable):
    torch.manual_seed(0)
    module, kept = GatedConvolution(256, 3, separable), 0.8
    module.draw(kept)
    x = torch.randn(1000, 3, 256) * (torch.rand(1000, 3, 256) < kept) / kept
    reached = module.depthwise(x) if separable else x.flatten(1)
    assert module.map(reached).var().item() == pytest.approx(4, rel=0.1)
