"""A run's model, opened to be asked about single words.

Every analysis that takes a `system` takes a run, or a translator that `open_system` has returned, so that a person who
asks many questions waits for the weights only once.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from nmtlab.errors import NmtlabError
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.batch import batch_of
from nmtlab.text.batches import pad
from nmtlab.text.pipeline import Side
from nmtlab.text.vocabulary import EOS, SPECIALS, UNK
from nmtlab.translation import Translator

RunOrSystem = Run | Translator


def opened(system: RunOrSystem) -> Translator:
    """Return a run's best checkpoint as a translator, or the translator that was given.

    Raises:
        RunError: a phrase-based run, which has no word vectors, or one without weights.
    """
    return open_model(system) if isinstance(system, Run) else system


def type_of(side: Side, word: str) -> int:
    """Return the id of a word: of the type that is all of it, of a piece as written, or of `</s>` and `<unk>`.

    Raises:
        NmtlabError: there is no such type.
    """
    if word in (SPECIALS[EOS], SPECIALS[UNK]):
        return SPECIALS.index(word)
    for form in (side.tokenizer.whole(word), word):
        number = side.vocabulary.ids([form])[0]
        if number != UNK:
            return number
    pieces = side.tokenizer.split(word)
    remedy = f"ask for one of its pieces: {' '.join(pieces)}" if len(pieces) > 1 else "ask for one that training kept"
    raise NmtlabError(f"word {word!r}: not a type of the {side.language} vocabulary", remedy)


def scored_ids(model: TranslationModel, target: list[int]) -> list[int]:
    """Return the ids of a target that a model says: EOS, the last, is not said where lengths are planned."""
    return target[:-1] if model.plans_length else target


def forced_states(model: TranslationModel, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]) -> Tensor:
    """Return the decoder's states under given targets, (tokens, E), the tokens of all sentences one behind the other.

    Args:
        model: in evaluation mode.
        source: ids of each sentence, EOS the last.
        target: ids of each sentence as from `scored_ids`; the state of a token has read those before it and, where
            lengths are planned, knows how many there are.
    """
    with torch.inference_mode():
        return model(on_device(batch_of(pad(source), pad(target)), model.device))
