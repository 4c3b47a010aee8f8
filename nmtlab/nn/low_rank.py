"""Low-rank changes of linear maps: LoRA (Hu et al. 2022)."""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.nn.linear import affine
from nmtlab.nn.precision import computable, widened
from nmtlab.nn.private import Generators, SharedLinear

_DOWN, _UP = ".low_rank_down", ".low_rank_up"


class LowRankLinear(SharedLinear):
    """A linear map (W + B A) x + b of which only A, (rank, in), and B, (out, rank), are trained; B is 0 at first.

    There is no factor before B A: it is LoRA with alpha = r, whatever the rank, and the learning rate does what another
    alpha would.

    Args:
        dtype: what W is kept in; it is computed with in the precision of B, or in that of autocast.
    """

    def __init__(self, in_features: int, out_features: int, rank: int, dtype: torch.dtype = torch.float32) -> None:
        super().__init__(in_features, out_features)
        self.weight = nn.Parameter(self.weight.detach().to(dtype))
        self.low_rank_down = nn.Parameter(torch.empty(rank, in_features))
        self.low_rank_up = nn.Parameter(torch.zeros(out_features, rank))

    def forward(self, x: Tensor, language: str = "") -> Tensor:
        """Return (W + B A) x + b, (..., out_features), for x, (..., in_features)."""
        whole = affine(x, computable(self.weight, self.low_rank_up), self.bias)
        return whole + F.linear(F.linear(x, self.low_rank_down), self.low_rank_up)

    def draw(self, std: float, generators: Generators) -> None:
        """Draw W from N(0, std²) and A from N(0, 1/in_features); b and B are 0."""
        super().draw(std, generators)
        nn.init.normal_(self.low_rank_down, std=self.in_features**-0.5)


def is_low_rank(name: str) -> bool:
    """Return whether a parameter, given its name, belongs to a low-rank change."""
    return name.endswith((_DOWN, _UP))


def merged(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a model's named weights, with W + B A, in single precision, in place of each W, A and B."""
    found = {name: weight for name, weight in weights.items() if not is_low_rank(name)}
    for name, up in weights.items():
        if name.endswith(_UP):
            of = name.removesuffix(_UP)
            product = widened(up) @ widened(weights[of + _DOWN])
            found[f"{of}.weight"] = widened(found[f"{of}.weight"]) + product
    return found
