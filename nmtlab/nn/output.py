"""The output layer."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class OutputLayer(nn.Module):
    """Logits of the allowed types, `g w·h + b`, with rows of a word embedding as w (thesis eq 3.7).

    Only the allowed types get a column: equivalent to a logit of -inf for the others, but cheaper (target masks, thesis
    3.3.3.1).

    Args:
        allowed: (types,) bool, which types may be generated.
        scaled: whether there is a learned scalar g, starting at 1; otherwise it is 1.
    """

    def __init__(self, allowed: Tensor, scaled: bool) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(len(allowed)))
        self.g = nn.Parameter(torch.ones(())) if scaled else None
        self.register_buffer("types", allowed.nonzero().squeeze(1), persistent=False)  # (columns,), ascending
        self.all_allowed = bool(allowed.all())

    def allowed(self, table: Tensor) -> Tensor:
        """Return the rows of a table, (types, ...), whose types have a column."""
        return table if self.all_allowed else table.index_select(0, self.types)

    def scaled(self, h: Tensor) -> Tensor:
        """Return h times g, the vector that rows are multiplied by."""
        return h if self.g is None else self.g * h

    def forward(self, h: Tensor, rows: Tensor, bias: Tensor) -> Tensor:
        """Return logits, (..., columns), for h, (..., d_model), rows, (columns, d_model), and biases, (columns,)."""
        return F.linear(self.scaled(h), rows, bias)

    def parts(self, h: Tensor, rows: Tensor, bias: Tensor) -> dict[str, Tensor]:
        """Return the terms, each (..., columns), that add up to the logits."""
        word = F.linear(self.scaled(h), rows)
        return {"word": word, "bias": bias.expand_as(word)}
