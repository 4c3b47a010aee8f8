"""How translations are searched for."""

from typing import Any, Literal

from pydantic import Field

from nmtlab.recipe.section import Section


class SearchSettings(Section):
    """Beam search and the score of a hypothesis (thesis 3.1.3, survey 6)."""

    beam_size: int = Field(4, ge=1, le=100_000)
    """Hypotheses kept at each step; 1 is greedy search."""

    score: Literal["log-prob", "average", "length-normalised", "word-reward"] = "length-normalised"
    """log p; log p / |y|; log p / ((5+|y|)/6)^alpha; log p + gamma |y|."""

    alpha: float = Field(0.6, ge=0)
    """Exponent of length normalisation."""

    gamma: float = 0.0
    """Reward for each word."""

    coverage: float = Field(0.0, ge=0)
    """Weight of the coverage penalty of Wu et al. (2016)."""

    extra_length: int = Field(50, ge=0, le=10_000)
    """A hypothesis may be this much longer than the source, in tokens."""

    replace_unknown: bool = False
    """Write the source word with most attention for each generated UNK (thesis 3.2.5.3)."""

    allow_empty: bool = True
    """Whether the empty translation may be returned."""

    length_candidates: int = Field(5, ge=1, le=10_000)
    """Lengths that are tried, the most probable ones, of a model that plans them (thesis 4.1)."""

    batch_tokens: int = Field(8192, ge=1)
    """Padded source tokens times beam size decoded together."""

    def decisive(self) -> dict[str, Any]:
        """Return what decides a result, by field: settings of speed and those that have their default are left out."""
        return self.model_dump(mode="json", exclude={"batch_tokens"}, exclude_defaults=True)
