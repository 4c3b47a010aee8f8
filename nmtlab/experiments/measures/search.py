"""Numbers in the tables on search: results of other search settings, search errors of beams, planned lengths."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from nmtlab.analysis.access.checks import plans_length
from nmtlab.analysis.access.measure import measure, measure_by_sentence, stored_answer
from nmtlab.analysis.comparison.outputs import repetition
from nmtlab.analysis.search.beams import decoded, outcome, varied
from nmtlab.analysis.search.length_baselines import Baseline, baseline_lengths
from nmtlab.analysis.search.length_weights import length_sweep
from nmtlab.analysis.search.lengths import length_errors, oracle_lengths, planned_lengths
from nmtlab.analysis.search.reference_losses import loss_of_rests, losses_by_rest, losses_by_seen, reference_losses
from nmtlab.analysis.search.search_errors import error_rates, outcomes, search_errors
from nmtlab.analysis.search.unseen_lengths import ENOUGH, unseen_pairs, unseen_translations
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.experiments.measures.quality import USABLE_BLEU, OfSeedsAlone, OfSentences, ShareOfSentences, Text
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.sample import draw_sample
from nmtlab.text.tokenizers import Words

FEW = 200
"""Number of sentences in a sample for slow searches: the widest beam, and exact search."""

LENGTHS_TRIED = (1, 2, 5, 10)
"""Numbers of lengths to try on dev with a run that plans lengths."""

LENGTH_WEIGHTS = (1.0, 0.0, 0.5, 2.0, 4.0)
"""Exponents w of p(length) to try with each; the first wins ties."""

Ask = Callable[..., pd.DataFrame | None]
"""`measure`, or `stored_answer`, which computes nothing."""


@dataclass(frozen=True)
class Way:
    """A way to search the test text that is not the recipe's.

    A run that plans lengths keeps its score, p(length)^w times p; it only takes the beam size from `search`. Where word
    rewards are tuned for other runs, its w and its number of lengths are, unless that is given.

    Args:
        search: the search settings.
        gammas: word rewards to choose from by dev BLEU, of runs that plan lengths `LENGTHS_TRIED` and
            `LENGTH_WEIGHTS`; empty for no tuning.
        sample: number of sentences, drawn from the text (`nmtlab.text.sample`); all if not given.
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
            ask: `measure`, or `stored_answer` to compute nothing.
        """
        search = self._tuned(run, corpus, ask)
        return None if search is None else {"corpus": corpus, "search": search, "sample": self.sample}

    def _tuned(self, run: Run, corpus: ParallelCorpus, ask: Ask) -> SearchSettings | None:
        """Return the search settings, with the word reward, or the plan of lengths, that has the best dev BLEU."""
        if plans_length(run):
            lengths = self.lengths or run.recipe.search.length_candidates
            usual = SearchSettings(score="log-prob", beam_size=self.search.beam_size, length_candidates=lengths)
            return usual if self.lengths or not self.gammas else _tuned_plan(run, corpus, usual, ask)
        if not self.gammas:
            return self.search
        candidates = varied(self.search, "gamma", self.gammas)
        found = [ask(run, outcome, corpus=corpus, split="dev", search=one) for one in candidates]
        if any(one is None for one in found):
            return None
        return candidates[int(np.argmax([one["bleu"].item() for one in found]))]


def _tuned_plan(run: Run, corpus: ParallelCorpus, search: SearchSettings, ask: Ask) -> SearchSettings | None:
    """Return search settings with the number of lengths and the weight of p(length) that have the best dev BLEU."""
    tried = {"search": search, "lengths": LENGTHS_TRIED, "weights": LENGTH_WEIGHTS}
    found = ask(run, length_sweep, corpus=corpus, split="dev", **tried)
    if found is None:
        return None
    best = found.iloc[int(found["bleu"].argmax())]
    plan = {"length_candidates": int(best["length_candidates"]), "length_weight": float(best["length_weight"])}
    return search.model_copy(update=plan)


@dataclass(frozen=True)
class Searched(OfSeedsAlone):
    """A result of translating the test text with other search settings (`analysis.search.beams.outcome`).

    Args:
        name: name of the number in a table, with the search settings.
        way: how to search.
        outcome: `length_ratio`, to the reference in words; or `empty`, the percentage of empty translations.
        lower_is_better: the desired direction.
    """

    name: str
    way: Way
    outcome: Literal["length_ratio", "empty"]
    lower_is_better: bool = False
    split: ClassVar[Literal["test"]] = "test"
    of_nothing: ClassVar[float] = 0.0

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder."""
        found = measure(run, outcome, **self.way.asked(run, corpus, measure)).iloc[0]
        return float(100 * found["empty"] if self.outcome == "empty" else found["length_ratio"])


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
        found = measure(run, decoded, **self.way.asked(run, corpus, measure))
        words = Words(corpus.target)
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
        return float(measure(run, outcome, **self.way.asked(run, corpus, measure))["bleu"].item())

    @property
    def made_by(self) -> str:
        """The name that its translations are kept under."""
        return self.name

    def stored(self, run: Run, corpus: ParallelCorpus) -> list[str] | None:
        """Return a run's stored translations; None if it has not made them."""
        asked = self.way.asked(run, corpus, stored_answer)
        found = stored_answer(run, decoded, **asked) if asked else None
        return None if found is None else found["text"].tolist()

    def text(self, corpus: ParallelCorpus, run: Run | None) -> Text:
        """Return the sentences that are translated."""
        drawn = draw_sample(corpus, self.split, self.way.sample)
        return Text(drawn.sources, [drawn.of(lines) for lines in corpus.references(self.split)])


@dataclass(frozen=True)
class Missed(ShareOfSentences):
    """A percentage of a sample of the test sentences, by exact search (`nmtlab.analysis.search.search_errors`).

    Args:
        name: name of the number in a table.
        outcome: one of `search_errors.outcomes`.
        sample: number of sentences, drawn from the text (`nmtlab.text.sample`).
        lower_is_better: the desired direction.
    """

    name: str
    outcome: str
    sample: int = FEW
    lower_is_better: bool = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the percentage, cached in the run's folder."""
        return 100 * float(error_rates(measure_by_sentence(run, search_errors, **self._asked(corpus)))[self.outcome])

    def hits(self, run: Run, corpus: ParallelCorpus) -> np.ndarray | None:
        """Return 1 for a sentence in which it is so, 0 for another, NaN for one whose exact search did not end."""
        found = stored_answer(run, search_errors, start=0, **self._asked(corpus))
        return None if found is None else outcomes(found)[self.outcome].to_numpy()

    def _asked(self, corpus: ParallelCorpus) -> dict[str, Any]:
        return {"corpus": corpus, "split": self.split, "sample": self.sample}


@dataclass(frozen=True)
class GlobalBest(OfSeedsAlone):
    """Another result of the same exact search.

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
        found = measure_by_sentence(run, search_errors, corpus=corpus, split=self.split, sample=FEW)
        return float(error_rates(found)[self.rate])


@dataclass(frozen=True)
class PlannedLength(OfSeedsAlone):
    """How well the lengths of the test translations are planned (`nmtlab.analysis.search.lengths`).

    Args:
        name: name of the number in a table.
        quantity: one of `length_errors`.
        lower_is_better: the desired direction.
    """

    name: str
    quantity: str
    lower_is_better: bool = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder; NaN for a run that plans no lengths."""
        if not plans_length(run):
            return math.nan
        return float(length_errors(measure(run, planned_lengths, corpus=corpus, split=self.split))[self.quantity])


@dataclass(frozen=True)
class OracleLength(OfSeedsAlone):
    """Test BLEU of a run that plans lengths, given the reference lengths; NaN for a run that plans none.

    Args:
        name: name of the number in a table.
        beam_size: beam size of the search.
    """

    name: str
    beam_size: int
    lower_is_better: ClassVar[bool] = False
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder."""
        if not plans_length(run):
            return math.nan
        found = measure(run, oracle_lengths, corpus=corpus, split=self.split, beam_size=self.beam_size)
        metric = bleu_metric(default_tokenizer(corpus.target))
        return metric.corpus_score(found["text"].tolist(), corpus.references(self.split)).score


@dataclass(frozen=True)
class BaselineLength(OfSeedsAlone):
    """How well the lengths of the test translations are predicted from those of their sources alone.

    Args:
        name: name of the number in a table.
        baseline: of `nmtlab.analysis.search.length_baselines`.
        quantity: one of `length_errors`.
        lower_is_better: the desired direction.
    """

    name: str
    baseline: Baseline
    quantity: str
    lower_is_better: bool = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder; NaN for a run that plans no lengths."""
        if not plans_length(run):
            return math.nan
        found = measure(run, baseline_lengths, corpus=corpus, baseline=self.baseline)
        return float(length_errors(found)[self.quantity])


@dataclass(frozen=True)
class LengthLoss(OfSeedsAlone):
    """Loss on references whose lengths were, or were not, seen in training, in nats per token (`reference_losses`).

    Args:
        name: name of the number in a table.
        quantity: `seen`, on test references; `unseen`, NaN for fewer than `ENOUGH`; or `rise`, unseen minus seen.
    """

    name: str
    quantity: Literal["seen", "unseen", "rise"]
    lower_is_better: ClassVar[bool] = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder."""
        found = measure(run, reference_losses, corpus=corpus)
        losses = losses_by_seen(found)
        if (~found["seen"]).sum() < ENOUGH:
            losses["unseen"] = math.nan
        return losses["unseen"] - losses["seen"] if self.quantity == "rise" else losses[self.quantity]


@dataclass(frozen=True)
class UnseenLengths(OfSeedsAlone):
    """Number of sentences of lengths unseen in training, on which a run is tested.

    Args:
        name: name of the number in a table.
    """

    name: str
    lower_is_better: ClassVar[bool] = False
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder."""
        return float((~measure(run, reference_losses, corpus=corpus)["seen"]).sum())


@dataclass(frozen=True)
class UnseenBleu(OfSentences):
    """BLEU on sentences of lengths unseen in training (`nmtlab.analysis.search.unseen_lengths`).

    Args:
        name: name of the number in a table.
        told: whether a run that plans lengths is given that of each reference; NaN for one that plans none.
    """

    name: str
    told: bool = False
    lower_is_better: ClassVar[bool] = False
    usable: ClassVar[float] = USABLE_BLEU
    of_nothing: ClassVar[float] = 0.0
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder; NaN for fewer than `ENOUGH` sentences."""
        if self.told and not plans_length(run):
            return math.nan
        found = measure(run, unseen_translations, corpus=corpus, told=self.told)
        if len(found) < ENOUGH:
            return math.nan
        return self.metric(corpus.target).corpus_score(found["text"].tolist(), self.text(corpus, run).references).score

    @property
    def made_by(self) -> str:
        """The name that its translations are kept under."""
        return self.name

    def stored(self, run: Run, corpus: ParallelCorpus) -> list[str] | None:
        """Return a run's stored translations; None if it has not made them, or fewer than `ENOUGH`."""
        found = stored_answer(run, unseen_translations, corpus=corpus, told=self.told)
        return None if found is None or len(found) < ENOUGH else found["text"].tolist()

    def text(self, corpus: ParallelCorpus, run: Run | None) -> Text | None:
        """Return the sentences of lengths that a run has not seen in training; None without a run."""
        if run is None:
            return None
        pairs = unseen_pairs(run, corpus)
        return Text(pairs["source"].tolist(), [pairs["target"].tolist()])


@dataclass(frozen=True)
class RestLoss(OfSeedsAlone):
    """Loss on those tokens of the test references that a given number of tokens follow, in nats per token.

    Args:
        name: name of the number in a table.
        first: smallest number of tokens that follow.
        last: largest number of tokens that follow; unbounded if not given.
    """

    name: str
    first: int
    last: int | None = None
    lower_is_better: ClassVar[bool] = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder."""
        return loss_of_rests(measure(run, losses_by_rest, corpus=corpus), self.first, self.last)


SAMPLED = f"(sample of {FEW})"
"""In the names of what is measured on a sample; earlier results of the same names without it are of the first lines."""

SEARCHED = Missed(f"% searched exactly {SAMPLED}", "complete", lower_is_better=False)
SEARCH_ERRORS = Missed(f"search errors of beam 4, % {SAMPLED}", "errors")
EMPTY_GLOBAL_BEST = Missed(f"empty global best, % {SAMPLED}", "empty")
GLOBAL_BEST_LENGTH = GlobalBest(f"length of the global best {SAMPLED}", "length_ratio", lower_is_better=False)
EMPTY_RANK = GlobalBest(f"smallest beam with the empty one {SAMPLED}", "empty_rank", lower_is_better=False)
