"""The output layer."""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.nn.clipped import ProductInput
from nmtlab.nn.linear import affine

WHOLE: Mapping[str, slice] = {"word": slice(None)}
"""All units of a word's vector, under one name."""


class OutputTypes(nn.Module):
    """The types that have a column in the output, by target language.

    Only the allowed types get a column: equivalent to a logit of -inf for the others, but cheaper (target masks, thesis
    3.3.3.1).

    Args:
        allowed: which types may be generated in each target language: (types,) bool, by language code. With one
            language, its code does not matter.
    """

    def __init__(self, allowed: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.languages = tuple(allowed)
        self._ranges: dict[str, slice] = {}
        for language, mask in allowed.items():
            types = mask.nonzero().squeeze(1)
            self.register_buffer(f"types_{language}", types, persistent=False)
            if len(types) and int(types[-1] - types[0]) + 1 == len(types):
                self._ranges[language] = slice(int(types[0]), int(types[-1]) + 1)

    def types(self, language: str = "") -> Tensor:
        """Return the type of each column in a target language, ascending: (columns,)."""
        return self.get_buffer(f"types_{self._known(language)}")

    def allowed(self, table: Tensor, language: str = "") -> Tensor:
        """Return the rows of a table, (types, ...), whose types have a column in a target language.

        Adjacent rows are not copied: the tables of large vocabularies take most of a model's memory.
        """
        if range_ := self._ranges.get(self._known(language)):
            return table[range_]
        return table.index_select(0, self.types(language))

    def _known(self, language: str) -> str:
        return language if len(self.languages) > 1 else self.languages[0]


class OutputLayer(OutputTypes):
    """Logits of the allowed types, `g w·h + b`, with rows of a word embedding as w (thesis eq 3.7).

    Args:
        allowed: as of `OutputTypes`.
        scaled: whether there is a learned scalar g, starting at 1; otherwise it is 1.
        clip: c, as of `ProductInput`, to which g h and w are clipped; 0 for none.
    """

    def __init__(self, allowed: Mapping[str, Tensor], scaled: bool, clip: float = 0.0) -> None:
        super().__init__(allowed)
        self.bias = nn.Parameter(torch.zeros(len(next(iter(allowed.values())))))
        self.g = nn.Parameter(torch.ones(())) if scaled else None
        self.clip = ProductInput(clip) if clip else nn.Identity()

    def scaled(self, h: Tensor) -> Tensor:
        """Return h times g, the vector that rows are multiplied by."""
        return self.clip(h if self.g is None else self.g * h)

    def forward(self, h: Tensor, rows: Tensor, bias: Tensor) -> Tensor:
        """Return logits, (..., columns), for h, (..., d_model), rows, (columns, d_model), and biases, (columns,)."""
        return affine(self.scaled(h), rows, bias)

    def parts(self, h: Tensor, rows: Tensor, bias: Tensor, units: Mapping[str, slice] = WHOLE) -> dict[str, Tensor]:
        """Return the terms, each (..., columns), that add up to the logits.

        Args:
            h, rows, bias: as of `forward`.
            units: name -> units of h and rows, each of which has a separate inner product.
        """
        scaled = self.scaled(h)
        terms = {name: F.linear(scaled[..., some], rows[:, some]) for name, some in units.items()}
        return {**terms, "bias": bias.expand(*h.shape[:-1], -1)}
