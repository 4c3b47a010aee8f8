"""Average attention: a decoder's memory of the words so far without weights (Zhang, Xiong and Su 2018).

Shapes: B sentences, T words, D width.
"""

import torch
from torch import Tensor, nn

from nmtlab.nn.feed_forward import FeedForward
from nmtlab.nn.precision import widened
from nmtlab.nn.private import SharedLinear, SharedPrivateLinear


class AverageAttention(nn.Module):
    """What stands in for self-attention: h = i y + f g, with gates [i; f] = σ(W [y; g]).

    g = FFN(ȳ), where ȳ is the mean of the words up to y.

    Args:
        feed_forward: of width D; without it, g = ȳ.
        gate: from 2 D to 2 D; without it, h = g.
    """

    def __init__(self, feed_forward: FeedForward | None, gate: SharedLinear | SharedPrivateLinear | None) -> None:
        super().__init__()
        self.feed_forward = feed_forward
        self.gate = gate

    def forward(self, y: Tensor, mean: Tensor, language: str = "") -> Tensor:
        """Return h, (..., D), in a language for words y and the means of all words up to them, each (..., D)."""
        g = mean.to(y.dtype)
        g = g if self.feed_forward is None else self.feed_forward(g, language)
        if self.gate is None:
            return g
        i, f = self.gate(torch.cat((y, g), dim=-1), language).sigmoid().chunk(2, dim=-1)
        return i * y + f * g


def running_means(y: Tensor) -> Tensor:
    """Return the mean of the words up to each, (B, T, D), in single precision at least, for words y, (B, T, D)."""
    y = widened(y)
    return y.cumsum(1) / torch.arange(1, y.shape[1] + 1, device=y.device, dtype=y.dtype)[:, None]
