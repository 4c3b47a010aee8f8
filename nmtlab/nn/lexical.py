"""Lexical choice: fixed-norm output layers and lexicons that complement them (thesis 3.2.3, 3.2.4).

Shapes: D width, C output columns.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.nn.dropout import Dropout
from nmtlab.nn.linear import Linear

TABLE_EPSILON = 0.001
"""Added to the table's probabilities before their logarithm (Arthur et al. 2016, eq 9)."""


def at_length(x: Tensor, length: float | None) -> Tensor:
    """Return x, (..., D), with every vector scaled to norm `length`; unchanged if that is None."""
    return x if length is None else length * F.normalize(x, dim=-1)


class LexicalModule(nn.Module):
    """Translates the attended source words directly (thesis 3.2.4).

    `f^l = tanh(sum_s a_s f_s)`, `h^l = tanh(W f^l) + f^l`, and its logits are `W^l h^l + b^l`, where h^l and the rows
    of W^l have norm r.

    Args:
        types: size of the target vocabulary.
        d_model: width D of source embeddings.
        dropout: share of h^l dropped in training, before normalisation.
        radius: norm r.
    """

    def __init__(self, types: int, d_model: int, dropout: float, radius: float) -> None:
        super().__init__()
        self.inner = Linear(d_model, d_model, bias=False)
        self.weight = nn.Parameter(torch.zeros(types, d_model))
        self.bias = nn.Parameter(torch.zeros(types))
        self.dropout = Dropout(dropout)
        self.radius = radius

    def forward(self, attended: Tensor) -> Tensor:
        """Return h^l with norm r, (..., D), for attention-weighted sums of source embeddings, (..., D)."""
        f = attended.tanh()
        return at_length(self.dropout(self.inner(f).tanh() + f), self.radius)

    def rows(self, types: Tensor) -> Tensor:
        """Return the rows of W^l for types, (C,), with norm r: (C, D)."""
        return at_length(self.weight.index_select(0, types), self.radius)


class TranslationTable(nn.Module):
    """A fixed sparse table p(target | source) (Arthur et al. 2016).

    Args:
        offsets: (source types + 1,) start of each source type's entries, and the end of the last.
        targets: (entries,) target types.
        probabilities: (entries,).
    """

    offsets: Tensor
    targets: Tensor
    probabilities: Tensor

    def __init__(self, offsets: Tensor, targets: Tensor, probabilities: Tensor) -> None:
        super().__init__()
        self.register_buffer("offsets", offsets, persistent=False)
        self.register_buffer("targets", targets, persistent=False)
        self.register_buffer("probabilities", probabilities, persistent=False)

    def forward(self, types: Tensor, output_ids: Tensor) -> Tensor:
        """Return the dense rows of source types, (...), for the types of the output columns, (C,): (..., C)."""
        unique, inverse = types.unique(return_inverse=True)
        begin, end = self.offsets[unique], self.offsets[unique + 1]
        counts = end - begin
        row = torch.repeat_interleave(torch.arange(len(unique), device=types.device), counts)
        first = torch.repeat_interleave(begin - (counts.cumsum(0) - counts), counts)
        entry = first + torch.arange(len(row), device=types.device)
        targets = self.targets[entry]
        column = torch.searchsorted(output_ids, targets).clamp_max(len(output_ids) - 1)
        kept = output_ids[column] == targets
        rows = self.probabilities.new_zeros(len(unique), len(output_ids))
        rows[row[kept], column[kept]] = self.probabilities[entry[kept]]
        return rows[inverse]
