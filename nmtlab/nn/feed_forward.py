"""Position-wise feed-forward network (thesis eq 1.13)."""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.nn.dropout import Dropout
from nmtlab.nn.maps import Maps
from nmtlab.nn.private import SharedLinear

Activation = Literal["relu", "swish"]


class FeedForward(nn.Module):
    """Two linear layers with an activation and dropout between them.

    Args:
        dropout: share of the activation's output dropped in training.
        maps: makes the layers.
        activation: ReLU or Swish, x σ(x).
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        dropout: float,
        maps: Maps = SharedLinear,
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        self.inner = maps(d_model, d_ff)
        self.outer = maps(d_ff, d_model)
        self.dropout = Dropout(dropout)
        self._activate = torch.relu if activation == "relu" else F.silu

    def forward(self, x: Tensor, language: str = "") -> Tensor:
        """Return f(x) in a language for x, (..., d_model)."""
        return self.outer(self.dropout(self._activate(self.inner(x, language))), language)
