import pytest
import torch

from nmtlab.nn.dropout import Dropout
from nmtlab.nn.norms import ScaleNorm
from nmtlab.nn.residual import PostNorm, PreNorm


def f(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 2


def test_prenorm_leaves_the_identity_path_alone():
    norm = ScaleNorm(6)
    x = torch.randn(3, 6)
    assert torch.equal(PreNorm(norm, 0.0)(x, f), x + f(norm(x)))


def test_postnorm_norms_the_sum():
    norm = ScaleNorm(6)
    x = torch.randn(3, 6)
    assert torch.equal(PostNorm(norm, 0.0)(x, f), norm(x + f(x)))


@pytest.mark.parametrize("placement", [PreNorm, PostNorm])
def test_dropout_falls_on_the_branch_and_never_on_the_identity_path(placement):
    norm = torch.nn.Identity()
    residual = placement(norm, 0.5)
    x = torch.randn(30, 6)
    torch.manual_seed(2)
    found = residual(x, f)
    torch.manual_seed(2)
    branch = Dropout(0.5)(f(x))
    assert torch.equal(found, x + branch)
    assert torch.equal(found[branch == 0], x[branch == 0])
    torch.testing.assert_close(residual.eval()(x, f), x + f(x))
