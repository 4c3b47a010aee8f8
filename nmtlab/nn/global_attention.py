"""Attention to all positions of the source (Luong et al. 2015; thesis 1.1).

Shapes: B sentences, Q queries, S source positions, D width.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.nn.attention import impose
from nmtlab.nn.linear import Linear

ScoreKind = Literal["general", "dot", "additive"]


class GlobalAttention(nn.Module):
    """Attention that scores a position by `h W s`, `h s`, or `v tanh(W h + U s)` (Bahdanau et al. 2015)."""

    def __init__(self, d_model: int, score: ScoreKind) -> None:
        super().__init__()
        self.key = nn.Identity() if score == "dot" else Linear(d_model, d_model, bias=False)
        self.query = Linear(d_model, d_model, bias=False) if score == "additive" else nn.Identity()
        self.v = nn.Parameter(torch.zeros(d_model)) if score == "additive" else None

    def keys(self, memory: Tensor) -> Tensor:
        """Return the keys of memory, both (B, S, D); compute them once per sentence."""
        return self.key(memory)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        memory: Tensor,
        mask: Tensor,
        imposed: Tensor | None = None,
        temperature: float = 1.0,
    ) -> tuple[Tensor, Tensor]:
        """Attend from queries, (B, Q, D).

        Args:
            keys, memory: (B, S, D).
            mask: (B, 1, S), -inf where a position may not be attended to, else 0.
            imposed: weights that replace the computed ones where they are not NaN, broadcastable to (B, Q, S).
            temperature: divides the scores, above 0.

        Returns:
            The context vectors (B, Q, D) and the weights (B, Q, S).
        """
        queries = self.query(queries)
        if self.v is None:
            scores = torch.baddbmm(mask, queries, keys.transpose(1, 2))
        else:
            scores = F.linear((queries.unsqueeze(2) + keys.unsqueeze(1)).tanh(), self.v) + mask
        weights = (scores if temperature == 1 else scores / temperature).softmax(-1)
        weights = weights if imposed is None else impose(imposed, weights)
        return weights @ memory, weights
