"""Magnitude pruning: weights whose smallest values are 0 (See, Luong and Manning 2016).

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


def share_of_zeros(weights: Mapping[str, Tensor]) -> float:
    """Return the share of the values of all matrices that are 0; NaN without matrices."""
    matrices = [one for one in weights.values() if one.dim() > 1]
    zeros, values = (sum(map(count, matrices)) for count in (lambda one: int((one == 0).sum()), Tensor.numel))
    return zeros / values if values else float("nan")
