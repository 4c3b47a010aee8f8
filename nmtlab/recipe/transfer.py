"""What a child model takes over from its parent."""

from typing import Literal

from pydantic import Field, model_validator

from nmtlab.languages import CODE
from nmtlab.recipe.section import Section

Use = Literal["tune", "freeze", "reset"]
"""Start from the parent's weights and train them, keep the parent's weights as they are, or draw new ones."""

Anchored = Literal["none", "l2", "ewc", "decay"]


class TransferSettings(Section):
    """A parent's weights as initial weights of a child, part by part (thesis 3.1.2)."""

    parent: str = Field("", max_length=255)
    """Name of the parent's run; empty: all weights are drawn."""

    continued: bool = False
    """Go on training the parent: its pipeline and model as they are, perhaps on its text."""

    add_letters: bool = False
    """Continued: letters of the training text that the parent lacks become types; their vectors begin as the mean."""

    add_tag: str = Field("", pattern=rf"^({CODE})?$", max_length=50)
    """Continued: a language whose tag the parent lacks."""

    like: str = Field("", pattern=rf"^({CODE})?$", max_length=50)
    """The language with whose vector that of the new tag begins."""

    keep_optimiser: bool = False
    """Go on with a continued parent's last weights and optimiser state, instead of its best weights alone."""

    anchor: Anchored = "none"
    """What draws a continued run's weights: none, l2 or ewc (by Fisher information) to the parent's, decay to 0."""

    anchor_weight: float = Field(1.0, gt=0)
    """Factor λ of the anchor, λ/2 Σ F (θ - θ₀)², added to the loss of an update; F is 1 but for ewc, θ₀ 0 for decay."""

    tune_out: float = Field(0.0, ge=0, lt=1)
    """Share of what each weight has changed since the parent that an update leaves out, by dropout."""

    keep_zeros: bool = False
    """Values that are 0 in a continued parent's matrices stay 0, as in a pruned run."""

    source_types: Literal["shared", "random"] = "shared"
    """Source types of the parent keep their vectors, or each gets that of a random type (Zoph et al. 2016)."""

    source_embedding: Use = "tune"
    """Source embeddings: tune, freeze or reset."""

    encoder: Use = "tune"
    """The encoder without its embeddings: tune, freeze or reset."""

    decoder: Use = "tune"
    """The decoder without its embeddings, attention included: tune, freeze or reset."""

    target_embedding: Use = "tune"
    """Target embeddings, with the output's rows that are tied to them: tune, freeze or reset."""

    adapters: Use = "tune"
    """Adapters: tune, freeze or reset; those that the parent lacks are drawn."""

    output: Use = "tune"
    """Output biases, untied output rows and the lexical module: tune, freeze or reset."""

    @model_validator(mode="after")
    def _check(self) -> "TransferSettings":
        if (self.add_letters or self.add_tag) and not self.continued:
            field = "add_letters" if self.add_letters else "add_tag"
            raise ValueError(f"{field} needs a run to go on from; name it with --from")
        if bool(self.add_tag) != bool(self.like):
            given, absent = ("add_tag", "like") if self.add_tag else ("like", "add_tag")
            raise ValueError(f"{given} needs {absent}; name the new tag with --add-tag, and a language as --like")
        return self

    @property
    def uses(self) -> tuple[Use, ...]:
        """What is done with each part, without adapters."""
        return self.source_embedding, self.encoder, self.decoder, self.target_embedding, self.output
