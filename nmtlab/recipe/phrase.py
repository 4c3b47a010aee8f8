"""Phrase-based translation, the baseline of thesis 3.2."""

from typing import ClassVar, Literal

from pydantic import Field

from nmtlab.recipe.section import Section


class PhraseSettings(Section):
    """A phrase-based system (the Moses of thesis Table 3.6); its stacks have `search.beam_size` hypotheses."""

    neural: ClassVar[bool] = False
    """Whether it is a model that is trained by gradient, searched and looked into."""

    family: Literal["phrase"] = "phrase"
    """Which family of models the other fields describe."""

    aligner: Literal["eflomal", "ibm4"] = "eflomal"
    """Word alignment from which phrases are extracted; eflomal samples with training.seed."""

    max_phrase_length: int = Field(7, ge=1, le=1000)
    """Most words of a phrase, on either side."""

    language_model_order: int = Field(3, ge=1, le=100)
    """Length of the language model's n-grams."""

    distortion_limit: int = Field(6, ge=0)
    """How many source words a phrase may be translated ahead of its turn; 0: in the order of the source."""

    tuning_evaluations: int = Field(40, ge=0)
    """Most weights of the model that are tried on dev text by the simplex method, give or take a few (0: no tuning)."""

    tuning_sentences: int = Field(200, ge=1)
    """How many sentences of dev, from its beginning, the weights are tried on."""
