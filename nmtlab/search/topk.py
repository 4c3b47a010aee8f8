"""Top-k with ties broken by index."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

_WIDTH = 64
"""Elements of a block: of the powers of two, the fastest for 3,000 and for 8,000 types."""


def stable_topk(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k largest values of each row, largest first, equal ones by index, and their indices.

    The order of the values is the only one unless two of the k + 1 largest are equal.

    Args:
        values: (..., n).
        k: from 1 to n.

    Returns:
        (..., k) values and (..., k) indices.
    """
    found, indices = _largest(values, min(k + 1, values.shape[-1]))
    tied = (found[..., 1:] == found[..., :-1]).any(-1)
    found, indices = found[..., :k], indices[..., :k]
    if tied.any():
        found[tied], indices[tied] = _sorted_by_blocks(values[tied], k)
    return found, indices


def _largest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k largest values of each row, largest first, and their indices; equal ones in any order.

    On a CPU, torch's top-k copies every value beside its index. The largest value of each block of a long row is found
    several times faster, and the k largest of all lie in the k blocks with the largest ones, or in the rest of the row.
    """
    blocks = values.shape[-1] // _WIDTH
    if values.device.type != "cpu" or blocks < 5 * k:
        return values.topk(k)
    rows = values.reshape(-1, values.shape[-1])  # (R, n)
    whole, rest = rows.split((blocks * _WIDTH, rows.shape[1] - blocks * _WIDTH), dim=1)
    whole = whole.unflatten(1, (blocks, _WIDTH))
    best = whole.amax(2).topk(k).indices  # (R, k)
    inside = whole[torch.arange(len(rows)).unsqueeze(1), best].flatten(1)  # (R, k * width)
    found, place = torch.cat((inside, rest), dim=1).topk(k)
    block = best.gather(1, (place // _WIDTH).clamp_max(k - 1))
    index = torch.where(place < k * _WIDTH, block * _WIDTH + place % _WIDTH, place + (blocks - k) * _WIDTH)
    return found.view(*values.shape[:-1], k), index.view(*values.shape[:-1], k)


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
