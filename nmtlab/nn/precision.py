"""Mixed precision."""

import torch
from torch import Tensor


def in_autocast_precision(x: Tensor) -> Tensor:
    """Return x as autocast would convert it for a linear map; x itself without autocast.

    Converted here, x and its gradient are converted once, not by each of several linear maps that read it.
    """
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x


def computable(weight: Tensor, like: Tensor) -> Tensor:
    """Return a weight in the precision of another that it is computed with; as it is if autocast will convert it."""
    if weight.is_meta or torch.is_autocast_enabled(weight.device.type):
        return weight
    return weight.to(like.dtype)


def widened(x: Tensor) -> Tensor:
    """Return x in single precision if it has less: sums over a large vocabulary need it, and numpy has no bfloat16."""
    return x.float() if x.dtype.itemsize < 4 else x
