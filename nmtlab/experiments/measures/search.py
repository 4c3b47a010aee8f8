"""Numbers in the tables on search: results of other search settings, search errors of beams, planned lengths."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from nmtlab.analysis.access.checks import plans_length
from nmtlab.analysis.access.measure import measure, measure_by_sentence
from nmtlab.analysis.search.beams import outcome, sweep, varied
from nmtlab.analysis.search.length_baselines import Baseline, baseline_lengths
from nmtlab.analysis.search.length_weights import length_sweep
from nmtlab.analysis.search.lengths import length_errors, oracle_lengths, planned_lengths
from nmtlab.analysis.search.reference_losses import loss_of_rests, losses_by_rest, losses_by_seen, reference_losses
from nmtlab.analysis.search.search_errors import error_rates, search_errors
from nmtlab.analysis.search.unseen_lengths import ENOUGH, unseen_pairs, unseen_translations
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.experiments.measures.quality import USABLE_BLEU, OfSeedsAlone
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus

LENGTHS_TRIED = (1, 2, 5, 10)
"""Numbers of lengths to try on dev with a run that plans lengths."""

LENGTH_WEIGHTS = (1.0, 0.0, 0.5, 2.0, 4.0)
"""Exponents w of p(length) to try with each; the first wins ties."""


@dataclass(frozen=True)
class Searched:
    """A result of translating the test text with other search settings (`analysis.search.beams.outcome`).

    A run that plans lengths keeps its score, p(length)^w times p; it only takes the beam size from `search`. Where word
    rewards are tuned for other runs, its w and its number of lengths are, unless that is given.

    Args:
        name: name of the number in a table, with the search settings.
        search: the search settings.
        outcome: `bleu`; `length`, the ratio to the reference length in words; or `empty`, the percentage of empty
            translations.
        gammas: word rewards to choose from by dev BLEU, of runs that plan lengths `LENGTHS_TRIED` and
            `LENGTH_WEIGHTS`; empty for no tuning.
        limit: number of sentences, counted from the first; all if not given.
        lengths: number of lengths that a run that plans lengths tries; that of its recipe if not given.
        lower_is_better: the desired direction.
    """

    name: str
    search: SearchSettings
    outcome: Literal["bleu", "length", "empty"] = "bleu"
    gammas: tuple[float, ...] = ()
    limit: int | None = None
    lengths: int | None = None
    lower_is_better: bool = False
    split: ClassVar[Literal["test"]] = "test"
    of_nothing: ClassVar[float] = 0.0

    @property
    def usable(self) -> float:
        """Return the lowest value at which differences between systems are meaningful."""
        return USABLE_BLEU if self.outcome == "bleu" else -math.inf

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder."""
        arguments = {"corpus": corpus, "split": self.split, "search": self._tuned(run, corpus), "limit": self.limit}
        found = measure(run, outcome, **arguments).iloc[0]
        values = {"bleu": found["bleu"], "length": found["length_ratio"], "empty": 100 * found["empty"]}
        return float(values[self.outcome])

    def _tuned(self, run: Run, corpus: ParallelCorpus) -> SearchSettings:
        """Return the search settings, with the word reward, or the plan of lengths, that has the best dev BLEU."""
        if plans_length(run):
            lengths = self.lengths or run.recipe.search.length_candidates
            usual = SearchSettings(score="log-prob", beam_size=self.search.beam_size, length_candidates=lengths)
            return usual if self.lengths or not self.gammas else _tuned_plan(run, corpus, usual)
        if not self.gammas:
            return self.search
        candidates = varied(self.search, "gamma", self.gammas)
        return candidates[int(sweep(run, corpus, candidates, "dev")["bleu"].argmax())]


def _tuned_plan(run: Run, corpus: ParallelCorpus, search: SearchSettings) -> SearchSettings:
    """Return search settings with the number of lengths and the weight of p(length) that have the best dev BLEU."""
    tried = {"search": search, "lengths": LENGTHS_TRIED, "weights": LENGTH_WEIGHTS}
    found = measure(run, length_sweep, corpus=corpus, split="dev", **tried)
    best = found.iloc[int(found["bleu"].argmax())]
    plan = {"length_candidates": int(best["length_candidates"]), "length_weight": float(best["length_weight"])}
    return search.model_copy(update=plan)


@dataclass(frozen=True)
class Missed(OfSeedsAlone):
    """A result of exact search on the first sentences of the test text (`nmtlab.analysis.search.search_errors`).

    Args:
        name: name of the number in a table.
        rate: one of `error_rates`.
        percent: whether it is a share, and given in percent.
        sentences: number of sentences.
        lower_is_better: the desired direction.
    """

    name: str
    rate: str
    percent: bool = True
    sentences: int = 200
    lower_is_better: bool = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder."""
        found = measure_by_sentence(run, search_errors, corpus=corpus, split=self.split, limit=self.sentences)
        value = float(error_rates(found)[self.rate])
        return 100 * value if self.percent else value


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
class UnseenBleu:
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
        metric = bleu_metric(default_tokenizer(corpus.target))
        return metric.corpus_score(found["text"].tolist(), _unseen_references(run, corpus)).score


def _unseen_references(run: Run, corpus: ParallelCorpus) -> list[list[str]]:
    """Return the one set of references of `unseen_translations`."""
    return [unseen_pairs(run, corpus)["target"].tolist()]


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


SEARCHED = Missed("% searched exactly", "complete", lower_is_better=False)
SEARCH_ERRORS = Missed("search errors of beam 4 (%)", "errors")
EMPTY_GLOBAL_BEST = Missed("empty global best (%)", "empty")
GLOBAL_BEST_LENGTH = Missed("length of the global best", "length_ratio", percent=False, lower_is_better=False)
EMPTY_RANK = Missed("smallest beam with the empty one", "empty_rank", percent=False, lower_is_better=False)
