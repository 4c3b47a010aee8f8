"""Sinusoidal position encodings (thesis eq 1.14, 1.15)."""

import math
from typing import Literal

import torch
from torch import Tensor

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
