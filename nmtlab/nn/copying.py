"""A mixture of what a model generates and what it copies from the source (Gu et al. 2016; Pham et al. 2018, eq 2).

Shapes: D width, S source length, C output columns.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.nn.linear import Linear
from nmtlab.nn.precision import widened

_GENERATES = 2.0
"""b_2 of a new gate: γ is 0.88 where h is 0, so that a training begins with what the model generates."""


class CopyHead(nn.Module):
    """`p(y) = γ P_G(y) + (1 - γ) P_C(y)`, with `γ = σ(w_2 tanh(W_1 h + b_1) + b_2)`.

    Args:
        d_model: width D of h.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.inner = Linear(d_model, d_model)
        self.gate = Linear(d_model, 1)
        self.open()

    def open(self) -> None:
        """Set b_2 to that of a new gate."""
        nn.init.constant_(self.gate.bias, _GENERATES)

    def generated_share(self, h: Tensor) -> Tensor:
        """Return γ, (...), for h, (..., D)."""
        return self._odds(h).squeeze(-1).sigmoid()

    def forward(self, h: Tensor, logits: Tensor, copied: Tensor) -> Tensor:
        """Return log p, (..., C).

        Args:
            h: (..., D).
            logits: of P_G, (..., C).
            copied: P_C, (..., C), as from `copied_probs`.
        """
        odds = self._odds(h)
        # Where nothing is copied, log P_C is that of the smallest number: that of 0 would have no gradient.
        copied = widened(copied)
        log_copied = copied.clamp_min(torch.finfo(copied.dtype).tiny).log()
        generated = F.logsigmoid(odds) + widened(logits).log_softmax(-1)
        return torch.logaddexp(generated, F.logsigmoid(-odds) + log_copied)

    def _odds(self, h: Tensor) -> Tensor:
        return widened(self.gate(self.inner(h).tanh()))


def copied_probs(weights: Tensor, columns: Tensor, width: int) -> Tensor:
    """Return P_C(v), the sum of the weights on the source positions whose type is v: (B, L, C).

    Args:
        weights: on the source, (B, L, S).
        columns: output column of each source type, (B, S).
        width: number C of output columns.
    """
    zeros = weights.new_zeros(*weights.shape[:2], width)
    return zeros.scatter_add(2, columns.unsqueeze(1).expand_as(weights), weights)
