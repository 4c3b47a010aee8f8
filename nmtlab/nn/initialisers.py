"""Initial weights of linear layers (thesis 3.3.2.2)."""

import math

from torch import nn


def xavier_normal(linear: nn.Linear) -> None:
    """Draw weights from N(0, 2/(d_in + d_out)), eq 3.5; biases 0."""
    _normal(linear, math.sqrt(2 / (linear.in_features + linear.out_features)))


def small_normal(linear: nn.Linear) -> None:
    """Draw weights from N(0, 2/(5 d)), SmallInit for attention's square projections; biases 0."""
    _normal(linear, math.sqrt(2 / (5 * linear.in_features)))


def _normal(linear: nn.Linear, std: float) -> None:
    nn.init.normal_(linear.weight, std=std)
    nn.init.zeros_(linear.bias)
