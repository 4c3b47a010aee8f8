"""Word embeddings, plain or of unit norm."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class WordEmbedding(nn.Module):
    """A table of word embeddings for the input and, if shared, the output.

    Args:
        types: size of the vocabulary.
        d_model: width.
        fixnorm: divide each row by its norm in every use (FixNorm, thesis 3.3.2.3).
    """

    def __init__(self, types: int, d_model: int, fixnorm: bool) -> None:
        super().__init__()
        self.fixnorm = fixnorm
        self.weight = nn.Parameter(torch.empty(types, d_model))

    def table(self, ids: Tensor | None = None) -> Tensor:
        """Return the embeddings of `ids`, (n,), or of all types, normalised with FixNorm: (n, d_model)."""
        rows = self.weight if ids is None else F.embedding(ids, self.weight)
        return F.normalize(rows, dim=-1) if self.fixnorm else rows

    def forward(self, ids: Tensor) -> Tensor:
        """Return the embeddings of ids, (...), times sqrt(d_model): (..., d_model)."""
        return self.table(ids) * math.sqrt(self.weight.shape[1])

    def reset(self) -> None:
        """Draw initial weights: U(-0.01, 0.01) with FixNorm, else normal with std d^-1/2 (thesis 3.3.3.3)."""
        if self.fixnorm:
            nn.init.uniform_(self.weight, -0.01, 0.01)
        else:
            nn.init.normal_(self.weight, std=self.weight.shape[1] ** -0.5)
