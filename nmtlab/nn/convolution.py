"""Gated convolutions over the positions of a sentence, with normalised weights (Gehring et al. 2017).

A convolution is a linear map of a window, the vectors at k positions. The windows of a whole sentence and the next one
of a search are therefore convolved alike.

Shapes: B sentences, L positions, D width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.nn.linear import affine


def windows(x: Tensor, before: int, after: int, dilation: int = 1) -> Tensor:
    """Return each position of x, (B, L, D), with those before and after it: (B, L, before + 1 + after, D).

    Their distance is `dilation`, and positions outside of the sentence are zeros.
    """
    length = x.shape[1]
    padded = F.pad(x, (0, 0, before * dilation, after * dilation))
    starts = range(0, (before + after) * dilation + 1, dilation)
    return torch.stack([padded[:, start : start + length] for start in starts], dim=2)


_LEAST_NORM = 1e-12


class WeightNormLinear(nn.Module):
    """A linear map with the rows `g v/|v|` (Salimans and Kingma 2016)."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.v = nn.Parameter(torch.empty(out_features, in_features))
        self.g = nn.Parameter(torch.empty(out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x: Tensor) -> Tensor:
        """Return the map of x, (..., in_features): (..., out_features)."""
        return self._normalised(affine(x, self.v))

    def draw(self, variance: float) -> None:
        """Draw weights that map units of variance 1 to units of this variance; biases are 0."""
        nn.init.normal_(self.v, std=(variance / self.v.shape[1]) ** 0.5)
        with torch.no_grad():
            self.g.copy_(self.v.norm(dim=1))

    def _normalised(self, products: Tensor) -> Tensor:
        """Return what products with the rows v become with normalised weights.

        The products are scaled, and not the weights: `affine` reorders a weight only once if it stays as it is. A row
        of zeros, as after pruning, adds nothing.
        """
        return products * (self.g / self.v.norm(dim=1).clamp_min(_LEAST_NORM)) + self.bias


class Depthwise(WeightNormLinear):
    """A convolution of each unit alone."""

    def __init__(self, d_model: int, kernel: int) -> None:
        super().__init__(kernel, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sums over windows, (..., k, D): (..., D)."""
        return self._normalised((x * self.v.T).sum(-2))


class GatedConvolution(nn.Module):
    """A convolution to the units [A; B], then the gated linear unit A ⊙ σ(B).

    Args:
        kernel: width k of a window.
        separable: convolve each unit alone, then map each position to the 2 D units.
    """

    def __init__(self, d_model: int, kernel: int, separable: bool) -> None:
        super().__init__()
        self.kernel = kernel
        self.depthwise = Depthwise(d_model, kernel) if separable else None
        self.map = WeightNormLinear(d_model if separable else kernel * d_model, 2 * d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return the gated units of windows, (..., k, D): (..., D)."""
        x = x.flatten(-2) if self.depthwise is None else self.depthwise(x)
        return F.glu(self.map(x), dim=-1)

    def draw(self, kept: float) -> None:
        """Draw weights for an input of which dropout keeps a share: A has four times its variance without dropout."""
        if self.depthwise is None:
            self.map.draw(4 * kept)
        else:
            self.depthwise.draw(kept)
            self.map.draw(4)
