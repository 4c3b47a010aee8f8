"""Phrase-based translation, the baseline of thesis 3.2."""

from typing import ClassVar, Literal

from pydantic import Field

from nmtlab.recipe.family import Family


class PhraseSettings(Family):
    """A phrase-based system (the Moses of thesis Table 3.6), with stacks of `search.beam_size` hypotheses."""

    neural: ClassVar[bool] = False
    fixnorm: ClassVar[bool] = False

    family: Literal["phrase"] = "phrase"
    """Model family that the other fields describe."""

    aligner: Literal["eflomal", "ibm4"] = "eflomal"
    """Word aligner for phrase extraction; eflomal samples with training.seed."""

    max_phrase_length: int = Field(7, ge=1, le=1000)
    """Maximum words of a phrase, on either side."""

    language_model_order: int = Field(3, ge=1, le=100)
    """Order n of the n-gram language model."""

    distortion_limit: int = Field(6, ge=0)
    """Maximum number of source words that a phrase may be translated ahead of its turn (0: monotone)."""

    tuning_evaluations: int = Field(40, ge=0)
    """Approximate maximum number of weight settings that the simplex method tries on dev text (0: no tuning)."""

    tuning_sentences: int = Field(200, ge=1)
    """Number of dev sentences, from the beginning, on which weights are tuned."""
