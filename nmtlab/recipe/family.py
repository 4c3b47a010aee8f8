"""What the settings of a model family say of its models, without opening one."""

import math
from typing import ClassVar

from nmtlab.recipe.section import Section


class Family(Section):
    """The settings of a model family."""

    neural: ClassVar[bool] = True
    """Whether a model is trained by gradient descent, decoded by search, and open to inspection."""

    self_attention: ClassVar[bool] = False
    """Whether a model has self-attention, in several layers with several heads, and sublayers that are normalised."""

    @property
    def plans_length(self) -> bool:
        """Whether a model plans lengths: its search scores by p(length) · p, whatever score is requested."""
        return False

    @property
    def fixed_norm(self) -> float:
        """The norm to which the settings fix all output vectors; NaN if it is learned or differs between words."""
        return math.nan

    @property
    def lexical_module(self) -> bool:
        """Whether a model has a lexical module, whose translations of words can be listed."""
        return False
