"""Prediction of the translation's length (thesis 4.1)."""

import torch
from torch import Tensor, nn

from nmtlab.nn.private import Linear


class LengthModel(nn.Module):
    """A classifier of target lengths on the mean of the encoder's output.

    Args:
        d_model: width D of the encoder's output.
        longest: the greatest length predicted; classes are 0 to `longest` tokens.
    """

    def __init__(self, d_model: int, longest: int) -> None:
        super().__init__()
        self.output = Linear(d_model, longest + 1)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """Return log-probabilities of the lengths, (B, longest + 1).

        Args:
            states: (B, S, D).
            mask: (B, S), -inf at padding, else 0; None without padding.
        """
        if mask is None:
            return self.output(states.mean(1)).log_softmax(-1)
        shares = mask.softmax(-1).to(states.dtype)  # uniform over all positions but padding
        return self.output(torch.einsum("bs,bsd->bd", shares, states)).log_softmax(-1)
