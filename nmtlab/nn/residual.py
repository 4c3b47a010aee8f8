"""Residual connections with normalisation before or after the sublayer (thesis eq 3.3, 3.4)."""

from collections.abc import Callable

from torch import Tensor, nn

from nmtlab.nn.dropout import Dropout
from nmtlab.nn.precision import in_autocast_precision


class PreNorm(nn.Module):
    """Residual connection `x + drop(f(norm(x)))`: the identity path is untouched.

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
        return x + self.dropout(f(in_autocast_precision(self.norm(x))))


class PostNorm(nn.Module):
    """Residual connection `norm(x + drop(f(x)))`: the norm is on the identity path.

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
        return self.norm(x + self.dropout(f(in_autocast_precision(x))))
