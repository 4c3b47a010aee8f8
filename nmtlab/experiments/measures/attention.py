"""Where attention peaks stand, as numbers of a table (thesis 3.2.6.3)."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from nmtlab.analysis.attention.shift import PEAK_COUNTS
from nmtlab.experiments.measures.quality import RatioOfSentences, by_sentence
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus


@dataclass(frozen=True)
class PeakShare(RatioOfSentences):
    """A share of the attention peaks on the test text, or a difference of shares; NaN for a phrase-based run.

    Args:
        name: name of the number in a table.
        of: name of the count in `nmtlab.analysis.attention.shift.peak_counts`.
        less: name of the count that is subtracted, if any.
        lower_is_better: the direction that the thesis prefers.
        signed: whether the best value is 0, so that systems are compared by absolute values.
    """

    name: str
    of: str
    less: str = ""
    lower_is_better: bool = False
    signed: bool = False
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number in percent, cached in the run's folder."""
        if not run.recipe.model.neural:
            return math.nan
        counts = PEAK_COUNTS.of(run, corpus=corpus)
        return float(self._amounts(counts).sum() / counts["words"].sum())

    def sums(self, run: Run, corpus: ParallelCorpus) -> np.ndarray | None:
        counts = PEAK_COUNTS.stored(run, corpus=corpus) if run.recipe.model.neural else None
        if counts is None:
            return None
        numbers = pd.DataFrame({"amount": self._amounts(counts), "of": counts["words"]})
        return by_sentence(counts["line"], numbers, corpus, self.split)

    def _amounts(self, counts: pd.DataFrame) -> pd.Series:
        return 100 * (counts[self.of] - (counts[self.less] if self.less else 0))


PEAKS_FIRST = PeakShare("peaks on the first word (%)", "first", lower_is_better=True)
PEAKS_LAST = PeakShare("peaks on the last word (%)", "last", lower_is_better=True)
PEAKS_LINKED = PeakShare("peaks on the linked word (%)", "on")
FIRST_EXCESS = PeakShare(
    "peaks less links on the first word (%)", "first", "first_linked", lower_is_better=True, signed=True
)
LAST_EXCESS = PeakShare(
    "peaks less links on the last word (%)", "last", "last_linked", lower_is_better=True, signed=True
)
MOVED_GAIN = PeakShare("gain on the linked word if moved right (%)", "on_if_moved", "on", lower_is_better=True)
"""How many more peaks would be on the linked word if each were one word further right: positive in Figure 3.3."""
