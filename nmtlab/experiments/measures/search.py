"""Numbers in the tables on search: results of other search settings, and search errors of beams."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.comparison.outputs import repetition
from nmtlab.analysis.search.beams import DECODED, OUTCOME, varied
from nmtlab.analysis.search.planned_lengths import LENGTH_SWEEP
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, error_rates, outcomes
from nmtlab.experiments.measures.quality import (
    USABLE_BLEU,
    OfSeedsAlone,
    OfSentences,
    ShareOfSentences,
    ShareOfTranslations,
    Text,
)
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.tokenizers import moses_words

FEW = 200
"""Number of sentences in a sample for slow searches: the widest beam, and exact search."""

LENGTHS_TRIED = (1, 2, 5, 10)
"""Numbers of lengths to try on dev with a run that plans lengths."""

LENGTH_WEIGHTS = (1.0, 0.0, 0.5, 2.0, 4.0)
"""Exponents w of p(length) to try with each; the first wins ties."""

Ask = Callable[..., pd.DataFrame | None]
"""`Analysis.of`, or `Analysis.stored`, which computes nothing."""


@dataclass(frozen=True)
class Way:
    """A way to search the test text that is not the recipe's.

    A run that plans lengths keeps its score, p(length)^w times p; it only takes the beam size from `search`. Where word
    rewards are tuned for other runs, its w and its number of lengths are, unless that is given.

    Args:
        search: the search settings.
        gammas: word rewards to choose from by dev BLEU, of runs that plan lengths `LENGTHS_TRIED` and
            `LENGTH_WEIGHTS`; empty for no tuning.
        sample: number of sentences, drawn from the text (`nmtlab.text.corpora.sample`); all if not given.
        lengths: number of lengths that a run that plans lengths tries; that of its recipe if not given.
    """

    search: SearchSettings
    gammas: tuple[float, ...] = ()
    sample: int | None = None
    lengths: int | None = None

    def asked(self, run: Run, corpus: ParallelCorpus, ask: Ask) -> dict[str, Any] | None:
        """Return the arguments of `beams.decoded` and `beams.outcome`, tuned on dev; None if `ask` does not know.

        Args:
            run: a trained run.
            corpus: the text.
            ask: `Analysis.of`, or `Analysis.stored` to compute nothing.
        """
        search = self._tuned(run, corpus, ask)
        return None if search is None else {"corpus": corpus, "search": search, "sample": self.sample}

    def _tuned(self, run: Run, corpus: ParallelCorpus, ask: Ask) -> SearchSettings | None:
        """Return the search settings, with the word reward, or the plan of lengths, that has the best dev BLEU."""
        if run.recipe.model.plans_length:
            lengths = self.lengths or run.recipe.search.length_candidates
            usual = SearchSettings(score="log-prob", beam_size=self.search.beam_size, length_candidates=lengths)
            return usual if self.lengths or not self.gammas else _tuned_plan(run, corpus, usual, ask)
        if not self.gammas:
            return self.search
        candidates = varied(self.search, "gamma", self.gammas)
        found = [ask(OUTCOME, run, corpus=corpus, split="dev", search=one) for one in candidates]
        if any(one is None for one in found):
            return None
        return candidates[int(np.argmax([one["bleu"].item() for one in found]))]


def _tuned_plan(run: Run, corpus: ParallelCorpus, search: SearchSettings, ask: Ask) -> SearchSettings | None:
    """Return search settings with the number of lengths and the weight of p(length) that have the best dev BLEU."""
    tried = {"search": search, "lengths": LENGTHS_TRIED, "weights": LENGTH_WEIGHTS}
    found = ask(LENGTH_SWEEP, run, corpus=corpus, split="dev", **tried)
    if found is None:
        return None
    best = found.iloc[int(found["bleu"].argmax())]
    plan = {"length_candidates": int(best["length_candidates"]), "length_weight": float(best["length_weight"])}
    return search.model_copy(update=plan)


@dataclass(frozen=True)
class LengthRatio(OfSeedsAlone):
    """Length of the test translations with other search settings (`analysis.search.beams.outcome`).

    Args:
        name: name of the number in a table, with the search settings.
        way: how to search.
    """

    name: str
    way: Way
    lower_is_better: ClassVar[bool] = False
    split: ClassVar[Literal["test"]] = "test"
    of_nothing: ClassVar[float] = 0.0

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the ratio to the reference length in words, cached in the run's folder."""
        return float(OUTCOME.of(run, **self.way.asked(run, corpus, Analysis.of))["length_ratio"].item())


@dataclass(frozen=True)
class Repeated(OfSeedsAlone):
    """Percentage of repeated bigrams in translations with other search settings (`comparison.outputs.repetition`).

    Args:
        name: name of the number in a table, with the search settings.
        way: how to search.
    """

    name: str
    way: Way
    lower_is_better: ClassVar[bool] = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the percentage, of Moses tokens; the translations are cached in the run's folder."""
        found = DECODED.of(run, **self.way.asked(run, corpus, Analysis.of))
        words = moses_words(corpus.target)
        return 100 * repetition([words.split(line) for line in found["text"]])


@dataclass(frozen=True)
class SearchedBleu(OfSentences):
    """BLEU of the test text, translated with other search settings (`analysis.search.beams.outcome`).

    Args:
        name: name of the number in a table, with the search settings.
        way: how to search.
    """

    name: str
    way: Way
    lower_is_better: ClassVar[bool] = False
    usable: ClassVar[float] = USABLE_BLEU
    of_nothing: ClassVar[float] = 0.0
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the BLEU, from 0 to 100, cached in the run's folder."""
        return float(OUTCOME.of(run, **self.way.asked(run, corpus, Analysis.of))["bleu"].item())

    @property
    def made_by(self) -> str:
        """The name that its translations are kept under."""
        return self.name

    def answer(self, run: Run, corpus: ParallelCorpus) -> list[str] | None:
        """Return translations from a stored answer; None if there is none."""
        asked = self.way.asked(run, corpus, Analysis.stored)
        found = DECODED.stored(run, **asked) if asked else None
        return None if found is None else found["text"].tolist()

    def text(self, corpus: ParallelCorpus, run: Run | None) -> Text:
        """Return the sentences that are translated."""
        drawn = draw_sample(corpus, self.split, self.way.sample)
        return Text(drawn.sources, [drawn.of(lines) for lines in corpus.references(self.split)])


@dataclass(frozen=True)
class Empty(ShareOfTranslations):
    """Percentage of empty translations among those that a score is of.

    Args:
        name: name of the number in a table, with the search settings.
        of: the score.
    """

    name: str
    of: SearchedBleu
    lower_is_better: ClassVar[bool] = True
    split: ClassVar[Literal["test"]] = "test"
    of_nothing: ClassVar[float] = 0.0

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the percentage, cached in the run's folder."""
        return 100 * float(OUTCOME.of(run, **self.of.way.asked(run, corpus, Analysis.of))["empty"].item())

    def among(self, lines: Sequence[str]) -> np.ndarray:
        """Return 1 for an empty translation, 0 for another: (sentences,)."""
        return np.array([float(not line) for line in lines])


@dataclass(frozen=True)
class Missed(ShareOfSentences):
    """A percentage of a sample of the test sentences, by exact search (`nmtlab.analysis.search.search_errors`).

    Args:
        name: name of the number in a table.
        outcome: one of `search_errors.outcomes`.
        sample: number of sentences, drawn from the text (`nmtlab.text.corpora.sample`).
        lower_is_better: the desired direction.
    """

    name: str
    outcome: str
    sample: int = FEW
    lower_is_better: bool = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the percentage, cached in the run's folder."""
        return 100 * float(error_rates(SEARCH_ERRORS.of(run, **self._asked(corpus)))[self.outcome])

    def hits(self, run: Run, corpus: ParallelCorpus) -> np.ndarray | None:
        """Return 1 for a sentence in which it is so, 0 for another, NaN for one whose exact search did not end."""
        found = SEARCH_ERRORS.stored(run, **self._asked(corpus))
        return None if found is None else outcomes(found)[self.outcome].to_numpy()

    def _asked(self, corpus: ParallelCorpus) -> dict[str, Any]:
        return {"corpus": corpus, "split": self.split, "sample": self.sample}


@dataclass(frozen=True)
class GlobalBest(OfSeedsAlone):
    """The length of the global best, or the rank of the empty translation, by the exact search of `Missed`.

    Args:
        name: name of the number in a table.
        rate: one of `search_errors.error_rates`.
        lower_is_better: the desired direction.
    """

    name: str
    rate: str
    lower_is_better: bool = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder."""
        found = SEARCH_ERRORS.of(run, corpus=corpus, split=self.split, sample=FEW)
        return float(error_rates(found)[self.rate])


SAMPLED = f"(sample of {FEW})"
"""In the names of what is measured on a sample; earlier results of the same names without it are of the first lines."""

SEARCHED = Missed(f"% searched exactly {SAMPLED}", "complete", lower_is_better=False)
MISSED = Missed(f"search errors of beam 4, % {SAMPLED}", "errors")
EMPTY_GLOBAL_BEST = Missed(f"empty global best, % {SAMPLED}", "empty")
GLOBAL_BEST_LENGTH = GlobalBest(f"length of the global best {SAMPLED}", "length_ratio", lower_is_better=False)
EMPTY_RANK = GlobalBest(f"smallest beam with the empty one {SAMPLED}", "empty_rank", lower_is_better=False)
