"""Position-wise feed-forward network (thesis eq 1.13)."""

from torch import Tensor, nn

from nmtlab.nn.dropout import Dropout


class FeedForward(nn.Module):
    """Two linear layers with a ReLU and dropout between them.

    Args:
        d_model: width of input and output.
        d_ff: width of the hidden layer.
        dropout: share of the ReLU's output dropped in training.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return f(x) for x, (..., d_model)."""
        return self.outer(self.dropout(self.inner(x).relu_()))
