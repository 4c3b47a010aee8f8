import pytest
import torch

from nmtlab.nn.dropout import Dropout

UNITS = (400, 1000)


def dropped(p: float, shape: tuple[int, ...] = UNITS, seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    return Dropout(p)(torch.ones(shape)) == 0


def within(share: float, expected: float, trials: int) -> bool:
    """Whether a share lies within five standard deviations of a binomial's mean."""
    return abs(share - expected) <= 5 * (expected * (1 - expected) / trials) ** 0.5


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_the_share_p_is_dropped(p):
    assert within(dropped(p).double().mean().item(), p, 400_000)


@pytest.mark.parametrize("distance", [1, 2, 3, 4, 5])
def test_units_drawn_from_one_random_number_are_dropped_independently(distance):
    gone = dropped(0.3).flatten()
    both = (gone[distance:] & gone[:-distance]).double().mean().item()
    assert within(both, 0.3**2, len(gone) // 4)


def test_what_is_kept_is_scaled_so_that_the_mean_stays():
    torch.manual_seed(0)
    x = torch.randn(50, 60)
    y = Dropout(0.3)(x)
    kept = y != 0
    torch.testing.assert_close(y[kept], x[kept] / 0.7)


@pytest.mark.parametrize(
    ("p", "rounded"),
    [(2.0**-18, 0.0), (2.0**-16, 2.0**-16), (0.75, 0.75), (1 - 2.0**-16, 1 - 2.0**-16), (1 - 2.0**-18, 1 - 2.0**-16)],
)
def test_p_is_rounded_to_a_multiple_of_two_to_the_minus_16_below_one(p, rounded):
    assert within(dropped(p).double().mean().item(), rounded, 400_000)


def test_the_gradient_passes_where_the_units_passed():
    torch.manual_seed(0)
    x = torch.ones(30, 40, requires_grad=True)
    y = Dropout(0.4)(x)
    grad = torch.randn(30, 40)
    y.backward(grad)
    assert 0 < (y == 0).sum() < y.numel()
    torch.testing.assert_close(x.grad, grad * y.detach())


def test_evaluation_is_the_identity():
    x = torch.randn(3, 4)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0).train()(x) is x


def test_one_seed_gives_one_mask():
    assert torch.equal(dropped(0.3, seed=7), dropped(0.3, seed=7))
    assert not torch.equal(dropped(0.3, seed=7), dropped(0.3, seed=8))


def test_the_input_is_not_written_to():
    x = torch.randn(30, 40)
    kept = x.clone()
    Dropout(0.5)(x)
    assert torch.equal(x, kept)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (5,), (2, 3, 7), (0, 4)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_shape_and_type_are_kept_also_where_units_are_no_multiple_of_four(shape, dtype):
    torch.manual_seed(0)
    y = Dropout(0.5)(torch.ones(shape, dtype=dtype))
    assert (y.shape, y.dtype) == (torch.Size(shape), dtype)
    assert ((y == 0) | (y == 2)).all()


def test_a_view_is_dropped_like_any_other_tensor():
    torch.manual_seed(0)
    x = torch.randn(6, 5).t()
    y = Dropout(0.5)(x)
    assert torch.equal(y[y != 0], (2 * x)[y != 0])


def test_a_second_derivative_goes_through_the_same_units():
    x = torch.randn(50, dtype=torch.float64, requires_grad=True)
    y = Dropout(0.5).train()(x)
    kept = (y / x).detach()  # 0 or 2
    (gradient,) = torch.autograd.grad(y.pow(3).sum(), x, create_graph=True)
    gradient.sum().backward()
    torch.testing.assert_close(x.grad, 6 * kept.pow(3) * x.detach())
