"""Position-wise feed-forward network (thesis eq 1.13)."""

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.nn.dropout import Dropout
from nmtlab.nn.private import linear

Activation = Literal["relu", "swish"]


class FeedForward(nn.Module):
    """Two linear layers with an activation and dropout between them.

    Args:
        dropout: share of the activation's output dropped in training.
        share: σ, the share of units of either layer that all languages have in common (eq 4.3).
        languages: codes of the languages that have the other units, if any.
        activation: ReLU or Swish, x σ(x).
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        dropout: float,
        share: float = 1.0,
        languages: Sequence[str] = (),
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        self.inner = linear(d_model, d_ff, share, languages)
        self.outer = linear(d_ff, d_model, share, languages)
        self.dropout = Dropout(dropout)
        self._activate = torch.relu if activation == "relu" else F.silu

    def forward(self, x: Tensor, language: str = "") -> Tensor:
        """Return f(x) in a language for x, (..., d_model)."""
        return self.outer(self.dropout(self._activate(self.inner(x, language))), language)
