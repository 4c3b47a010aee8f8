"""The expected loss of a model's translations, 1 - their score: over a set of samples, whose probabilities are made to
sum to 1 (Shen et al. 2016), or by each sample's advantage over the greedy translation (Rennie et al. 2017).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from nmtlab.evaluation.gleu import sentence_gleu
from nmtlab.evaluation.scores import bleu_words, chrf_metric, default_tokenizer, sentence_bleu_metric
from nmtlab.evaluation.suggestions import hit
from nmtlab.models.interface import MemoryT, Searchable, Trainable, on_device
from nmtlab.recipe import Recipe, SearchSettings
from nmtlab.recipe.training import TrainingSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.search.sampling import sample
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import EOS, PAD
from nmtlab.training.objective import Forward, Summand, sentence_log_probs

RISK = "risk"

Ids = tuple[int, ...]
"""A translation: its types and EOS, which one that was cut off lacks."""


def expected_loss(log_probs: Tensor, losses: Tensor, alpha: float) -> Tensor:
    """Return R = Σ Q_i Δ_i, where Q_i is p_i^α divided by its sum (Shen et al. 2016, eq 11).

    Args:
        log_probs: (n,) log p_i of distinct translations of one sentence, with a gradient.
        losses: (n,) Δ_i, from 0 to 1.
        alpha: α, from 0.
    """
    return (alpha * log_probs).softmax(0) @ losses


def advantage_loss(log_probs: Tensor, losses: Tensor, baseline: float) -> Tensor:
    """Return the mean of Δ_i, whose gradient is made that of the mean of (Δ_i - b) log p_i (Rennie et al. 2017).

    Its expectation over the samples is the gradient of the expected loss, whatever b is.

    Args:
        log_probs: (n,) log p_i of samples of one sentence, with a gradient; one that was drawn twice counts twice.
        losses: (n,) Δ_i, from 0 to 1.
        baseline: b, Δ of the greedy translation.
    """
    pull = (losses - baseline) @ log_probs / len(losses)
    return losses.mean() + pull - pull.detach()


class Risk:
    """The mean risk of the sentences of a batch, each over translations that are sampled of it; times the tokens.

    The loss of an update is divided by its tokens, so that the risk is not; batches count by their tokens. Dropout is
    off while translations are sampled, and on when their probabilities are learned. What is sampled depends on torch's
    seed, which is that of the update.

    Args:
        settings: score, number of samples and α.
        pipeline: turns ids into plain text, in which UNK remains; the reference too is made of ids.
        extra_length: as of `sampling.sample`.
    """

    weights: Mapping[str, float] = {RISK: 1.0}

    def __init__(self, settings: TrainingSettings, pipeline: Pipeline, extra_length: int) -> None:
        self.settings, self.pipeline, self.extra_length = settings, pipeline, extra_length

    def __call__(
        self, model: Trainable[MemoryT], batch: Batch[Tensor], forward: Callable[[], Forward[MemoryT]]
    ) -> Summand:
        found = self._translations(model, batch)
        log_probs = _log_probs(model, batch, found, forward().memory)
        losses = [log_probs.new_tensor(some) for some in self._losses(batch, found)]
        each = self._each(model, batch, log_probs.split([*map(len, found)]), losses)
        weight = torch.ones_like(batch.source[:, 0]) if batch.weight is None else batch.weight
        mean = torch.stack(each) @ weight.to(log_probs) / weight.sum()
        total = batch.counted_tokens * mean
        return Summand(total, {RISK: total.detach()})

    def _each(
        self, model: Trainable[MemoryT], batch: Batch[Tensor], log_probs: Sequence[Tensor], losses: Sequence[Tensor]
    ) -> list[Tensor]:
        """Return the risk of each sentence, given log p and the loss of its translations."""
        return [
            expected_loss(some, of_some, self.settings.risk_alpha)
            for some, of_some in zip(log_probs, losses, strict=True)
        ]

    def _translations(self, model: Trainable[MemoryT], batch: Batch[Tensor]) -> list[list[Ids]]:
        """Return the distinct translations of each sentence among those sampled and, if asked for, the reference."""
        found = self._sampled(model, batch)
        if self.settings.risk_reference:
            for some, reference in zip(found, batch.target.tolist(), strict=True):
                some.append(tuple(number for number in reference if number != PAD))
        return [[*dict.fromkeys(filter(None, some))] for some in found]

    def _sampled(self, model: Trainable[MemoryT], batch: Batch[Tensor]) -> list[list[Ids]]:
        assert isinstance(model, Searchable)
        seed = int(torch.randint(2**62, ()))
        with _decoding(model):
            drawn = sample(
                model, model.encode(batch.source, batch.source_language), self.settings.risk_samples,
                extra_length=self.extra_length, seed=seed, language=batch.target_language,
            )  # fmt: skip
        return [[_ids(one) for one in result.hypotheses] for result in drawn]

    def _losses(self, batch: Batch[Tensor], found: Sequence[Sequence[Ids]]) -> list[list[float]]:
        """Return 1 - the score of each translation, detokenized, against the reference."""
        side = self.pipeline.target
        score = _scorer(self.settings.risk, batch.target_language or side.language)
        references = [side.text(ids) for ids in batch.target.tolist()]
        losses = [
            [1 - score(side.text(ids), reference) for ids in some]
            for some, reference in zip(found, references, strict=True)
        ]
        return self._with_hits(batch, found, losses) if self.settings.risk == "hit-gleu" else losses

    def _with_hits(
        self, batch: Batch[Tensor], found: Sequence[Sequence[Ids]], losses: Sequence[list[float]]
    ) -> list[list[float]]:
        """Return the means of 1 - HIT and each loss (Pham et al. 2018, eq 4); the loss where nothing is suggested."""
        side = self.pipeline.target
        suggested = [self.pipeline.source.suggested(ids) for ids in batch.source.tolist()]
        return [
            [(1 - hit(notes, side.turned(ids)) + loss) / 2 for ids, loss in zip(some, of_some, strict=True)]
            if notes
            else of_some
            for notes, some, of_some in zip(suggested, found, losses, strict=True)
        ]


class SelfCritical(Risk):
    """A risk of all samples, which counts each by its loss less that of the greedy translation; arguments of `Risk`."""

    def _each(
        self, model: Trainable[MemoryT], batch: Batch[Tensor], log_probs: Sequence[Tensor], losses: Sequence[Tensor]
    ) -> list[Tensor]:
        baselines = self._losses(batch, [[ids] for ids in self._greedy(model, batch)])
        return [
            advantage_loss(some, of_some, baseline)
            for some, of_some, (baseline,) in zip(log_probs, losses, baselines, strict=True)
        ]

    def _translations(self, model: Trainable[MemoryT], batch: Batch[Tensor]) -> list[list[Ids]]:
        """Return the translations that are sampled of each sentence."""
        return self._sampled(model, batch)

    def _greedy(self, model: Trainable[MemoryT], batch: Batch[Tensor]) -> list[Ids]:
        assert isinstance(model, Searchable)
        greedy = SearchSettings(score="log-prob", beam_size=1, extra_length=self.extra_length)
        with _decoding(model):
            memory = model.encode(batch.source, batch.source_language)
            found = beam_search(model, memory, greedy, language=batch.target_language)
        return [_ids(result.hypotheses[0]) for result in found]


@contextmanager
def _decoding(model: Trainable) -> Iterator[None]:
    """Have a model decode: without dropout and gradients."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)


def _ids(hypothesis: Hypothesis) -> Ids:
    return (*hypothesis.tokens, *[EOS] * hypothesis.finished)


def _scorer(score: str, language: str) -> Callable[[str, str], float]:
    """Return the score of a translation, given its reference, from 0 to 1."""
    tokenizer = default_tokenizer(language)
    if score in ("gleu", "hit-gleu"):
        split = bleu_words(tokenizer)
        return lambda text, reference: sentence_gleu(split(text), split(reference))
    metric = chrf_metric() if score == "chrf" else sentence_bleu_metric(tokenizer)
    return lambda text, reference: metric.sentence_score(text, [reference]).score / 100


def _log_probs(
    model: Trainable[MemoryT], batch: Batch[Tensor], found: Sequence[Sequence[Ids]], memory: MemoryT
) -> Tensor:
    """Return log p of translations of each sentence of a batch, all in a row, with a gradient.

    Args:
        memory: of the batch's sources.
    """
    rows = [row for row, some in enumerate(found) for _ in some]
    source, target = batch.source.cpu().numpy()[rows], pad([ids for some in found for ids in some])
    languages = {"source_language": batch.source_language, "target_language": batch.target_language}
    pairs = on_device(batch_of(source, target, **languages), model.device)
    return sentence_log_probs(model, pairs, memory.select(torch.tensor(rows, device=model.device)))


def risk_of(recipe: Recipe, pipeline: Pipeline) -> Risk | None:
    """Return the risk that a recipe minimises, if any."""
    if recipe.training.risk == "none":
        return None
    form = SelfCritical if recipe.training.risk_form == "self-critical" else Risk
    return form(recipe.training, pipeline, recipe.search.extra_length)
