"""Settings of decoding."""

from typing import Any, Literal

from pydantic import Field, model_validator

from nmtlab.recipe.section import Section

Score = Literal["log-prob", "average", "length-normalised", "word-reward", "bounded-reward"]


class SearchSettings(Section):
    """Beam search and the score of a hypothesis (thesis 3.1.3, survey 6)."""

    beam_size: int = Field(4, ge=1, le=100_000)
    """Hypotheses kept at each step; 1 is greedy search."""

    score: Score = "length-normalised"
    """log p; log p / |y|; log p / ((5+|y|)/6)^alpha; log p + gamma |y|; log p + gamma min(|y|, reward_ratio |x|)."""

    alpha: float = Field(0.6, ge=0)
    """Exponent of length normalisation."""

    gamma: float = 0.0
    """Reward per target token."""

    reward_ratio: float = Field(1.0, gt=0)
    """Target tokens per source token up to which bounded-reward rewards them; both lengths count EOS."""

    coverage: float = Field(0.0, ge=0)
    """Weight of the coverage penalty."""

    coverage_form: Literal["wu", "li"] = "wu"
    """The sum over source tokens of the log of their attention a, of min(a, 1) (Wu et al.) or max(a, β) (Li et al.)."""

    coverage_floor: float = Field(1e-3, gt=0, le=1)
    """β, the least attention of a source token that is counted."""

    prune_below: float = Field(0.0, ge=0)
    """Open hypotheses are dropped whose score is lower than the best by more than this (0: none is)."""

    per_parent: int = Field(0, ge=0, le=100_000)
    """Most hypotheses that go on from the same one at a step after the first (0: as many as the beam holds)."""

    attention_temperature: float = Field(1.0, gt=0)
    """Divides the scores of attention to the source before their softmax: above 1 blurs it, below 1 sharpens it."""

    int8: bool = False
    """Round what is multiplied to the 255 values of 8-bit integers, in a model that clips it (model.clip_inputs)."""

    block_ngrams: int = Field(0, ge=0, le=100)
    """Beams never write an n-gram of so many tokens twice in a translation (0: they may; 3 is usual)."""

    length_bin: int = Field(-1, ge=-1, le=99)
    """Length token that asks for short (0) or long translations, of a run with text.length_bins (-1: the usual one)."""

    extra_length: int = Field(50, ge=0, le=10_000)
    """Maximum number of tokens by which a hypothesis may exceed the source length."""

    replace_unknown: bool = False
    """Replace each generated UNK by the source word with the most attention (thesis 3.2.5.3)."""

    allow_empty: bool = True
    """Whether the empty translation may be returned."""

    length_candidates: int = Field(5, ge=1, le=10_000)
    """Number of most probable lengths tried with a model that plans lengths (thesis 4.1)."""

    length_weight: float = Field(1.0, ge=0)
    """Exponent w of p(length) in the score p(length)^w p(tokens) of a model that plans lengths; 1 is eq 4.1."""

    shortlist: int = Field(0, ge=0, le=10_000_000)
    """Most frequent target types to choose from, besides EOS and UNK; p is then among them (0: all types)."""

    shortlist_translations: int = Field(0, ge=0, le=10_000)
    """Most probable translations of each source type of a batch to choose from besides (0: one list for all text)."""

    shortlist_from: Literal["lexicon", "phrases"] = "lexicon"
    """Where these translations are from: word translations, or phrases that source n-grams translate into."""

    shortlist_ngram: int = Field(2, ge=1, le=3)
    """Tokens of the longest source n-grams whose phrases are taken."""

    shortlist_min_count: int = Field(1, ge=1)
    """Least occurrences in the training text of source n-grams whose phrases are taken."""

    batch_tokens: int = Field(8192, ge=1)
    """Size of a decoding batch: padded source tokens times beam size."""

    @model_validator(mode="after")
    def _check(self) -> "SearchSettings":
        if self.shortlist_translations and not self.shortlist:
            raise ValueError("shortlist_translations adds to shortlist, which is 0; set shortlist, as to 100")
        for field in ("coverage_form", "coverage_floor"):
            if not self.coverage and self._is_set(field):
                raise ValueError(f"{field} is set, but coverage, its weight, is 0; set that to 0.2, or leave out both")
        if self.shortlist_from == "phrases" and not self.shortlist_translations:
            raise ValueError("shortlist_from needs translations; set shortlist_translations to 50, or leave it out")
        for field in ("shortlist_ngram", "shortlist_min_count"):
            if self.shortlist_from != "phrases" and self._is_set(field):
                raise ValueError(f"{field} is of phrases; set shortlist_from to phrases, or leave it out")
        return self

    def _is_set(self, field: str) -> bool:
        return getattr(self, field) != type(self).model_fields[field].default

    @property
    def fixed_shortlist(self) -> int:
        """The `shortlist` of a search that has one list for all text; 0 if each batch has a list."""
        return 0 if self.shortlist_translations else self.shortlist

    def with_shortlist(self, types: int) -> "SearchSettings":
        """Return the settings with one list of types for all text; with 0, all types."""
        of_batches = ("shortlist_translations", "shortlist_from", "shortlist_ngram", "shortlist_min_count")
        usual = {field: type(self).model_fields[field].default for field in of_batches}
        return self.model_copy(update={"shortlist": types, **usual})

    def decisive(self) -> dict[str, Any]:
        """Return the fields that determine a result, without settings of speed and those at their default.

        The size of a batch does only if each batch has a list.
        """
        speed = set() if self.shortlist_translations else {"batch_tokens"}
        return self.model_dump(mode="json", exclude=speed, exclude_defaults=True)
