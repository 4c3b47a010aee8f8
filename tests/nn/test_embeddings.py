import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.nn.embeddings import WordEmbedding

D = 6


def embedding(fixnorm: bool, types: int = 9) -> WordEmbedding:
    made = WordEmbedding(types, D, fixnorm).double()
    torch.nn.init.normal_(made.weight, generator=torch.Generator().manual_seed(0))
    return made


@given(st.floats(1e-4, 1e4))
def test_fixnorm_rows_have_length_one_whatever_is_stored(scale):
    made = embedding(fixnorm=True)
    with torch.no_grad():
        made.weight.mul_(scale)
    torch.testing.assert_close(made.table().norm(dim=1), torch.ones(9, dtype=torch.float64))
    torch.testing.assert_close(made.table(), embedding(fixnorm=True).table())


def test_without_fixnorm_rows_are_used_as_they_are_stored():
    made = embedding(fixnorm=False)
    assert torch.equal(made.table(), made.weight)


@pytest.mark.parametrize("fixnorm", [False, True])
def test_input_vectors_are_the_rows_of_the_table_times_the_square_root_of_the_width(fixnorm):
    made = embedding(fixnorm)
    ids = torch.tensor([[3, 0, 3], [8, 1, 2]])
    torch.testing.assert_close(made(ids), made.table()[ids] * math.sqrt(D))
    torch.testing.assert_close(made.table(ids[0]), made.table()[ids[0]])


@pytest.mark.parametrize("use", ["input", "output"])
def test_the_gradient_of_a_fixnorm_row_is_orthogonal_to_it(use):
    made = embedding(fixnorm=True)
    used = made(torch.tensor([1, 4])) if use == "input" else made.table()
    used.backward(torch.randn(used.shape, dtype=torch.float64))
    along = (made.weight * made.weight.grad).sum(1)
    assert made.weight.grad[[1, 4]].norm(dim=1).min() > 1e-3
    torch.testing.assert_close(along, torch.zeros(9, dtype=torch.float64), atol=1e-12, rtol=0)


def test_a_row_of_zeros_gives_no_nan():
    made = embedding(fixnorm=True)
    torch.nn.init.zeros_(made.weight)
    made(torch.tensor([1])).sum().backward()
    assert made.table().isfinite().all()
    assert made.weight.grad.isfinite().all()


def test_initial_rows_are_uniform_within_a_hundredth_with_fixnorm():
    torch.manual_seed(0)
    made = WordEmbedding(2000, 64, fixnorm=True)
    made.reset({})
    assert made.weight.abs().max().item() <= 0.01
    assert made.weight.std().item() == pytest.approx(0.01 / math.sqrt(3), rel=0.02)


def test_initial_rows_are_normal_with_std_of_the_inverse_root_of_the_width_without_fixnorm():
    torch.manual_seed(0)
    made = WordEmbedding(2000, 64, fixnorm=False)
    made.reset({})
    assert made.weight.std().item() == pytest.approx(64**-0.5, rel=0.02)
    assert made.weight.norm(dim=1).mean().item() == pytest.approx(1.0, rel=0.02)
