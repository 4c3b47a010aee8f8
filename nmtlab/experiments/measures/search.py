"""Numbers in tables on search: what other ways of searching come to, what beams miss, how lengths are planned."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from nmtlab.analysis.access.checks import plans_length
from nmtlab.analysis.access.measure import measure, measure_by_sentence
from nmtlab.analysis.search.beams import decoded, outcome, sweep, varied
from nmtlab.analysis.search.lengths import length_errors, planned_lengths, told_lengths
from nmtlab.analysis.search.reference_losses import loss_of_rests, losses_by_rest, losses_by_seen, reference_losses
from nmtlab.analysis.search.search_errors import error_rates, search_errors
from nmtlab.evaluation import bleu_metric, default_tokenizer, paired_bootstrap
from nmtlab.experiments.measures.quality import USABLE_BLEU, OfSeedsAlone
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus


@dataclass(frozen=True)
class Searched:
    """An outcome of translating the test text in another way than the recipe's (`analysis.search.beams.outcome`).

    A run that plans lengths is searched by its own score, with the same beam.

    Args:
        name: what is measured, and how it is searched for.
        search: the way of searching.
        outcome: `bleu`; `length`, the ratio to the reference's, in words; or `empty`, the percentage of empty
            translations.
        gammas: values of the reward of a word, of which the one with the best dev BLEU is taken; empty for no tuning.
        limit: so many sentences, the first; all if not given.
        lengths: how many a run that plans lengths tries; as many as its recipe says if not given.
        lower_is_better: which way it is wanted.
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
        """Return the least value of a system whose differences mean something."""
        return USABLE_BLEU if self.outcome == "bleu" else -math.inf

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, from the run's folder if it has been asked for before."""
        asked = {"corpus": corpus, "split": self.split, "search": self._tuned(run, corpus), "limit": self.limit}
        found = measure(run, outcome, **asked).iloc[0]
        values = {"bleu": found["bleu"], "length": found["length_ratio"], "empty": 100 * found["empty"]}
        return float(values[self.outcome])

    def significance(self, runs: Sequence[Run], baseline: Run, corpus: ParallelCorpus) -> dict[str, float]:
        """Return p of the paired bootstrap against the baseline, by name of the run, of BLEU alone."""
        if self.outcome != "bleu":
            return {}
        texts = {run.name: self._texts(run, corpus) for run in (baseline, *runs)}
        metric = bleu_metric(default_tokenizer(corpus.target))
        references = [lines[: self.limit] for lines in corpus.references(self.split)]
        comparisons = paired_bootstrap(texts, references, metric)
        return {comparison.system: comparison.p for comparison in comparisons if comparison.p is not None}

    def _texts(self, run: Run, corpus: ParallelCorpus) -> list[str]:
        asked = {"corpus": corpus, "split": self.split, "search": self._tuned(run, corpus), "limit": self.limit}
        return measure(run, decoded, **asked)["text"].tolist()

    def _tuned(self, run: Run, corpus: ParallelCorpus) -> SearchSettings:
        """Return the way of searching, with the reward that is best on the dev text."""
        if plans_length(run):
            lengths = self.lengths or run.recipe.search.length_candidates
            return SearchSettings(score="log-prob", beam_size=self.search.beam_size, length_candidates=lengths)
        if not self.gammas:
            return self.search
        ways = varied(self.search, "gamma", self.gammas)
        return ways[int(sweep(run, corpus, ways, "dev")["bleu"].argmax())]


@dataclass(frozen=True)
class Missed(OfSeedsAlone):
    """What exact search finds of the first sentences of the test text (`nmtlab.analysis.search.search_errors`).

    Args:
        name: what is measured.
        rate: one of `error_rates`.
        percent: whether it is a share.
        sentences: how many.
        lower_is_better: which way it is wanted.
    """

    name: str
    rate: str
    percent: bool = True
    sentences: int = 200
    lower_is_better: bool = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, from the run's folder if it has been asked for before."""
        found = measure_by_sentence(run, search_errors, corpus=corpus, split=self.split, limit=self.sentences)
        value = float(error_rates(found)[self.rate])
        return 100 * value if self.percent else value


@dataclass(frozen=True)
class PlannedLength(OfSeedsAlone):
    """How well the length of the test text's translations is planned (`nmtlab.analysis.search.lengths`).

    Args:
        name: what is measured.
        quantity: one of `length_errors`.
        lower_is_better: which way it is wanted.
    """

    name: str
    quantity: str
    lower_is_better: bool = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, from the run's folder if it has been asked for before; NaN of a run that plans none."""
        if not plans_length(run):
            return math.nan
        return float(length_errors(measure(run, planned_lengths, corpus=corpus, split=self.split))[self.quantity])


@dataclass(frozen=True)
class ToldLength(OfSeedsAlone):
    """BLEU of the test text if a run that plans lengths is told the references'; NaN of a run that plans none.

    Args:
        name: what is measured.
        beam_size: of the search.
    """

    name: str
    beam_size: int
    lower_is_better: ClassVar[bool] = False
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, from the run's folder if it has been asked for before."""
        if not plans_length(run):
            return math.nan
        found = measure(run, told_lengths, corpus=corpus, split=self.split, beam_size=self.beam_size)
        metric = bleu_metric(default_tokenizer(corpus.target))
        return metric.corpus_score(found["text"].tolist(), corpus.references(self.split)).score


@dataclass(frozen=True)
class LengthLoss(OfSeedsAlone):
    """The loss of the test text's references by whether such a length was seen in training, in nats a token.

    Args:
        name: what is measured.
        quantity: `seen`; `unseen`; or `rise`, from seen to unseen.
    """

    name: str
    quantity: Literal["seen", "unseen", "rise"]
    lower_is_better: ClassVar[bool] = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, from the run's folder if it has been asked for before."""
        losses = losses_by_seen(measure(run, reference_losses, corpus=corpus))
        return losses["unseen"] - losses["seen"] if self.quantity == "rise" else losses[self.quantity]


@dataclass(frozen=True)
class RestLoss(OfSeedsAlone):
    """The loss of the tokens of the test text's references by how many are still to come, in nats a token.

    Args:
        name: what is measured.
        first: fewest tokens that are to come after it.
        last: most of them; any number if not given.
    """

    name: str
    first: int
    last: int | None = None
    lower_is_better: ClassVar[bool] = True
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, from the run's folder if it has been asked for before."""
        return loss_of_rests(measure(run, losses_by_rest, corpus=corpus), self.first, self.last)


SEARCHED = Missed("% searched to the end", "complete", lower_is_better=False)
SEARCH_ERRORS = Missed("% missed by beam 4", "errors")
EMPTY_FAVOURITES = Missed("% whose best is empty", "empty")
LENGTH_OF_BEST = Missed("length of the best", "length_ratio", percent=False, lower_is_better=False)
EMPTY_RANK = Missed("beam the empty one enters", "empty_rank", percent=False, lower_is_better=False)
