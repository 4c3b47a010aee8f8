"""The gate of a mixture of experts (Garmash and Monz 2016; Nishimura et al. 2018, eq 4 and 5)."""

import math

import torch
from torch import Tensor, nn

from nmtlab.nn.linear import Linear

_INNER = 128
"""Units of the gate."""


class Gate(nn.Module):
    """`g = softmax(W_gate tanh(W_hid [f^1; ...; f^m]))`, over the experts that have a source.

    Args:
        d_model: width D of what each expert reads.
        experts: their number M.
    """

    def __init__(self, d_model: int, experts: int) -> None:
        super().__init__()
        self.hidden = Linear(experts * d_model, _INNER, bias=False)
        self.output = Linear(_INNER, experts, bias=False)

    def forward(self, read: Tensor, present: Tensor) -> Tensor:
        """Return log g, (..., M): -inf of an expert whose source is missing.

        Args:
            read: what the experts read, side by side, (..., M D).
            present: (..., M) bool, which of them have a source; without any, all count.
        """
        counted = present | ~present.any(-1, keepdim=True)
        return self.output(self.hidden(read).tanh()).masked_fill(~counted, -math.inf).log_softmax(-1)


def mixed(log_probs: Tensor, log_gate: Tensor) -> Tensor:
    """Return `log Σ_j g^j p^j`, (..., C), for log-probabilities of the experts, (..., M, C), and log g, (..., M)."""
    return torch.logsumexp(log_probs + log_gate.unsqueeze(-1), dim=-2)
