"""Sinusoidal position encodings (thesis eq 1.14, 1.15)."""

import math

import torch
from torch import Tensor


def sinusoids(positions: Tensor, d_model: int) -> Tensor:
    """Return the encodings of integer positions: sines at even dimensions, cosines at odd ones.

    Args:
        positions: (...,) integers from 0.
        d_model: width, even.

    Returns:
        (..., d_model) float32.
    """
    even = torch.arange(0, d_model, 2, device=positions.device, dtype=torch.float32)
    angles = positions.unsqueeze(-1).float() * torch.exp(even * (-math.log(10_000.0) / d_model))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
