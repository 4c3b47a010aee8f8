"""Dev BLEU of decoded text, and dev perplexity."""

from collections.abc import Sequence

import torch

from nmtlab.evaluation.perplexity import perplexity
from nmtlab.evaluation.scores import bleu, default_tokenizer
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.recipe import Recipe
from nmtlab.text.batch import batch_of
from nmtlab.text.batches import pad, sorted_batches
from nmtlab.text.inspection import DevText
from nmtlab.text.pipeline import Pipeline
from nmtlab.training.objective import training_objective
from nmtlab.translation import Translator

_BATCH_TOKENS = 4096


def dev_bleu(model: TranslationModel, pipeline: Pipeline, dev: DevText, recipe: Recipe) -> float:
    """Return sacrebleu's BLEU on the dev text, decoded with the recipe's validation beam; UNKs are not replaced."""
    settings = recipe.search.model_copy(
        update={"beam_size": recipe.training.validation_beam_size, "replace_unknown": False}
    )
    translations = Translator(model, pipeline, settings).translate(dev.source)
    texts = [translation.text for translation in translations]
    return bleu(texts, dev.references, default_tokenizer(recipe.corpus.target)).value


@torch.no_grad()
def text_perplexity(
    model: TranslationModel, pipeline: Pipeline, source: Sequence[str], target: Sequence[str]
) -> tuple[float, int]:
    """Return the perplexity of a text per target token, without label smoothing, and its number of unseen tokens.

    A token is unseen if its type may not be produced; it is scored as UNK.
    """
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
    allowed = pipeline.target_allowed
    unseen = sum(not allowed[token] for ids in target_ids for token in ids)
    return perplexity(total, tokens), unseen
