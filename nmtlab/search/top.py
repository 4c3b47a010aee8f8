"""Top-k with ties broken by index."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def stable_topk(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k largest values of each row, largest first, equal ones by index, and their indices.

    torch's top-k is the fastest, and its order is the only one unless two of the k + 1 largest values are equal.

    Args:
        values: (..., n).
        k: from 1 to n.

    Returns:
        (..., k) values and (..., k) indices.
    """
    found, indices = values.topk(min(k + 1, values.shape[-1]))
    tied = (found[..., 1:] == found[..., :-1]).any(-1)
    found, indices = found[..., :k], indices[..., :k]
    if tied.any():
        found[tied], indices[tied] = _sorted_by_blocks(values[tied], k)
    return found, indices


def _sorted_by_blocks(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Do the same for (rows, n) values that may be equal.

    Two cheap passes instead of a sort of each row: the best k elements must lie in the k blocks of largest maximum,
    because the maximum of every block that ranks higher also ranks higher than they do.
    """
    n = values.shape[-1]
    width = max(1, math.isqrt(n // k))
    blocks = F.pad(values, (0, -n % width), value=-math.inf).unflatten(-1, (-1, width))  # (rows, n/width, width)
    best = blocks.amax(-1).sort(dim=-1, descending=True, stable=True).indices[:, :k].sort(dim=-1).values  # (rows, k)
    inside = blocks.gather(1, best.unsqueeze(-1).expand(-1, -1, width)).flatten(1)  # (rows, k*width)
    found = inside.sort(dim=-1, descending=True, stable=True)
    indices = best.repeat_interleave(width, -1) * width + torch.arange(width, device=values.device).repeat(k)
    return found.values[:, :k], indices.gather(-1, found.indices[:, :k])
