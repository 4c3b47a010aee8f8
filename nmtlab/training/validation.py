"""Dev BLEU of decoded text, and dev perplexity."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from nmtlab.evaluation.scores import bleu, default_tokenizer, perplexity
from nmtlab.models.interface import TranslationModel, on_device
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


class DevScores(NamedTuple):
    """The scores of one evaluation.

    Args:
        bleu: the mean over directions.
        perplexity: over all dev text.
        directions: direction, such as `gl-en`, -> BLEU; empty if there is only one.
    """

    bleu: float
    perplexity: float
    directions: dict[str, float]


def dev_scores(
    model: TranslationModel, pipeline: Pipeline, dev: Mapping[Direction, DevText], recipe: Recipe
) -> DevScores:
    """Return the scores of the dev text of each direction, one or more."""
    bleu, total, tokens = {}, 0.0, 0
    for direction, text in dev.items():
        directed = model.directed(*direction), pipeline.directed(*direction)
        bleu["-".join(direction)] = dev_bleu(*directed, text, recipe)
        more, scored, _ = _negative_log_likelihood(*directed, text.source, text.references[0])
        total, tokens = total + more, tokens + scored
    mean = sum(bleu.values()) / len(bleu)
    return DevScores(mean, perplexity(total, tokens), bleu if len(bleu) > 1 else {})


def dev_bleu(model: TranslationModel, pipeline: Pipeline, dev: DevText, recipe: Recipe) -> float:
    """Return sacrebleu's BLEU on the dev text, decoded with the recipe's validation beam; UNKs are not replaced.

    Model and pipeline are in use for the direction of the text.
    """
    settings = recipe.search.model_copy(
        update={"beam_size": recipe.training.validation_beam_size, "replace_unknown": False}
    )
    translations = Translator(model, pipeline, settings).translate(dev.source)
    texts = [translation.text for translation in translations]
    return bleu(texts, dev.references, default_tokenizer(pipeline.target.language)).value


def text_perplexity(
    model: TranslationModel, pipeline: Pipeline, source: Sequence[str], target: Sequence[str]
) -> tuple[float, int]:
    """Return the perplexity of a text per target token, without label smoothing, and how many are scored as UNK.

    They are those out of vocabulary and those whose type may not be produced. Model and pipeline are in use for the
    direction of the text.
    """
    total, tokens, unknown = _negative_log_likelihood(model, pipeline, source, target)
    return perplexity(total, tokens), unknown


@torch.no_grad()
def _negative_log_likelihood(
    model: TranslationModel, pipeline: Pipeline, source: Sequence[str], target: Sequence[str]
) -> tuple[float, int, int]:
    """Return the negative log-likelihood of a text, its number of target tokens, and how many are scored as UNK."""
    was_training = model.training
    cross_entropy = training_objective(model, smoothing=0.0).eval()
    source_ids, target_ids = pipeline.encode_source(source), pipeline.encode_target(target)
    total, tokens = 0.0, 0
    for batch in sorted_batches(
        [max(map(len, both)) for both in zip(source_ids, target_ids, strict=True)], _BATCH_TOKENS
    ):
        source_batch, target_batch = (pad([ids[i] for i in batch]) for ids in (source_ids, target_ids))
        loss = cross_entropy(on_device(batch_of(source_batch, target_batch), model.device))
        total += loss.nll.item()
        tokens += sum(len(target_ids[i]) for i in batch)
    model.train(was_training)
    known = pipeline.target_allowed.copy()
    known[UNK] = False
    return total, tokens, sum(not known[token] for ids in target_ids for token in ids)
