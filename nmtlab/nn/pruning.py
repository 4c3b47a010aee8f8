"""Lighter weights: the smallest values at 0 (See, Luong and Manning 2016), or a lower rank.

Values are those that are stored: of a fixed norm or of a normalised weight, they are normalised again when it is used.
"""

from collections.abc import Collection, Mapping

import torch
from torch import Tensor

from nmtlab.nn.precision import widened


def pruned(
    weights: Mapping[str, Tensor], share: float, blind: bool = False, among: Collection[str] | None = None
) -> dict[str, Tensor]:
    """Return weights of whose matrices the values that are smallest by magnitude are 0.

    Args:
        weights: by name; vectors, such as biases and gains, stay as they are.
        share: of the values, from 0 to 1; of equal ones the first go first.
        blind: whether the share is one of all matrices together (class-blind); otherwise it is one of each.
        among: names of the matrices to prune; all if not given.
    """
    names = [name for name, one in weights.items() if one.dim() > 1 and (among is None or name in among)]
    groups = [names] if blind else [[name] for name in names]
    return {**weights, **{name: one for group in groups for name, one in _together(weights, group, share).items()}}


def _together(weights: Mapping[str, Tensor], names: list[str], share: float) -> dict[str, Tensor]:
    if not names:
        return {}
    values = torch.cat([weights[name].flatten() for name in names])
    smallest = widened(values).abs().argsort(stable=True)[: round(share * len(values))]
    values[smallest] = 0
    parts = values.split([weights[name].numel() for name in names])
    return {name: part.view_as(weights[name]) for name, part in zip(names, parts, strict=True)}


def truncated(weights: Mapping[str, Tensor], share: float, among: Collection[str] | None = None) -> dict[str, Tensor]:
    """Return weights whose matrices are the nearest ones of a lower rank (Eckart and Young 1936).

    Args:
        weights: by name; vectors stay as they are, and a tensor of more dimensions counts as a matrix of its first.
        share: of the singular values that each matrix keeps, above 0 and up to 1; at least one.
        among: names of the matrices; all if not given.
    """
    names = [name for name, one in weights.items() if one.dim() > 1 and (among is None or name in among)]
    return {**weights, **{name: _nearest(weights[name], share) for name in names}} if share < 1 else dict(weights)


def _nearest(weight: Tensor, share: float) -> Tensor:
    left, values, right = torch.linalg.svd(widened(weight).flatten(1), full_matrices=False)
    rank = kept_rank(weight, share)
    return (left[:, :rank] * values[:rank] @ right[:rank]).to(weight.dtype).view_as(weight)


def kept_rank(weight: Tensor, share: float) -> int:
    """Return how many singular values of a matrix a share of them is, at least one."""
    return max(1, round(share * min(weight.flatten(1).shape)))


def share_stored(weights: Mapping[str, Tensor], share: float, among: Collection[str] | None = None) -> float:
    """Return the numbers that matrices need as two factors each, or whole where that is less, relative to whole ones.

    Args:
        weights, share, among: as of `truncated`; the numbers are those of all matrices.
    """
    matrices = {name: one.flatten(1) for name, one in weights.items() if one.dim() > 1}
    needed = 0
    for name, one in matrices.items():
        factors = kept_rank(one, share) * sum(one.shape) if among is None or name in among else one.numel()
        needed += min(factors, one.numel())
    return needed / sum(one.numel() for one in matrices.values()) if matrices else float("nan")


def share_of_zeros(weights: Mapping[str, Tensor]) -> float:
    """Return the share of the values of all matrices that are 0; NaN without matrices."""
    matrices = [one for one in weights.values() if one.dim() > 1]
    zeros, values = (sum(map(count, matrices)) for count in (lambda one: int((one == 0).sum()), Tensor.numel))
    return zeros / values if values else float("nan")
