"""Minimum risk training: the expected loss of a model's translations, 1 - their score (Shen et al. 2016)."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from nmtlab.evaluation.scores import chrf_metric, default_tokenizer, sentence_bleu_metric
from nmtlab.models.interface import MemoryT, Searchable, Trainable, on_device
from nmtlab.recipe import Recipe
from nmtlab.recipe.training import TrainingSettings
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
        each = [
            expected_loss(some, of_some, self.settings.risk_alpha)
            for some, of_some in zip(log_probs.split([*map(len, found)]), losses, strict=True)
        ]
        weight = torch.ones_like(batch.source[:, 0]) if batch.weight is None else batch.weight
        mean = torch.stack(each) @ weight.to(log_probs) / weight.sum()
        total = batch.counted_tokens * mean
        return Summand(total, {RISK: total.detach()})

    def _translations(self, model: Trainable[MemoryT], batch: Batch[Tensor]) -> list[list[Ids]]:
        """Return the distinct translations of each sentence among those sampled and, if asked for, the reference."""
        assert isinstance(model, Searchable)
        was_training, seed = model.training, int(torch.randint(2**62, ()))
        model.eval()
        with torch.no_grad():
            memory = model.encode(batch.source, batch.source_language)
            drawn = sample(
                model, memory, self.settings.risk_samples, extra_length=self.extra_length, seed=seed,
                language=batch.target_language,
            )  # fmt: skip
        model.train(was_training)
        found = [[(*one.tokens, *[EOS] * one.finished) for one in result.hypotheses] for result in drawn]
        if self.settings.risk_reference:
            for some, reference in zip(found, batch.target.tolist(), strict=True):
                some.append(tuple(number for number in reference if number != PAD))
        return [[*dict.fromkeys(filter(None, some))] for some in found]

    def _losses(self, batch: Batch[Tensor], found: Sequence[Sequence[Ids]]) -> list[list[float]]:
        """Return 1 - the score of each translation, detokenized, against the reference."""
        side = self.pipeline.target
        if self.settings.risk == "chrf":
            metric = chrf_metric()
        else:
            metric = sentence_bleu_metric(default_tokenizer(batch.target_language or side.language))
        references = [[side.text(ids)] for ids in batch.target.tolist()]
        return [
            [1 - metric.sentence_score(side.text(ids), reference).score / 100 for ids in some]
            for some, reference in zip(found, references, strict=True)
        ]


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
    return Risk(recipe.training, pipeline, recipe.search.extra_length)
