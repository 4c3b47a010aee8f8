"""What is measured at each evaluation: scores of decoded dev text, dev perplexity, and norms for the figures."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from nmtlab.evaluation.scores import bleu, chrf, default_tokenizer, perplexity
from nmtlab.models.interface import Inspectable, Searchable, Trainable, TranslationModel, on_device
from nmtlab.nn.norms import ScaleNorm
from nmtlab.recipe import Recipe
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.checks.inspection import DevText
from nmtlab.text.corpora.corpus import Direction
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.training.objective import training_objective
from nmtlab.translation import Translator

_BATCH_TOKENS = 4096
_BATCH_LOGITS = 1 << 28
"""Most logits of a batch: those of a large vocabulary would take more memory than an update."""


class DevScores(NamedTuple):
    """The scores of one evaluation.

    Args:
        bleu: the mean over directions.
        perplexity: over all dev text.
        directions: direction, such as `gl-en`, -> BLEU; empty if there is only one.
        chrf: the mean over directions; None if it is not what the best checkpoint is selected by.
    """

    bleu: float
    perplexity: float
    directions: dict[str, float]
    chrf: float | None = None


def dev_scores(
    model: TranslationModel, pipeline: Pipeline, dev: Mapping[Direction, DevText], recipe: Recipe
) -> DevScores:
    """Return the scores of the dev text of each direction, one or more."""
    decoded, total, tokens = {}, 0.0, 0
    for direction, text in dev.items():
        directed = model.directed(*direction), pipeline.directed(*direction)
        decoded["-".join(direction)] = decoded_scores(*directed, text, recipe)
        nll, scored, _ = _negative_log_likelihood(*directed, [text.source, *text.more_sources], text.references[0])
        total, tokens = total + nll, tokens + scored
    bleus = {name: scores[0] for name, scores in decoded.items()}
    chrfs = [scores[1] for scores in decoded.values() if scores[1] is not None]
    return DevScores(
        bleu=sum(bleus.values()) / len(bleus),
        perplexity=perplexity(total, tokens),
        directions=bleus if len(bleus) > 1 else {},
        chrf=sum(chrfs) / len(chrfs) if chrfs else None,
    )


def decoded_scores(model: Searchable, pipeline: Pipeline, dev: DevText, recipe: Recipe) -> tuple[float, float | None]:
    """Return BLEU and, if the recipe selects by it, chrF of the dev text, decoded with its validation beam.

    UNKs are not replaced. Model and pipeline are in use for the direction of the text.
    """
    settings = recipe.search.model_copy(
        update={"beam_size": recipe.training.validation_beam_size, "replace_unknown": False}
    )
    found = Translator(model, pipeline, settings).translate(dev.source, more=dev.more_sources, scored=False)
    texts = [translation.text for translation in found]
    by_chrf = recipe.training.select_by == "chrf"
    return (
        bleu(texts, dev.references, default_tokenizer(pipeline.target.language)).value,
        chrf(texts, dev.references).value if by_chrf else None,
    )


def text_perplexity(
    model: Trainable,
    pipeline: Pipeline,
    source: Sequence[str],
    target: Sequence[str],
    more: Sequence[Sequence[str]] = (),
) -> tuple[float, int]:
    """Return the perplexity of a text per target token, without label smoothing, and how many are scored as UNK.

    They are those out of vocabulary and those whose type may not be produced. Model and pipeline are in use for the
    direction of the text.

    Args:
        source, target: lines of the text.
        more: those of the other sources, if the model reads several.
    """
    total, tokens, unknown = _negative_log_likelihood(model, pipeline, [source, *more], target)
    return perplexity(total, tokens), unknown


@torch.no_grad()
def _negative_log_likelihood(
    model: Trainable, pipeline: Pipeline, sources: Sequence[Sequence[str]], target: Sequence[str]
) -> tuple[float, int, int]:
    """Return the negative log-likelihood of a text, its number of target tokens, and how many are scored as UNK."""
    was_training = model.training
    cross_entropy = training_objective(model, smoothing=0.0).eval()
    source_ids, target_ids = pipeline.encode_sources(sources), pipeline.encode_target(target)
    sides = target_ids, *source_ids
    total, tokens = 0.0, 0
    most = min(_BATCH_TOKENS, _BATCH_LOGITS // pipeline.target.size)
    for batch in sorted_batches([max(map(len, row)) for row in zip(*sides, strict=True)], most):
        target_batch, first, *more = (pad([ids[i] for i in batch]) for ids in sides)
        pairs = batch_of(first, target_batch, more_sources=tuple(more))
        loss = cross_entropy(on_device(pairs, model.device))
        total += loss.nll.item()
        tokens += sum(len(target_ids[i]) for i in batch)
    model.train(was_training)
    known = pipeline.target_allowed.copy()
    known[UNK] = False
    return total, tokens, sum(not known[token] for ids in target_ids for token in ids)


@torch.no_grad()
def g_values(model: TranslationModel) -> list[dict[str, Any]]:
    """Return g of every ScaleNorm, with its sublayer's position in the model (thesis Figures 3.6, 3.7)."""
    norms = [(sublayer, model.get_submodule(sublayer.name)) for sublayer in model.sublayers()]
    return [{**sublayer._asdict(), "g": norm.g.item()} for sublayer, norm in norms if isinstance(norm, ScaleNorm)]


@torch.no_grad()
def embedding_norms(model: Inspectable) -> dict[str, np.ndarray]:
    """Return the norm of every word vector, (types,), by its use (thesis Figure 3.2)."""
    return {use: vectors.norm(dim=1).float().cpu().numpy() for use, vectors in model.embeddings().items()}
