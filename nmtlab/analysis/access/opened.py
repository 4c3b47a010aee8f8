"""A run's model, loaded for queries about single words.

Every analysis that takes a `system` accepts a run or a translator returned by `open_system`; with a translator, the
weights are loaded only once for many queries.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmtlab.errors import NmtlabError
from nmtlab.models.interface import WORD_TERMS, Trainable, TranslationModel, on_device
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS, UNK
from nmtlab.translation import Translator

RunOrSystem = Run | Translator


def opened(system: RunOrSystem) -> Translator:
    """Return a run's best checkpoint as a translator; a translator is returned unchanged.

    Raises:
        RunError: the run is phrase-based, so that it has no word vectors, or has no weights.
    """
    return open_model(system) if isinstance(system, Run) else system


def type_of(side: Side, word: str) -> int:
    """Return the id of a type: a whole word, a piece as written, `</s>` or `<unk>`.

    Raises:
        NmtlabError: the vocabulary has no such type.
    """
    if word in (SPECIALS[EOS], SPECIALS[UNK]):
        return SPECIALS.index(word)
    for form in (side.tokenizer.whole(word), word):
        number = side.vocabulary.ids([form])[0]
        if number != UNK:
            return number
    pieces = side.tokenizer.split(word)
    remedy = f"choose one of its pieces: {' '.join(pieces)}" if len(pieces) > 1 else "choose a word of the vocabulary"
    raise NmtlabError(f"word {word!r}: not in the {side.language} vocabulary", remedy)


def output_type_of(system: Translator, word: str) -> int:
    """Return the id of a type that a system can produce in the target language in use.

    Raises:
        NmtlabError: the vocabulary has no such type, or the system cannot produce it.
    """
    pipeline = system.pipeline
    number = type_of(pipeline.target, word)
    if not pipeline.target_allowed[number]:
        remedy = f"choose a word of the training text in {pipeline.target.language}"
        raise NmtlabError(f"word {word!r}: the system cannot produce it", remedy)
    return number


def source_vectors(system: Translator, *languages: str) -> Tensor:
    """Return the source vectors of a system's types, (types, D), in the first of some languages that it reads.

    Without private units (thesis 4.2) they are the same in all languages.

    Args:
        languages: codes; if it reads none of them, the vectors are those of the source language in use.
    """
    source, target = system.languages
    read = [code for code in languages if code in system.pipeline.source.languages]
    return system.model.directed(next(iter(read), source), target).embeddings()["source"]


@torch.inference_mode()
def output_vectors(model: TranslationModel) -> Tensor:
    """Return the vectors of the types that a model can produce, (C, D), as its logits' inner products use them."""
    products = model.inner_products(any_state(model))
    return torch.cat([products[name].rows for name in WORD_TERMS if name in products], dim=1)


def any_state(model: Trainable) -> Tensor:
    """Return a decoder state, (1, E), for what is the same in every state: word vectors and biases."""
    source = pad([[UNK, EOS]])
    batch = batch_of(source, pad([[UNK]]), more_sources=(source,) * (model.sources - 1))
    with torch.inference_mode():
        return model(on_device(batch, model.device))


def scored_ids(model: Trainable, target: list[int]) -> list[int]:
    """Return the ids of a target that a model scores: all of them, but without the final EOS if it plans lengths."""
    return target[:-1] if model.plans_length else target


def forced_states(model: Trainable, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]) -> Tensor:
    """Return the decoder states under forced targets, (tokens, E), concatenated over sentences.

    Args:
        source: ids of each sentence, ending in EOS.
        target: ids of each sentence as from `scored_ids`; the state of a token depends on the tokens before it and, if
            the model plans lengths, on their total number.
    """
    with torch.inference_mode():
        return model(on_device(batch_of(pad(source), pad(target)), model.device))
