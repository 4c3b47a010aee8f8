"""A sublayer in its residual connection, normalised before or after (thesis eq 3.3, 3.4)."""

from collections.abc import Callable

from torch import Tensor, nn

from nmtlab.nn.dropout import Dropout


class PreNorm(nn.Module):
    """Residual connection `x + drop(f(norm(x)))`: the identity path is left alone.

    ```
    x ──┬── norm ── f ── drop ── + ──▶
        └────────────────────────┘
    ```
    """

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
        return x + self.dropout(f(self.norm(x)))


class PostNorm(nn.Module):
    """Residual connection `norm(x + drop(f(x)))`: the norm stands in the identity path.

    ```
    x ──┬── f ── drop ── + ── norm ──▶
        └────────────────┘
    ```
    """

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(x + self.dropout(f(x)))
