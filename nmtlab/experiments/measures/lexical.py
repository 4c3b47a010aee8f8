"""How words are chosen, as numbers of a table (thesis 3.2.6)."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from nmtlab.analysis.lexical.embedding_norms import NORMS_BY_FREQUENCY, norm_correlations
from nmtlab.analysis.lexical.lexical_choice import LEXICAL_CHOICE, LEXICAL_SUMS
from nmtlab.experiments.measures.quality import OfSeedsAlone, RatioOfSentences, by_sentence
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus


@dataclass(frozen=True)
class _Quantity:
    """A quantity of `nmtlab.analysis.lexical.lexical_choice` on the test text.

    Args:
        name: name of the quantity there.
        lower_is_better: the direction that the thesis prefers.
        signed: whether the best value is 0, so that systems are compared by absolute values.
        of_free_norms: whether it is about norms, and so follows from the system where these are fixed: NaN there.
    """

    name: str
    lower_is_better: bool = False
    signed: bool = False
    of_free_norms: bool = False
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder; NaN for a run without it."""
        if self._follows_from(run):
            return math.nan
        found = LEXICAL_CHOICE.of(run, corpus=corpus)
        return dict(zip(found["quantity"], found["value"], strict=True)).get(self.name, math.nan)

    def _follows_from(self, run: Run) -> bool:
        return self.of_free_norms and run.recipe.model.neural and run.recipe.model.fixnorm


class LexicalRatio(_Quantity, RatioOfSentences):
    """A quantity that is a ratio of sums over the sentences."""

    def sums(self, run: Run, corpus: ParallelCorpus) -> np.ndarray | None:
        found = LEXICAL_SUMS.stored(run, corpus=corpus)
        if found is None or self._follows_from(run):
            return None
        lines = found[found["quantity"] == self.name]
        return None if lines.empty else by_sentence(lines["line"], lines[["amount", "of"]], corpus, self.split)


class Finding(_Quantity, OfSeedsAlone):
    """A quantity that is about words, and not about sentences."""


@dataclass(frozen=True)
class BiasFrequency(OfSeedsAlone):
    """Rank correlation of the output bias b_e with frequency (Figure 3.2); NaN for a run without biases."""

    name: str = "bias-frequency"
    split: ClassVar[None] = None
    lower_is_better: ClassVar[bool] = True

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the correlation, -1 to 1."""
        if not run.recipe.model.neural:
            return math.nan
        found = norm_correlations(NORMS_BY_FREQUENCY.of(run)).set_index("quantity")["spearman"]
        return float(found.get("bias", math.nan))


RARE_RECALL = LexicalRatio("rare recall")
NORM_FREQUENCY = Finding("norm-frequency", lower_is_better=True, signed=True, of_free_norms=True)
BIAS_FREQUENCY = BiasFrequency()
NORM_DECIDES = LexicalRatio("norm decides", lower_is_better=True, of_free_norms=True)
LEFT_SHIFT = LexicalRatio("left shift", lower_is_better=True, signed=True)
ALIGNMENT_ERROR = LexicalRatio("alignment error", lower_is_better=True)
RIGHT_COPIES = LexicalRatio("right copies")
LEXICON_PRECISION = Finding("lexicon precision")
