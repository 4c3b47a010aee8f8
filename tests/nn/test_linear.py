"""Linear layers."""

import pytest
import torch
import torch.nn.functional as F

from nmtlab.nn import linear
from nmtlab.nn.linear import ONEDNN_ROWS, Linear, affine, packed


@pytest.fixture(autouse=True, params=[True, False], ids=["as on AMD", "as on Intel"])
def processor(request, monkeypatch):
    monkeypatch.setattr(linear, "_mkl_is_slow", lambda: request.param)


@pytest.mark.parametrize("shape", [(1, 12), (ONEDNN_ROWS - 1, 12), (ONEDNN_ROWS, 12), (40, 3, 12), (0, 12), (12,)])
@pytest.mark.parametrize("bias", [True, False])
def test_either_library_computes_the_affine_map(shape, bias):
    x, layer = torch.randn(shape), Linear(12, 7, bias=bias)
    exact = F.linear(x.double(), layer.weight.double(), layer.bias.double() if bias else None)
    with torch.no_grad():
        assert torch.allclose(layer(x).double(), exact, atol=1e-5)
    assert torch.allclose(layer(x).double(), exact, atol=1e-5)


def test_views_that_are_not_contiguous_give_the_same():
    x, weight = torch.randn(12, 50).t(), torch.randn(12, 30).t()[4:20]
    with torch.no_grad():
        assert torch.allclose(affine(x, weight), x.contiguous() @ weight.t().contiguous(), atol=1e-5)
        assert torch.allclose(affine(x[::2, :6], weight[:, 3:9]), x[::2, :6] @ weight[:, 3:9].t(), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_keep_their_type(dtype):
    layer = Linear(12, 7).to(dtype)
    with torch.no_grad():
        assert layer(torch.randn(40, 12, dtype=dtype)).dtype == dtype


def test_autocast_computes_in_its_precision():
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert Linear(12, 7)(torch.randn(40, 12)).dtype == torch.bfloat16


def test_gradients_are_those_of_torch():
    x = torch.randn(40, 12, requires_grad=True)
    layer = Linear(12, 7)
    layer(x).sum().backward()
    assert torch.allclose(x.grad, layer.weight.detach().sum(0).expand(40, -1), atol=1e-6)


def constant(*shape: int) -> torch.Tensor:
    """Return a weight that is not trained."""
    return torch.nn.Parameter(torch.randn(shape), requires_grad=False)


@pytest.mark.parametrize("rows", [0, 1, 3, ONEDNN_ROWS, 100])
def test_constant_weights_are_packed_and_give_the_same(rows):
    weight, bias, x = constant(7, 12), torch.randn(7), torch.randn(rows, 12)
    with torch.no_grad():
        for _ in range(2):  # packing, and packed
            assert torch.allclose(affine(x, weight, bias), F.linear(x, weight, bias), atol=1e-5)
    assert packed(weight).is_mkldnn
    assert packed(weight) is packed(weight)


@pytest.mark.parametrize("change", [lambda weight: weight.mul_(2), lambda weight: weight[3].zero_()])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_weight_that_changes_is_packed_anew(change, mode):
    weight, x = constant(7, 12), torch.randn(40, 12)
    with mode():
        affine(x, weight)
        change(weight)
        assert torch.allclose(affine(x, weight), F.linear(x, weight), atol=1e-5)
        weight.data = torch.randn(7, 12)
        assert torch.allclose(affine(x, weight), F.linear(x, weight), atol=1e-5)


def test_weights_in_training_are_not_packed():
    """The fused optimiser changes them without a new version."""
    layer, x = Linear(12, 7), torch.randn(40, 12)
    optimiser = torch.optim.Adam(layer.parameters(), fused=True)
    for _ in range(3):
        layer(x).square().sum().backward()
        optimiser.step()
        with torch.no_grad():
            assert torch.allclose(layer(x), F.linear(x, layer.weight, layer.bias), atol=1e-5)
    assert packed(layer.weight) is layer.weight


def test_weights_without_room_are_not_packed_and_room_is_given_back(monkeypatch):
    known: dict = {}
    monkeypatch.setattr(linear, "_packed", known)
    monkeypatch.setattr(linear, "PACKED_BYTES", 1000)
    monkeypatch.setattr(linear, "LARGEST_PACKED", 900)
    too_large, first, second = constant(16, 16), constant(12, 12), constant(12, 12)
    assert packed(too_large) is too_large
    assert packed(first).is_mkldnn
    assert packed(second) is second  # 576 bytes are taken
    del first
    assert len(known) == 2
    assert packed(constant(12, 12)).is_mkldnn
    assert len(known) == 2
