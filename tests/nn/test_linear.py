"""Linear layers."""

import pytest
import torch
import torch.nn.functional as F

from nmtlab.nn import linear
from nmtlab.nn.linear import ONEDNN_ROWS, Linear, affine


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
