"""Linear maps with a shared part and a private part for each language (thesis 4.2, eq 4.3).

Only the private part of the language in use is computed. It has separate parameters, so that the others get no
gradient, and a separate random generator, so that initial weights do not depend on which other languages there are.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast
from zlib import crc32

import torch
from torch import Tensor, nn

from nmtlab.nn.linear import Linear, affine

M = TypeVar("M", bound=nn.Module)

Generators = Mapping[str, torch.Generator]
"""A random generator for each language."""


class SharedLinear(Linear):
    """A linear map that all languages share."""

    def forward(self, x: Tensor, language: str = "") -> Tensor:
        """Return W x + b, (..., out_features), for x, (..., in_features)."""
        return super().forward(x)

    def draw(self, std: float, generators: Generators) -> None:
        """Draw weights from N(0, std²); biases are 0."""
        nn.init.normal_(self.weight, std=std)
        nn.init.zeros_(self.bias)


class Rows(nn.Module):
    """The rows of a linear map that belong to one language."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x: Tensor) -> Tensor:
        """Return W x + b for x, (..., in_features)."""
        return affine(x, self.weight, self.bias)


class SharedPrivateLinear(nn.Module):
    """A linear map [W_s x + b_s ; W_l x + b_l] whose first units are shared and whose others are of language l.

    Args:
        in_features: width of x.
        out_features: number of units m.
        share: σ; the first σm units, a whole number, are shared.
        languages: codes of the languages.
    """

    def __init__(self, in_features: int, out_features: int, share: float, languages: Sequence[str]) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        shared = round(share * out_features)
        self.shared = Linear(in_features, shared) if shared else None
        self.private = by_language({code: Rows(in_features, out_features - shared) for code in languages})

    def forward(self, x: Tensor, language: str) -> Tensor:
        """Return all units, (..., out_features), for x, (..., in_features), in a language."""
        private = self.private[key(language)](x)
        return private if self.shared is None else torch.cat((self.shared(x), private), dim=-1)

    def draw(self, std: float, generators: Generators) -> None:
        """Draw weights from N(0, std²); biases are 0."""
        if self.shared is not None:
            nn.init.normal_(self.shared.weight, std=std)
            nn.init.zeros_(self.shared.bias)
        for language, generator in generators.items():
            if key(language) in self.private:
                nn.init.normal_(self.private[key(language)].weight, std=std, generator=generator)


def by_language(modules: Mapping[str, M]) -> Mapping[str, M]:
    """Return modules by language code as a module, with keys that are no attributes of one."""
    return cast(Mapping[str, M], nn.ModuleDict({key(language): module for language, module in modules.items()}))


def key(language: str) -> str:
    """Return the key of a language's private part, as in the names of its parameters."""
    return f"of_{language}"


def private_language(name: str) -> str:
    """Return the language whose private part a parameter belongs to, given its name; empty if it is shared."""
    return next((part.removeprefix(key("")) for part in name.split(".") if part.startswith(key(""))), "")


def generators(languages: Sequence[str]) -> dict[str, torch.Generator]:
    """Return a random generator for each language, which depends on torch's seed and the language's code alone."""
    seed = torch.initial_seed()
    return {code: torch.Generator().manual_seed((seed + (crc32(code.encode()) << 20)) % 2**63) for code in languages}


def xavier_normal(linear: SharedLinear | SharedPrivateLinear, generators: Generators) -> None:
    """Draw weights from N(0, 2/(d_in + d_out)), eq 3.5; biases 0."""
    linear.draw(math.sqrt(2 / (linear.in_features + linear.out_features)), generators)


def small_normal(linear: SharedLinear | SharedPrivateLinear, generators: Generators) -> None:
    """Draw weights from N(0, 2/(5 d)), SmallInit for attention's square projections; biases 0."""
    linear.draw(math.sqrt(2 / (5 * linear.in_features)), generators)
