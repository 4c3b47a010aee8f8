"""Encodings of positions: sinusoids (thesis eq 1.14, 1.15), and learned ones."""

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
