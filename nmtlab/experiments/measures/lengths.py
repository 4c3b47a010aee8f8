"""Numbers in the tables on planned lengths: how well they are predicted, and lengths that training has not seen."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from nmtlab.analysis.search.length_baselines import BASELINE_LENGTHS, Baseline
from nmtlab.analysis.search.planned_lengths import (
    ORACLE_LENGTHS,
    PLANNED_LENGTHS,
    length_errors,
)
from nmtlab.analysis.search.unseen_lengths import (
    ENOUGH,
    LOSSES_BY_REST,
    REFERENCE_LOSSES,
    UNSEEN_TRANSLATIONS,
    loss_of_rests,
    losses_by_seen,
    unseen_pairs,
)
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.experiments.measures.quality import USABLE_BLEU, OfSeedsAlone, OfSentences, Text
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus


@dataclass(frozen=True)
class PlannedLength(OfSeedsAlone):
    """How well the lengths of the test translations are planned (`nmtlab.analysis.search.planned_lengths`).

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
        if not run.recipe.model.plans_length:
            return math.nan
        return float(length_errors(PLANNED_LENGTHS.of(run, corpus=corpus, split=self.split))[self.quantity])


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
        if not run.recipe.model.plans_length:
            return math.nan
        found = ORACLE_LENGTHS.of(run, corpus=corpus, split=self.split, beam_size=self.beam_size)
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
        if not run.recipe.model.plans_length:
            return math.nan
        found = BASELINE_LENGTHS.of(run, corpus=corpus, baseline=self.baseline)
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
        found = REFERENCE_LOSSES.of(run, corpus=corpus)
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
        return float((~REFERENCE_LOSSES.of(run, corpus=corpus)["seen"]).sum())


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
        if self.told and not run.recipe.model.plans_length:
            return math.nan
        found = UNSEEN_TRANSLATIONS.of(run, corpus=corpus, told=self.told)
        if len(found) < ENOUGH:
            return math.nan
        return self.metric(corpus.target).corpus_score(found["text"].tolist(), self.text(corpus, run).references).score

    @property
    def made_by(self) -> str:
        """The name that its translations are kept under."""
        return self.name

    def answer(self, run: Run, corpus: ParallelCorpus) -> list[str] | None:
        """Return translations from a stored answer; None if there is none, or fewer than `ENOUGH`."""
        found = UNSEEN_TRANSLATIONS.stored(run, corpus=corpus, told=self.told)
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
        return loss_of_rests(LOSSES_BY_REST.of(run, corpus=corpus), self.first, self.last)
