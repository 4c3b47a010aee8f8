"""Adapters: a small residual network for each language after a layer (Bapna and Firat 2019)."""

import math
from collections.abc import Sequence

from torch import Tensor, nn

from nmtlab.nn.private import Generators, Rows, by_language, key


class Adapter(nn.Module):
    """Residual network x + W_up relu(W_down norm(x)), `width` inside; the identity at first: W_up starts at 0."""

    def __init__(self, d_model: int, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.down = Rows(d_model, width)
        self.up = Rows(width, d_model)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return the adapted x, (..., d_model)."""
        return x + self.up(self.down(self.norm(x)).relu_())


class Adapters(nn.Module):
    """One adapter for each language."""

    def __init__(self, d_model: int, width: int, languages: Sequence[str]) -> None:
        super().__init__()
        self.private = by_language({code: Adapter(d_model, width) for code in languages})

    def forward(self, x: Tensor, language: str) -> Tensor:
        """Return x, (..., d_model), adapted to a language."""
        return self.private[key(language)](x)

    def draw(self, generators: Generators) -> None:
        """Draw the weights of the lower layers from N(0, 2/(d_in + d_out)), eq 3.5."""
        for language, generator in generators.items():
            if key(language) in self.private:
                down = self.private[key(language)].down.weight
                nn.init.normal_(down, std=math.sqrt(2 / sum(down.shape)), generator=generator)
