"""Phrase-based translation, the baseline of thesis 3.2."""

from typing import Literal

from nmtlab.recipe.section import Section


class PhraseSettings(Section):
    """A phrase-based system (the Moses of thesis Table 3.6)."""

    family: Literal["phrase"] = "phrase"
    """Which family of models the other fields describe."""
