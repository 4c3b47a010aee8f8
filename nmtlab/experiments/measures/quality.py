"""The numbers in the published tables, and how each is measured on a run."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd
from sacrebleu.metrics.base import Metric

from nmtlab.analysis.access.translations import (
    stored_translations,
    text_digest,
    translations,
    translations_by_text,
)
from nmtlab.analysis.dynamics.convergence import convergence, last_perplexity
from nmtlab.analysis.dynamics.curves import gradient_curve, gradient_quantiles
from nmtlab.analysis.dynamics.depth import g_trends
from nmtlab.analysis.dynamics.signals import ENOUGH, SIGNALS
from nmtlab.evaluation import bleu_metric, default_tokenizer, tokenized_bleu_metric
from nmtlab.languages import language_of
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.tokenizers import moses_words

USABLE_BLEU = 5.0
"""If neither of two systems reaches this, hardly any words are right, and their difference is meaningless."""


class Measure(Protocol):
    """A number in a table.

    `name` is its name in the table, `split` the text it is measured on, if any, and `lower_is_better` the desired
    direction. If neither of two systems reaches `usable`, their difference is meaningless. `of_nothing` is the value
    for a training that diverged before its first checkpoint, and so cannot translate.
    """

    @property
    def name(self) -> str: ...
    @property
    def split(self) -> Literal["dev", "test"] | None: ...
    @property
    def lower_is_better(self) -> bool: ...
    @property
    def usable(self) -> float: ...
    @property
    def of_nothing(self) -> float: ...

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number for a run, cached in the run's folder."""


class Text(NamedTuple):
    """The sentences that a score is of, and one set or more of their references."""

    sources: list[str]
    references: list[list[str]]


class OfSentences:
    """A score of a run's translations, whose sentences can be resampled.

    Unless a measure says otherwise, it is sacrebleu's BLEU of all sentences of a split, translated with the recipe's
    search settings.
    """

    name: str
    split: Literal["dev", "test"]

    @property
    def made_by(self) -> str:
        """The name that its translations are kept under; empty for those with the recipe's search settings."""
        return ""

    def stored(self, run: Run, corpus: ParallelCorpus) -> list[str] | None:
        """Return a run's stored translations; None if it has not made them."""
        if not self.made_by:
            return stored_translations(run, corpus, self.split)
        if not run.translates(*corpus.direction):
            return None
        answer = self.answer(run, corpus)
        return self._packed(run.directed(*corpus.direction), corpus) if answer is None else answer

    def answer(self, run: Run, corpus: ParallelCorpus) -> list[str] | None:
        """Return translations from the stored answer of an analysis, of a score with `made_by`; None if none is."""
        return None

    def _packed(self, run: Run, corpus: ParallelCorpus) -> list[str] | None:
        """Return the translations that a run was packed with: answers with them are too large."""
        found = translations_by_text(run, self.split, self.made_by)
        text = self.text(corpus, run) if found else None
        return found.get(text_digest(text.sources)) if text else None

    def text(self, corpus: ParallelCorpus, run: Run | None) -> Text | None:
        """Return the text that a run translates; None if it depends on the run, and there is none."""
        return Text(list(corpus.lines(self.split, corpus.source)), corpus.references(self.split))

    def metric(self, language: str) -> Metric:
        """Return sacrebleu's metric for translations into a language."""
        return bleu_metric(default_tokenizer(language))

    def scored(self, lines: Sequence[str], language: str) -> list[str]:
        """Return lines as the metric compares them."""
        return list(lines)


@dataclass(frozen=True)
class Bleu(OfSentences):
    """BLEU of a run's best checkpoint with its recipe's search settings: sacrebleu, or multi-bleu on Moses tokens.

    Args:
        name: as in the published table.
        split: text to translate.
        detokenized_into: target languages scored by sacrebleu on detokenized text; all others are scored on tokens.
    """

    name: str
    split: Literal["dev", "test"]
    detokenized_into: tuple[str, ...] = ()
    lower_is_better: ClassVar[bool] = False
    usable: ClassVar[float] = USABLE_BLEU
    of_nothing: ClassVar[float] = 0.0

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the BLEU of a run, from 0 to 100."""
        hypotheses = self.scored(translations(run, corpus, self.split), corpus.target)
        references = [self.scored(lines, corpus.target) for lines in corpus.references(self.split)]
        return self.metric(corpus.target).corpus_score(hypotheses, references).score

    def metric(self, language: str) -> Metric:
        """Return sacrebleu's metric for translations into a language."""
        return bleu_metric(default_tokenizer(language)) if self.is_detokenized(language) else tokenized_bleu_metric()

    def scored(self, lines: Sequence[str], language: str) -> list[str]:
        """Return lines as the metric compares them."""
        if self.is_detokenized(language):
            return list(lines)
        words = moses_words(language)
        return [" ".join(words.split(line)) for line in lines]

    def is_detokenized(self, language: str) -> bool:
        """Return whether translations into a language are scored on detokenized text."""
        return language_of(language) in self.detokenized_into


class OfSeedsAlone:
    """A number whose variance only seeds show; any system is good enough."""

    usable: ClassVar[float] = -math.inf
    of_nothing: ClassVar[float] = math.nan


class RatioOfSentences(ABC):
    """A ratio of two sums over the sentences of a text, which can be resampled; any system is good enough."""

    usable: ClassVar[float] = -math.inf
    of_nothing: ClassVar[float] = math.nan

    @abstractmethod
    def sums(self, run: Run, corpus: ParallelCorpus) -> np.ndarray | None:
        """Return what each sentence adds to the numerator and to the denominator, in whole numbers.

        Returns:
            (sentences, 2); None if the run has not been measured, or has no such number.
        """


class ShareOfSentences(RatioOfSentences):
    """A percentage of sentences in which something is so."""

    @abstractmethod
    def hits(self, run: Run, corpus: ParallelCorpus) -> np.ndarray | None:
        """Return 1 for a sentence in which it is so, 0 for another, NaN for one that does not count.

        Returns:
            (sentences,); None if the run has not been measured.
        """

    def sums(self, run: Run, corpus: ParallelCorpus) -> np.ndarray | None:
        hits = self.hits(run, corpus)
        return None if hits is None else percent(hits)


class ShareOfTranslations(ShareOfSentences):
    """A percentage of the translations that a score is of."""

    of: OfSentences

    @abstractmethod
    def among(self, lines: Sequence[str]) -> np.ndarray:
        """Return 1 for a translation in which it is so, 0 for another: (sentences,)."""

    def hits(self, run: Run, corpus: ParallelCorpus) -> np.ndarray | None:
        """Return 1 for a sentence in whose translation it is so, 0 for another; None if they are not stored."""
        lines = self.of.stored(run, corpus)
        return None if lines is None else self.among(lines)


def by_sentence(
    lines: pd.Series, numbers: pd.DataFrame, corpus: ParallelCorpus, split: Literal["dev", "test"]
) -> np.ndarray:
    """Return numbers for all sentences of a split, 0 for those that have none.

    Args:
        lines: the sentences that have numbers, from 1.
        numbers: (lines, n), whole numbers.
        corpus, split: the text.

    Returns:
        (sentences, n).
    """
    found = np.zeros((sum(1 for _ in corpus.lines(split, corpus.source)), numbers.shape[1]), dtype=int)
    found[lines.to_numpy() - 1] = numbers
    return found


def percent(hits: np.ndarray) -> np.ndarray:
    """Return the sums, (sentences, 2), of a percentage of sentences, given `ShareOfSentences.hits`."""
    return np.stack([100 * np.nan_to_num(hits), ~np.isnan(hits)], axis=1)


class Counted(OfSeedsAlone):
    """A number that follows from the text alone: neither other seeds nor other sentences would change it."""


@dataclass(frozen=True)
class TrainPerplexity(OfSeedsAlone):
    """Perplexity of the training text in the last epoch, with dropout, as logged during training.

    Strictly, it covers the updates after the second-to-last evaluation, which are one epoch in the RNN recipes.
    """

    name: str = "train perplexity"
    split: ClassVar[None] = None
    lower_is_better: ClassVar[bool] = True

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the perplexity per target token, without label smoothing."""
        return last_perplexity(run)


@dataclass(frozen=True)
class GTrend(OfSeedsAlone):
    """Trend of ScaleNorm's learned g with depth (`nmtlab.analysis.dynamics.depth.g_trends`).

    Args:
        name: name of the quantity there.
        lower_is_better: the direction that the thesis observes.
    """

    name: str
    lower_is_better: bool = False
    split: ClassVar[None] = None

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number."""
        return g_trends(run)[self.name]


@dataclass(frozen=True)
class GradientLeft(OfSeedsAlone):
    """How much of a Transformer's gradient remains after passing down one side, at the end of training or before it.

    It is log10 of the gradient before the first normalisation divided by that before the last
    (`nmtlab.analysis.dynamics.signals`).

    Args:
        side: encoder or decoder.
        trained: measure the last weights; otherwise those before the first update.
    """

    side: Literal["encoder", "decoder"]
    trained: bool = True
    split: ClassVar[Literal["dev"]] = "dev"
    lower_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Name of the number in a table."""
        return f"gradient ratio first/last norm: {self.side} (log10)" + ("" if self.trained else ", untrained")

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, cached in the run's folder; -inf if no gradient remains."""
        update = run.checkpoints.last_step if self.trained else 0
        found = SIGNALS.of(run, corpus=corpus, split=self.split, update=update, sample=ENOUGH)
        gradients = found.loc[found["side"] == self.side, "gradient"]
        return float(np.log10(gradients.iloc[0] / gradients.iloc[-1]))


@dataclass(frozen=True)
class GradientNorm(OfSeedsAlone):
    """Size of the gradient after warm-up, or its noise at the end (`analysis.dynamics.curves`; Figure 3.5).

    Args:
        name: name of the number in a table.
        quantity: `norm`, the median norm; `component`, 1,000 times the median norm divided by the square root of the
            number of parameters; `noise`, the 99th percentile of the norm divided by its running median, over the
            last quarter of the updates.
        lower_is_better: the direction that the thesis prefers.
    """

    name: str
    quantity: Literal["norm", "component", "noise"]
    lower_is_better: bool = True
    split: ClassVar[None] = None

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number."""
        if self.quantity == "noise":
            curve = gradient_curve(run)
            late = curve.iloc[-len(curve) // 4 :]
            return float((late["norm"] / late["median"]).quantile(0.99))
        training = run.recipe.training
        warm_up = training.warmup_updates if training.schedule in ("inverse-sqrt", "validation-decay") else 0
        found = gradient_quantiles(run, first=warm_up + 1, quantiles=[0.5])
        return float(found[self.quantity].iloc[0]) * (1000 if self.quantity == "component" else 1)


@dataclass(frozen=True)
class Converged(OfSeedsAlone):
    """Whether a training converged (`analysis.dynamics.convergence`): 1 or 0, or NaN if it is too early to tell."""

    name: str = "converged"
    split: ClassVar[None] = None
    lower_is_better: ClassVar[bool] = False
    of_nothing: ClassVar[float] = 0.0

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number."""
        values = {"converged": 1.0, "too early": math.nan}
        return values.get(convergence([run])["verdict"].iloc[0], 0.0)


DEV_BLEU = Bleu("dev BLEU", "dev")
"""Best tokenized dev BLEU (Tables 3.4 and 3.8)."""

TEST_BLEU = Bleu("test BLEU", "test", detokenized_into=("en",))
"""Test BLEU as in thesis 3.2.5.3: detokenized into English, tokenized into other languages."""

TOKENIZED_TEST_BLEU = Bleu("test BLEU", "test")
"""Test BLEU as in thesis 3.3.3.1: tokenized into every language."""

TRAIN_PERPLEXITY = TrainPerplexity()
"""Training perplexity at the end of training (Table 3.8)."""

CONVERGED = Converged()
GRADIENT_NORM = GradientNorm("gradient norm", "norm")
GRADIENT_COMPONENT = GradientNorm("1,000 × gradient norm / √parameters", "component")
GRADIENT_NOISE = GradientNorm("gradient norm, 99th percentile / median", "noise")
GRADIENT_LEFT = (GradientLeft("encoder"), GradientLeft("decoder"))
FIRST_GRADIENT_LEFT = (GradientLeft("encoder", trained=False), GradientLeft("decoder", trained=False))

CROSS_SLOPE = GTrend("slope, decoder-encoder attention", lower_is_better=True)
G_SLOPES = tuple(
    GTrend(f"slope, {side} {panel}") for side in ("encoder", "decoder") for panel in ("attention", "feed-forward")
)
LATE_G = GTrend("g, late decoder", lower_is_better=True)
OUTPUT_G = GTrend("g, output")
