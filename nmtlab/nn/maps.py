"""The maker of the Transformer's linear maps: shared, partly private, with a low-rank change, or of clipped inputs."""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from nmtlab.nn.clipped import ClippedLinear
from nmtlab.nn.low_rank import LowRankLinear
from nmtlab.nn.private import SharedLinear, SharedPrivateLinear

Maps = Callable[[int, int], SharedLinear | SharedPrivateLinear]
"""Makes a linear map, given the widths of its input and its output."""


def linear_maps(
    share: float = 1.0,
    languages: Sequence[str] = (),
    rank: int = 0,
    dtype: torch.dtype = torch.float32,
    clip: float = 0.0,
) -> Maps:
    """Return the maker of maps with a share σ of units common to all languages; with a rank or a clip, all are.

    Beside a change of that rank, weights are kept in `dtype`.
    """
    if clip:
        return partial(ClippedLinear, limit=clip)
    if rank:
        return partial(LowRankLinear, rank=rank, dtype=dtype)
    return SharedLinear if share == 1 else partial(SharedPrivateLinear, share=share, languages=languages)
