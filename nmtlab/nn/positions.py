"""Encodings of positions: sinusoids (thesis eq 1.14, 1.15), learned ones, and those of distances (Shaw et al. 2018)."""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Layout = Literal["alternating", "halves", "fairseq"]
"""Order of the waves: sine and cosine by turns (the thesis), or all sines first (Marian); fairseq's is as Marian's, but
its frequencies are spread up to 10,000 itself, and it counts positions from 2."""

_FAIRSEQ_FIRST = 2


def sinusoids(positions: Tensor, d_model: int, layout: Layout = "alternating") -> Tensor:
    """Return the encodings, (..., d_model) float32, of integer positions from 0, (...,); `d_model` is even."""
    even = torch.arange(0, d_model, 2, device=positions.device, dtype=torch.float32)
    spread, first = (d_model - 2, _FAIRSEQ_FIRST) if layout == "fairseq" else (d_model, 0)
    angles = (positions.unsqueeze(-1) + first).float() * torch.exp(even * (-math.log(10_000.0) / spread))
    waves = angles.sin(), angles.cos()
    return torch.stack(waves, dim=-1).flatten(-2) if layout == "alternating" else torch.cat(waves, dim=-1)


class Sinusoids(nn.Module):
    """The sinusoids of a width and a layout; see `sinusoids`."""

    def __init__(self, d_model: int, layout: Layout) -> None:
        super().__init__()
        self.d_model = d_model
        self.layout = layout

    def forward(self, where: Tensor) -> Tensor:
        """Return the encodings, (..., d_model), of integer positions from 0, (...,)."""
        return sinusoids(where, self.d_model, self.layout)


class LearnedPositions(nn.Module):
    """A table of position embeddings; positions beyond it have the embedding of its last one.

    Args:
        positions: rows of the table.
    """

    def __init__(self, positions: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(positions, d_model))

    def forward(self, where: Tensor) -> Tensor:
        """Return the embeddings, (..., d_model), of integer positions from 0, (...,)."""
        return F.embedding(where.clamp_max(len(self.weight) - 1), self.weight)


class RelativePositions(nn.Module):
    """Vectors a of distances, which keys have for a query (Shaw et al. 2018): e_ij = q_i (k_j + a_clip(j - i)) / √d_k.

    The values have none: in the paper's Table 3, those of the keys alone do as well.

    Args:
        width: d_k, of a head; all heads have the same vectors.
    """

    furthest = 8
    """Distance from which on all have the same vector."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2 * self.furthest + 1, width))

    def forward(self, queries: Tensor, keys: int) -> Tensor:
        """Return the products with the vectors of all distances, (..., Q, K).

        Args:
            queries: (..., Q, d_k), at the last Q positions.
            keys: number K of positions.
        """
        positions = torch.arange(keys, device=queries.device)
        distances = positions - positions[keys - queries.shape[-2] :, None]
        rows = distances.clamp(-self.furthest, self.furthest) + self.furthest  # (Q, K)
        products = queries @ self.weight.T
        return products.gather(-1, rows.expand(*queries.shape[:-1], keys))
