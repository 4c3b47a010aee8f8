"""Word embeddings, plain or of unit norm, with private units for each language if wanted."""

import math
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.nn.output import WHOLE
from nmtlab.nn.precision import widened
from nmtlab.nn.private import Generators, key


class WordEmbedding(nn.Module):
    """A table of word embeddings for the input and, if shared, the output.

    Args:
        fixnorm: divide each row by its norm in every use (FixNorm, thesis 3.3.2.3).
        share: σ; the first σ d_model units, a whole number, are common to all languages: E(w) = [E_s(w) ; E_l(w)] (eq
            4.3).
        languages: codes of the languages that have the other units, if any.
        dtype: what the rows are kept in; input vectors are in single precision even if it is less.
    """

    def __init__(
        self,
        types: int,
        d_model: int,
        fixnorm: bool,
        share: float = 1.0,
        languages: Sequence[str] = (),
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.fixnorm = fixnorm
        self.is_narrow = dtype.itemsize < 4
        self.width = d_model
        shared = round(share * d_model)
        self.weight = nn.Parameter(torch.empty(types, shared, dtype=dtype)) if shared else None
        private = {key(code): nn.Parameter(torch.empty(types, d_model - shared, dtype=dtype)) for code in languages}
        self.private = nn.ParameterDict(private) if share < 1 else None

    @property
    def units(self) -> Mapping[str, slice]:
        """The units by name: all of them `word`, or those that are `shared` and those that are `private`, if any."""
        if self.private is None:
            return WHOLE
        shared = 0 if self.weight is None else self.weight.shape[1]
        return {**({"shared": slice(shared)} if shared else {}), "private": slice(shared, None)}

    def stored(self, language: str = "", ids: Tensor | None = None) -> Tensor:
        """Return the embeddings of `ids`, (n,), or of all types, in a language, before normalisation: (n, d_model)."""
        parts: list[Tensor] = [] if self.weight is None else [self.weight]
        if self.private is not None:
            parts.append(self.private[key(language)])
        rows = parts if ids is None else [F.embedding(ids, part) for part in parts]
        return rows[0] if len(rows) == 1 else torch.cat(rows, dim=-1)

    def table(self, ids: Tensor | None = None, language: str = "") -> Tensor:
        """Return the embeddings of `ids`, (n,), or of all types, normalised with FixNorm: (n, d_model)."""
        rows = self.stored(language, ids)
        return F.normalize(self._wide(rows), dim=-1) if self.fixnorm else rows

    def forward(self, ids: Tensor, language: str = "") -> Tensor:
        """Return the embeddings of ids, (...), in a language times sqrt(d_model): (..., d_model)."""
        return self._wide(self.table(ids, language)) * math.sqrt(self.width)

    def _wide(self, rows: Tensor) -> Tensor:
        return widened(rows) if self.is_narrow else rows

    def reset(self, generators: Generators) -> None:
        """Draw initial weights: U(-0.01, 0.01) with FixNorm, else normal with std d^-1/2 (thesis 3.3.3.3)."""
        if self.weight is not None:
            self._draw(self.weight, None)
        for language, generator in generators.items():
            if self.private is not None and key(language) in self.private:
                self._draw(self.private[key(language)], generator)

    def _draw(self, weight: Tensor, generator: torch.Generator | None) -> None:
        if self.fixnorm:
            nn.init.uniform_(weight, -0.01, 0.01, generator=generator)
        else:
            nn.init.normal_(weight, std=self.width**-0.5, generator=generator)
