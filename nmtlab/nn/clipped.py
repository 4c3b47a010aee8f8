"""Products of matrices with clipped inputs, which 8-bit integers can stand for (Junczys-Dowmunt et al. 2018, Marian).

What is multiplied, activations and parameters, is clipped to [-c, c]; products are not. Training sees the clipping
alone: its gradient is 0 outside. In search, inputs can be rounded besides, to the 255 values k c/127 of the integers k
from -127 to 127, by at most c/254 each; the gradient passes straight through that. The product of such values is that
of the integers times (c/127)², so that it is what integer arithmetic with enough bits for sums would give.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.nn.private import SharedLinear

LEVELS = 127
"""The largest integer that stands for an input, as -LEVELS is the smallest."""


class ProductInput(nn.Module):
    """What is multiplied: x clipped to [-c, c], and rounded if `rounded` is set.

    Args:
        limit: c, above 0.
    """

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit, self.rounded = limit, False

    def forward(self, x: Tensor) -> Tensor:
        """Return the input that stands for x, any shape."""
        clipped = x.clamp(-self.limit, self.limit)
        if not self.rounded:
            return clipped
        grid = (clipped.detach() * (LEVELS / self.limit)).round() * (self.limit / LEVELS)
        return grid + (clipped - clipped.detach())  # 0, with the gradient of what is rounded


class ClippedLinear(SharedLinear):
    """A linear map of clipped inputs by clipped weights; its bias is added to the product as it is.

    Args:
        limit: c, as of `ProductInput`.
    """

    def __init__(self, in_features: int, out_features: int, limit: float) -> None:
        super().__init__(in_features, out_features)
        self.clip = ProductInput(limit)

    def forward(self, x: Tensor, language: str = "") -> Tensor:
        """Return the map of x, (..., in_features): (..., out_features)."""
        return F.linear(self.clip(x), self.clip(self.weight), self.bias)
