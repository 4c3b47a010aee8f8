"""ScaleNorm against its formula, against RMSNorm with one shared gain, and its hand-written gradient."""

import math

import pytest
import torch

from nmtlab.nn.norms import EPSILON, ScaleNorm


def scale_norm(d_model: int, g: float) -> ScaleNorm:
    norm = ScaleNorm(d_model).double()
    with torch.no_grad():
        norm.g.fill_(g)
    return norm


def vectors(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_g_starts_at_the_square_root_of_the_width():
    assert ScaleNorm(64).g.item() == pytest.approx(8.0)
    assert ScaleNorm(64).g.requires_grad
    assert not ScaleNorm(64, learned=False).g.requires_grad


def test_scale_norm_is_its_formula():
    x = vectors(3, 5, 6)
    expected = [[[2.5 * unit / math.sqrt(sum(u * u for u in row)) for unit in row] for row in rows] for rows in x]
    torch.testing.assert_close(scale_norm(6, 2.5)(x), torch.tensor(expected, dtype=torch.float64))


def test_every_vector_comes_out_at_length_g():
    lengths = scale_norm(6, 2.5)(vectors(40, 6) * vectors(40, 1, seed=1).exp()).norm(dim=-1)
    torch.testing.assert_close(lengths, torch.full((40,), 2.5, dtype=torch.float64))


def test_scale_norm_is_rms_norm_with_one_shared_gain():
    d_model, g = 16, 3.3
    x, grad = vectors(4, 7, d_model), vectors(4, 7, d_model, seed=1)
    rms = torch.nn.RMSNorm(d_model, eps=0.0).double()
    torch.nn.init.constant_(rms.weight, g / math.sqrt(d_model))
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    norm = scale_norm(d_model, g)
    norm(ours).backward(grad)
    rms(theirs).backward(grad)
    torch.testing.assert_close(norm(ours), rms(theirs))
    torch.testing.assert_close(ours.grad, theirs.grad)
    # The gain of every unit is g / sqrt(d), so by the chain rule g collects their gradients.
    torch.testing.assert_close(norm.g.grad, rms.weight.grad.sum() / math.sqrt(d_model))


@pytest.mark.parametrize(
    ("length", "eps"),
    [(1e4, 1e-2), (1.0, 1e-6), (1e-3, 1e-8), (3e-6, 1e-6), (0.0, 1e-6)],  # the last two stay shorter than 1e-5
)
def test_the_gradient_is_that_of_finite_differences(length, eps):
    x = torch.nn.functional.normalize(vectors(2, 3, 4), dim=-1) * length
    g = torch.tensor(2.5, dtype=torch.float64)
    norm = scale_norm(4, 2.5)

    def normed(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(norm, {"g": g}, (x,))

    assert torch.autograd.gradcheck(normed, (x.requires_grad_(), g.requires_grad_()), eps=eps)


def test_long_and_short_vectors_may_stand_side_by_side():
    norm = scale_norm(4, 2.5)
    x = torch.nn.functional.normalize(vectors(3, 4), dim=-1) * torch.tensor([[1.0], [3e-6], [0.0]])
    assert torch.autograd.gradcheck(norm, x.requires_grad_())


def test_vectors_shorter_than_epsilon_are_divided_by_epsilon():
    x = torch.tensor([[3e-7, 4e-7]], dtype=torch.float64)
    torch.testing.assert_close(scale_norm(2, 2.0)(x), x * 2.0 / EPSILON)


def test_zeros_give_zeros_and_a_finite_gradient():
    norm = ScaleNorm(8)
    x = torch.zeros(2, 8, requires_grad=True)
    norm(x).sum().backward()
    assert torch.equal(norm(x), torch.zeros(2, 8))
    torch.testing.assert_close(x.grad, torch.full((2, 8), math.sqrt(8) / EPSILON))
    assert norm.g.grad.item() == 0.0


def test_input_and_gradient_are_not_written_to():
    norm = scale_norm(6, 2.5)
    x, grad = vectors(3, 6).requires_grad_(), vectors(3, 6, seed=1)
    kept_x, kept_grad = x.detach().clone(), grad.clone()
    norm(x).backward(grad)
    assert torch.equal(x.detach(), kept_x)
    assert torch.equal(grad, kept_grad)


def test_a_second_derivative_of_scale_norm_is_an_error_and_never_wrong():
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="ScaleNorm has no second derivative"):
        torch.autograd.grad(ScaleNorm(4).double()(x).sum(), x, create_graph=True)
