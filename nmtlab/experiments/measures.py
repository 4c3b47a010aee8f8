"""The numbers in the seeds' tables: how each is taken from a run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from sacrebleu.metrics.base import Metric

from nmtlab.analysis.beams import decoded, outcome, sweep, varied
from nmtlab.analysis.checks import plans_length
from nmtlab.analysis.convergence import FLOOR, convergence
from nmtlab.analysis.depth import g_trends
from nmtlab.analysis.dynamics import gradient_curve, gradient_quantiles
from nmtlab.analysis.lengths import length_errors, losses_by_seen, planned_lengths, reference_losses
from nmtlab.analysis.lexical_choice import lexical_choice
from nmtlab.analysis.measure import measure, measure_by_sentence
from nmtlab.analysis.radius import last_perplexity
from nmtlab.analysis.search_errors import error_rates, search_errors
from nmtlab.analysis.signals import signals
from nmtlab.analysis.translations import translations
from nmtlab.evaluation import bleu_metric, default_tokenizer, paired_bootstrap, tokenized_bleu_metric
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.tokenizers import Words

USABLE_BLEU = FLOOR
"""Where no system reaches this, differences mean nothing."""


@dataclass(frozen=True)
class Bleu:
    """BLEU of a run's best checkpoint, decoded as its recipe says: sacrebleu's, or multi-bleu's of Moses tokens.

    Args:
        name: as in the published table.
        split: text that is translated.
        detokenized_into: languages into which sacrebleu's is reported; into others it is the tokenized one.
    """

    name: str
    split: Literal["dev", "test"]
    detokenized_into: tuple[str, ...] = ()
    lower_is_better: ClassVar[bool] = False
    usable: ClassVar[float] = USABLE_BLEU
    of_nothing: ClassVar[float] = 0.0

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the BLEU of a run, in percent."""
        hypotheses = self._scored(translations(run, corpus, self.split, machine=run.recipe.machine), corpus.target)
        return self._metric(corpus.target).corpus_score(hypotheses, self._references(corpus)).score

    def significance(self, runs: Sequence[Run], baseline: Run, corpus: ParallelCorpus) -> dict[str, float]:
        """Return p of the paired bootstrap against the baseline, by name of the run."""
        systems = {
            run.name: self._scored(translations(run, corpus, self.split, machine=run.recipe.machine), corpus.target)
            for run in (baseline, *runs)
        }
        comparisons = paired_bootstrap(systems, self._references(corpus), self._metric(corpus.target))
        return {comparison.system: comparison.p for comparison in comparisons if comparison.p is not None}

    def _detokenized(self, language: str) -> bool:
        return language in self.detokenized_into

    def _metric(self, language: str) -> Metric:
        return bleu_metric(default_tokenizer(language)) if self._detokenized(language) else tokenized_bleu_metric()

    def _references(self, corpus: ParallelCorpus) -> list[list[str]]:
        return [self._scored(lines, corpus.target) for lines in corpus.references(self.split)]

    def _scored(self, lines: Sequence[str], language: str) -> list[str]:
        """Return lines as they are compared."""
        if self._detokenized(language):
            return list(lines)
        words = Words(language)
        return [" ".join(words.split(line)) for line in lines]


class _OfSeedsAlone:
    """A number without sentences to draw from: the seeds alone tell how sure it is, and any system is good enough."""

    usable: ClassVar[float] = -math.inf
    of_nothing: ClassVar[float] = math.nan

    def significance(self, runs: Sequence[Run], baseline: Run, corpus: ParallelCorpus) -> dict[str, float]:
        """Return nothing."""
        return {}


@dataclass(frozen=True)
class TrainPerplexity(_OfSeedsAlone):
    """Perplexity of the training text in the last pass, dropout on, as it was logged while training.

    Strictly, of what was logged after the last evaluation but one, which in the RNN recipes is a pass.
    """

    name: str = "train perplexity"
    split: ClassVar[None] = None
    lower_is_better: ClassVar[bool] = True

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the perplexity per target token, without label smoothing."""
        return last_perplexity(run)


@dataclass(frozen=True)
class Finding(_OfSeedsAlone):
    """A number of `nmtlab.analysis.lexical_choice`, of the test text; NaN of a run that has none.

    Args:
        name: of the quantity there.
        lower_is_better: which way the thesis wants it.
    """

    name: str
    lower_is_better: bool = False
    split: ClassVar[Literal["test"]] = "test"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, from the run's folder if it has been asked for before."""
        found = measure(run, lexical_choice, corpus=corpus)
        return dict(zip(found["quantity"], found["value"], strict=True)).get(self.name, math.nan)


@dataclass(frozen=True)
class Searched:
    """An outcome of translating the test text in another way than the recipe's (`nmtlab.analysis.beams.outcome`).

    A run that plans lengths is searched by its own score, with the same beam.

    Args:
        name: what is measured, and how it is searched for.
        search: the way of searching.
        outcome: `bleu`; `length`, the ratio to the reference's, in words; or `empty`, the percentage of empty
            translations.
        gammas: values of the reward of a word, of which the one with the best dev BLEU is taken; empty for no tuning.
        limit: so many sentences, the first; all if not given.
        lower_is_better: which way it is wanted.
    """

    name: str
    search: SearchSettings
    outcome: Literal["bleu", "length", "empty"] = "bleu"
    gammas: tuple[float, ...] = ()
    limit: int | None = None
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
            return SearchSettings(score="log-prob", beam_size=self.search.beam_size, lengths=run.recipe.search.lengths)
        if not self.gammas:
            return self.search
        ways = varied(self.search, "gamma", self.gammas)
        return ways[int(sweep(run, corpus, ways, "dev")["bleu"].argmax())]


@dataclass(frozen=True)
class Missed(_OfSeedsAlone):
    """What exact search finds of the first sentences of the test text (`nmtlab.analysis.search_errors`).

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
class PlannedLength(_OfSeedsAlone):
    """How well the length of the test text's translations is planned (`nmtlab.analysis.lengths`).

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
class LengthLoss(_OfSeedsAlone):
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
class GTrend(_OfSeedsAlone):
    """How the learned g of ScaleNorm goes with depth (`nmtlab.analysis.depth.g_trends`).

    Args:
        name: of the quantity there.
        lower_is_better: which way the thesis sees it go.
    """

    name: str
    lower_is_better: bool = False
    split: ClassVar[None] = None

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number."""
        return g_trends(run)[self.name]


@dataclass(frozen=True)
class GradientLeft(_OfSeedsAlone):
    """What is left of a Transformer's gradient when it has come down through one side, at the end of training.

    In powers of ten: that before the first normalisation to that before the last (`nmtlab.analysis.signals`).

    Args:
        side: encoder or decoder.
    """

    side: Literal["encoder", "decoder"]
    split: ClassVar[Literal["dev"]] = "dev"
    lower_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Name of the number in a table."""
        return f"left in the {self.side} (log10)"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number, from the run's folder if it has been asked for before; -inf if nothing is left."""
        found = measure(run, signals, corpus=corpus, split=self.split, update=run.last_step)
        gradients = found.loc[found["side"] == self.side, "gradient"]
        return float(np.log10(gradients.iloc[0] / gradients.iloc[-1]))


@dataclass(frozen=True)
class GradientNorm(_OfSeedsAlone):
    """How large the gradient is after the warm-up, and how noisy in the end (`nmtlab.analysis.dynamics`; Figure 3.5).

    Args:
        name: what is measured.
        quantity: `norm`, the median; `component`, a thousand times that by the root of the number of parameters;
            `noise`, of the last quarter of the updates the 99th percentile of the norm by the median around it.
        lower_is_better: which way the thesis wants it.
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
        found = gradient_quantiles(run, first=run.recipe.training.warmup + 1, quantiles=[0.5])
        return float(found[self.quantity].iloc[0]) * (1000 if self.quantity == "component" else 1)


@dataclass(frozen=True)
class Alive(_OfSeedsAlone):
    """Whether a training came alive (`nmtlab.analysis.convergence`): 1 or 0, NaN where it was too early to tell."""

    name: str = "alive"
    split: ClassVar[None] = None
    lower_is_better: ClassVar[bool] = False
    of_nothing: ClassVar[float] = 0.0

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the number."""
        told = {"alive": 1.0, "too early": math.nan}
        return told.get(convergence([run])["verdict"].iloc[0], 0.0)


Measure = (
    Bleu | TrainPerplexity | Finding | Searched | Missed | PlannedLength | LengthLoss | GTrend | GradientLeft
    | GradientNorm | Alive
)  # fmt: skip
"""A number in a table. Where no system of a row reaches `usable`, differences between them mean nothing. Of a training
that diverged before it had a checkpoint, and can translate nothing, it is `of_nothing`."""

DEV_BLEU = Bleu("dev BLEU", "dev")
"""Best tokenized dev BLEU (Tables 3.4 and 3.8)."""

TEST_BLEU = Bleu("test BLEU", "test", detokenized_into=("en",))
"""Test BLEU as in thesis 3.2.5.3: detokenized into English, tokenized into other languages."""

TOKENIZED_TEST_BLEU = Bleu("test BLEU", "test")
"""Test BLEU as in thesis 3.3.3.1: tokenized into every language."""

TRAIN_PERPLEXITY = TrainPerplexity()
"""Train perplexity after training (Table 3.8)."""

RARE_RECALL = Finding("rare recall")
NORM_FREQUENCY = Finding("norm-frequency", lower_is_better=True)
NORM_DECIDES = Finding("norm decides", lower_is_better=True)
LEFT_SHIFT = Finding("left shift", lower_is_better=True)
ALIGNMENT_ERROR = Finding("alignment error", lower_is_better=True)
RIGHT_COPIES = Finding("right copies")
LEXICON_PRECISION = Finding("lexicon precision")
SEARCHED = Missed("% searched to the end", "complete", lower_is_better=False)
SEARCH_ERRORS = Missed("% missed by beam 4", "errors")
EMPTY_FAVOURITES = Missed("% whose best is empty", "empty")
LENGTH_OF_BEST = Missed("length of the best", "length_ratio", percent=False, lower_is_better=False)
EMPTY_RANK = Missed("beam the empty one enters", "empty_rank", percent=False, lower_is_better=False)
ALIVE = Alive()
GRADIENT_NORM = GradientNorm("gradient norm", "norm")
GRADIENT_COMPONENT = GradientNorm("1,000 × gradient norm / √parameters", "component")
GRADIENT_NOISE = GradientNorm("gradient norm, 99th percentile / median", "noise")
GRADIENT_LEFT = (GradientLeft("encoder"), GradientLeft("decoder"))

G_SLOPES = tuple(
    GTrend(f"slope, {side} {panel}") for side in ("encoder", "decoder") for panel in ("attention", "feed-forward")
)
LATE_G = GTrend("g, late decoder", lower_is_better=True)
OUTPUT_G = GTrend("g, output")
