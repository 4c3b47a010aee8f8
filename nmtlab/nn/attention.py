"""Multi-head attention (thesis eq 1.7-1.9).

Shapes: B sentences, H heads, Q queries, K keys, D = H * d_k model width.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.nn.dropout import Dropout
from nmtlab.nn.maps import Maps
from nmtlab.nn.positions import RelativePositions
from nmtlab.nn.private import SharedLinear

_SMALLEST_PRODUCT = 400
"""Multiplications in the smallest matrix product that torch's `bmm` leaves to MKL; smaller ones run in slow loops."""


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention with several heads.

    Args:
        heads: number of heads H, a divisor of D.
        dropout: share of attention weights dropped in training.
        maps: makes the projections; a share of units that languages have in common is a whole number of heads (eq 4.3).
        relative: whether keys depend on their distance from the query, for self-attention.
    """

    def __init__(
        self, d_model: int, heads: int, dropout: float, maps: Maps = SharedLinear, relative: bool = False
    ) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = Dropout(dropout)
        self.query = maps(d_model, d_model)
        self.key = maps(d_model, d_model)
        self.value = maps(d_model, d_model)
        self.output = maps(d_model, d_model)
        self.relative = RelativePositions(d_model // heads) if relative else None

    def keys_values(self, memory: Tensor, language: str = "") -> tuple[Tensor, Tensor]:
        """Return the keys and values of memory, (B, K, D), in a language, each (B, H, K, d_k)."""
        return self.split(self.key(memory, language)), self.split(self.value(memory, language))

    def split(self, x: Tensor) -> Tensor:
        """Return vectors, (B, K, D), as (B, H, K, d_k): each head's units."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(
        self,
        x: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None = None,
        causal: bool = False,
        record: bool = False,
        imposed: Tensor | None = None,
        language: str = "",
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from x to keys and values.

        Args:
            x: (B, Q, D).
            keys, values: (B, H, K, d_k), as from `keys_values`; if they are `relative`, the last Q are those of x.
            mask: added to the scores, -inf where a key may not be attended to: broadcastable to (B, H, Q, K).
            causal: query i attends to keys 0 to i only; excludes `mask`.
            record: also return the weights (computed explicitly, with the same result).
            imposed: weights that replace the computed ones where they are not NaN, broadcastable to (B, H, Q, K).
            language: code of the language whose private units are used, if there are private ones.

        Returns:
            (B, Q, D), and the weights (B, H, Q, K) or None.
        """
        queries = self.split(self.query(x, language))  # (B, H, Q, d_k)
        drops = self.training and self.dropout.p > 0
        # Torch's fused attention does the same, but on a CPU it is slower with dropout and for a single query.
        products = x.device.type == "cpu" and (drops or _multiplied_faster(queries, keys))
        if record or imposed is not None or products or self.relative is not None:
            weights = self._weights(queries, keys, mask, causal)  # (B, H, Q, K)
            weights = weights if imposed is None else impose(imposed, weights)
            mixed = self.dropout(weights) @ values
        else:
            weights = None
            p = self.dropout.p if drops else 0.0
            mixed = F.scaled_dot_product_attention(queries, keys, values, mask, dropout_p=p, is_causal=causal)
        return self.output(mixed.transpose(1, 2).flatten(2), language), weights if record else None

    def _weights(self, queries: Tensor, keys: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        queries = queries / math.sqrt(queries.shape[-1])
        scores = queries @ keys.transpose(-2, -1)
        if self.relative is not None:
            scores = scores + self.relative(queries, keys.shape[-2])
        if causal:
            mask = torch.full(scores.shape[-2:], -math.inf, device=scores.device, dtype=scores.dtype).triu(1)
        if mask is not None:
            scores = scores + mask
        return scores.softmax(-1)


def impose(imposed: Tensor, weights: Tensor) -> Tensor:
    """Return `weights`, replaced by `imposed` where that is not NaN."""
    return torch.where(imposed.isnan(), weights, imposed.to(weights.dtype))


def _multiplied_faster(queries: Tensor, keys: Tensor) -> bool:
    """Return whether there is one query for each head, as in decoding, with enough keys for MKL."""
    return queries.shape[2] == 1 and keys.shape[2] * keys.shape[3] >= _SMALLEST_PRODUCT
