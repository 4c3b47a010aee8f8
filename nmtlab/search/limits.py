"""The limit on a translation's length."""

from torch import Tensor

from nmtlab.models.interface import Memory


def length_limit(memory: Memory, extra_length: int) -> Tensor:
    """Return the most tokens that each translation may have, EOS included: (B,), 1 or more.

    Args:
        memory: of the sources.
        extra_length: how many tokens longer than its source a translation may be.
    """
    return (memory.lengths + extra_length).clamp_min(1)
