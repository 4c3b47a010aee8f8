"""Initial weights of linear layers (thesis 3.3.2.2)."""

import math

from nmtlab.nn.private import Generators, SharedLinear, SharedPrivateLinear


def xavier_normal(linear: SharedLinear | SharedPrivateLinear, generators: Generators) -> None:
    """Draw weights from N(0, 2/(d_in + d_out)), eq 3.5; biases 0."""
    linear.draw(math.sqrt(2 / (linear.in_features + linear.out_features)), generators)


def small_normal(linear: SharedLinear | SharedPrivateLinear, generators: Generators) -> None:
    """Draw weights from N(0, 2/(5 d)), SmallInit for attention's square projections; biases 0."""
    linear.draw(math.sqrt(2 / (5 * linear.in_features)), generators)
