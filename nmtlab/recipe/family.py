"""What the settings of a model family say of its models, without opening one."""

import math
from typing import ClassVar

from nmtlab.recipe.section import Section

NO_DECODER = "a phrase-based system has no decoder to inspect"
"""What is missing where a model is not `neural`."""

NO_ATTENTION = "it has no attention", "choose a run whose model.attention is not 'none', or a Transformer"
"""What is missing where a model does not attend (`Family.attends`), and what to do."""


class Family(Section):
    """The settings of a model family."""

    neural: ClassVar[bool] = True
    """Whether a model is trained by gradient descent, decoded by search, and open to inspection."""

    self_attention: ClassVar[bool] = False
    """Whether a model has self-attention, in several layers with several heads, and sublayers that are normalised."""

    recurrent: ClassVar[bool] = False
    """Whether a model is recurrent, with one attention, which never sees the end of the source."""

    combines_sources: ClassVar[bool] = False
    """Whether a model can read several sources together."""

    for_little_text: ClassVar[tuple[str, ...]] = ()
    """Recipes for at most some ten thousand pairs, those that learn soonest first."""

    @property
    def depth(self) -> tuple[int, ...]:
        """Numbers of layers of encoder and decoder; empty if a model has none."""
        return ()

    @property
    def attends(self) -> bool:
        """Whether a decoder attends to the source; without, it knows what it was given of it at the start."""
        return True

    @property
    def joint_attention(self) -> bool:
        """Whether the attention to several sources adds up to 1, so that its mass tells which of them a token is from.

        In a mixture of experts, the mass on a source is the weight of its expert.
        """
        return False

    @property
    def mixes_experts(self) -> bool:
        """Whether several sources are read by a mixture of experts, each a whole model of one of them."""
        return False

    @property
    def inner_width(self) -> int:
        """Units inside a layer: of its feed-forward sublayer, or of the gates of its cell."""
        return 0

    @property
    def adapters(self) -> bool:
        """Whether a model has an adapter for each language after every layer."""
        return False

    @property
    def low_rank(self) -> int:
        """Rank of the changes of linear maps that alone are trained; 0 if all weights are."""
        return 0

    @property
    def clips(self) -> bool:
        """Whether a model clips what it multiplies, so that integers can stand for it."""
        return False

    @property
    def halves_base(self) -> bool:
        """Whether the weights that low-rank changes leave as they are have half the precision."""
        return False

    @property
    def plans_length(self) -> bool:
        """Whether a model plans lengths: its search scores by p(length) · p, whatever score is requested."""
        return False

    @property
    def fixed_norm(self) -> float:
        """The norm to which the settings fix all output vectors; NaN if it is learned or differs between words."""
        return math.nan

    @property
    def copies(self) -> bool:
        """Whether a model mixes copies of source types into what it generates, which needs a joint vocabulary."""
        return False

    @property
    def selects_heads(self) -> bool:
        """Whether a model selects a head for each source word, as in a dependency tree."""
        return False

    @property
    def lexical_module(self) -> bool:
        """Whether a model has a lexical module, whose translations of words can be listed."""
        return False

    @property
    def lexical_table(self) -> bool:
        """Whether a model needs a table p(target | source) from word alignment."""
        return False
