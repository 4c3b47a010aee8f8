"""Overwrite rows of tensors that may be of different widths."""

import torch.nn.functional as F
from torch import Tensor


def overwritten(x: Tensor, rows: Tensor, values: Tensor, dim: int = 1, fill: float = 0) -> Tensor:
    """Return x with other values in some rows: in place, unless x has to be made wider.

    Args:
        x: (B, ...).
        rows: (n,) indices.
        values: (n, ...), of the sizes of a row of x but in `dim`, where the smaller of the two is filled up at the end.
        dim: from 1.
        fill: with what.
    """
    more = values.shape[dim] - x.shape[dim]
    x, values = _filled(x, dim, more, fill), _filled(values, dim, -more, fill)
    x[rows] = values
    return x


def _filled(x: Tensor, dim: int, more: int, fill: float) -> Tensor:
    return F.pad(x, (*(0, 0) * (x.dim() - 1 - dim), 0, more), value=fill) if more > 0 else x
