"""Attention to several sources whose positions follow each other.

Shapes: B sentences, M sources, Q queries, S positions of all sources, D width, H heads, d_k = D / H.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from nmtlab.nn.attention import MultiHeadAttention
from nmtlab.nn.global_attention import GlobalAttention
from nmtlab.nn.linear import Linear


class SeparateGlobalAttention(nn.Module):
    """A global attention to each source, whose contexts are side by side (Zoph and Knight 2016; Nishimura et al. 2018).

    Args:
        parts: the attention to each source.
    """

    def __init__(self, parts: Sequence[GlobalAttention]) -> None:
        super().__init__()
        self.parts = cast(Sequence[GlobalAttention], nn.ModuleList(parts))

    def keys_values(self, memory: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values of memory, (B, S, D); `segments` has the source of each position, (B, S)."""
        return of_source([part.keys for part in self.parts], memory, segments), memory

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        imposed: Tensor | None = None,
        temperature: float = 1.0,
    ) -> tuple[Tensor, Tensor]:
        """Return the contexts, (B, Q, M D), and the weights, (B, Q, S), which add up to 1 in each source.

        The arguments are as of `GlobalAttention.forward`, with one mask for each source, (B, M, S).
        """
        contexts, weights = [], []
        for part, seen in zip(self.parts, mask.split(1, dim=1), strict=True):
            context, of_source = part(queries, keys, values, seen, only(imposed, seen), temperature)
            contexts.append(context)
            weights.append(of_source)
        return torch.cat(contexts, dim=-1), torch.stack(weights).sum(0)


class FlatGlobalAttention(nn.Module):
    """A global attention to all sources, with weights of its own for each (Libovický and Helcl 2017, flat).

    Args:
        parts: of each source, of which only the keys differ.
        d_model: width D.
    """

    def __init__(self, parts: Sequence[GlobalAttention], d_model: int) -> None:
        super().__init__()
        self.parts = cast(Sequence[GlobalAttention], nn.ModuleList(parts))
        self.values = nn.ModuleList(Linear(d_model, d_model, bias=False) for _ in parts)  # U

    def keys_values(self, memory: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values of memory, (B, S, D), each position's made by the weights of its source."""
        keys = of_source([part.keys for part in self.parts], memory, segments)
        return keys, of_source(list(self.values), memory, segments)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        imposed: Tensor | None = None,
        temperature: float = 1.0,
    ) -> tuple[Tensor, Tensor]:
        """Return the context, (B, Q, D), and the weights, (B, Q, S); arguments as of `GlobalAttention.forward`."""
        return self.parts[0](queries, keys, values, mask, imposed, temperature)


class SeparateAttention(nn.Module):
    """A multi-head attention to each source, whose outputs are added.

    Args:
        parts: the attention to each source.
    """

    def __init__(self, parts: Sequence[MultiHeadAttention]) -> None:
        super().__init__()
        self.parts = cast(Sequence[MultiHeadAttention], nn.ModuleList(parts))

    def keys_values(self, memory: Tensor, mask: Tensor, language: str = "") -> tuple[Tensor, Tensor]:
        """Return the keys and values of memory, (B, S, D), each (B, H, S, d_k); arguments as of `forward`."""
        segments = (mask[:, :, 0] == 0).int().argmax(1)  # (B, S); that of padding is never read
        keys = of_source([partial(part.key, language=language) for part in self.parts], memory, segments)
        values = of_source([partial(part.value, language=language) for part in self.parts], memory, segments)
        return self.parts[0].split(keys), self.parts[0].split(values)

    def forward(
        self,
        x: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        record: bool = False,
        imposed: Tensor | None = None,
        language: str = "",
    ) -> tuple[Tensor, Tensor | None]:
        """Return the sum of what is read of each source, (B, Q, D), and if recorded, the weights, (B, H, Q, S).

        The arguments are as of `MultiHeadAttention.forward`, with one mask for each source, (B, M, 1, S).
        """
        read = [
            part(x, keys, values, seen, record=record, imposed=only(imposed, seen), language=language)
            for part, seen in zip(self.parts, mask.split(1, dim=1), strict=True)
        ]
        weights = [of_source for _, of_source in read if of_source is not None]
        return torch.stack([mixed for mixed, _ in read]).sum(0), torch.stack(weights).sum(0) if weights else None


def of_source(maps: Sequence[Callable[[Tensor], Tensor]], x: Tensor, segments: Tensor) -> Tensor:
    """Return the vectors of positions, (B, S, D), each mapped by the map of its source, (B, S)."""
    found = maps[0](x)
    for number, other in enumerate(maps[1:], start=1):
        found = torch.where((segments == number).unsqueeze(-1), other(x), found)
    return found


def only(imposed: Tensor | None, mask: Tensor) -> Tensor | None:
    """Return imposed weights without those of positions that a mask hides, where the computed ones are 0."""
    return None if imposed is None else imposed.where(mask == 0, torch.nan)
