"""Position-wise feed-forward network (thesis eq 1.13)."""

from collections.abc import Sequence

from torch import Tensor, nn

from nmtlab.nn.dropout import Dropout
from nmtlab.nn.private import linear


class FeedForward(nn.Module):
    """Two linear layers with a ReLU and dropout between them.

    Args:
        d_model: width of input and output.
        d_ff: width of the hidden layer.
        dropout: share of the ReLU's output dropped in training.
        share: σ, the share of units of either layer that all languages have in common (eq 4.3).
        languages: codes of the languages that have the other units, if any.
    """

    def __init__(
        self, d_model: int, d_ff: int, dropout: float, share: float = 1.0, languages: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self.inner = linear(d_model, d_ff, share, languages)
        self.outer = linear(d_ff, d_model, share, languages)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, language: str = "") -> Tensor:
        """Return f(x) in a language for x, (..., d_model)."""
        return self.outer(self.dropout(self.inner(x, language).relu_()), language)
