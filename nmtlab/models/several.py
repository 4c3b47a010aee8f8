"""Several sources as one memory: the positions of each sentence, source after source, without gaps.

Shapes as in `interface`; M sources, S positions of all of them together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Joint:
    """Where the positions of a memory of several sources come from.

    Args:
        order: (B, S) place of each position among those of all sources with their padding, side by side.
        segments: (B, S) the source of each position, from 0; -1 of padding, which follows all others.
        tokens: (B, M) tokens of each source, EOS included.
        places: (B, S) the token that each position is, counted through all sources; arbitrary at padding.
    """

    order: Tensor
    segments: Tensor
    tokens: Tensor
    places: Tensor

    @classmethod
    def of(cls, masks: Sequence[Tensor], tokens: Sequence[Tensor]) -> "Joint":
        """Return how sources are joined, given which positions of each can be attended to, (B, S_m) bool.

        Args:
            masks: of the sources; every sentence has a position in each.
            tokens: (B,) of each source, EOS included.
        """
        mask, lengths = torch.cat(list(masks), dim=1), torch.stack(list(tokens), dim=1)
        order = (~mask).to(torch.uint8).sort(dim=1, stable=True).indices[:, : int(mask.sum(1).max())]
        numbers = torch.cat([torch.full_like(one[0], number, dtype=torch.long) for number, one in enumerate(masks)])
        within = torch.cat([torch.arange(one.shape[1], device=mask.device) for one in masks])
        before = (lengths.cumsum(1) - lengths).gather(1, numbers[order])
        segments = numbers[order].masked_fill(~mask.gather(1, order), -1)
        return cls(order, segments, lengths, before + within[order])

    @property
    def lengths(self) -> Tensor:
        """(B,) tokens of the longest source, without EOS."""
        return self.tokens.amax(1) - 1

    @property
    def mask(self) -> Tensor:
        """(B, S) bool, which positions are not padding."""
        return self.segments >= 0

    def select(self, sentences: Tensor) -> "Joint":
        """Return the same for some sentences."""
        return Joint(*(tensor[sentences] for tensor in vars(self).values()))

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """Return what there is at the positions of each source, (B, S_m, ...), at the joint ones: (B, S, ...)."""
        x = torch.cat(list(parts), dim=1)
        order = self.order.reshape(*self.order.shape, *[1] * (x.dim() - 2))
        return x.gather(1, order.expand(-1, -1, *x.shape[2:]))

    def bias(self, separate: bool, like: Tensor) -> Tensor:
        """Return what is added to attention scores: 0 where they may be attended to, else -inf.

        Args:
            separate: whether each source has an attention of its own.
            like: has the type of the result.

        Returns:
            (B, 1, S), or (B, M, S) if they are separate.
        """
        numbers = torch.arange(self.tokens.shape[1], device=like.device)[:, None]
        seen = self.segments[:, None] == numbers if separate else self.mask[:, None]
        return like.new_zeros(seen.shape).masked_fill(~seen, -math.inf)

    def by_token(self, weights: Tensor) -> Tensor:
        """Return recorded weights of positions, (layers, B, heads, T, S), as those of all tokens, EOS included.

        The tokens of each sentence are those of its sources, one source after the other; one that is no position has 0.
        """
        tokens = int(self.tokens.sum(1).max())
        kept, where = (x[None, :, None, None] for x in (self.mask, self.places.clamp_max(tokens - 1)))
        spread = weights.new_zeros(*weights.shape[:-1], tokens)
        return spread.scatter_add(-1, where.expand_as(weights), weights * kept)
