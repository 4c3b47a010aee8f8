"""Adaptation of a model inside a document, to the corrections of the sentences before (Kothur et al. 2018)."""

import copy
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nmtlab.errors import NmtlabError
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.recipe import Recipe
from nmtlab.recipe.machine import MachineSettings
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.corpora.corpus import Pair
from nmtlab.text.corpora.lines import is_blank
from nmtlab.training.objective import sentence_log_probs
from nmtlab.training.parallel import Group
from nmtlab.training.step import Stepper
from nmtlab.translation import Translator


@dataclass(frozen=True)
class OnlineSettings:
    """How a model is adapted to each pair: learning rate and number of steps of SGD.

    The rates are those of the gradient of a sentence's loss, summed over its tokens, as in Nematus.
    """

    learning_rate: float = 0.01
    epochs: int = 5
    dictionary_learning_rate: float = 0.1
    dictionary_epochs: int = 5

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < math.inf:
                raise NmtlabError(f"{name.replace('_', ' ')} {value}: out of range", "give a finite number from 0")


class NotFiniteError(NmtlabError):
    """A learning rate so high that the loss is not finite any more."""


class OnlineModel:
    """A copy of a model that learns from pairs, one after the other.

    All weights learn, those that were frozen too, by the cross-entropy of the training, without teacher, anchor or
    risk, and with its dropout and clipping. Dropout depends on the seed of the training, the name and how many steps
    were made.

    Args:
        system: with the model, which stays as it is.
        recipe: of the model.
        name: of the document.
    """

    def __init__(self, system: Translator[TranslationModel], recipe: Recipe, name: str = "") -> None:
        model = copy.deepcopy(system.model).requires_grad_()
        if next(model.parameters()).element_size() < 4:
            model.float()  # small steps would be lost in half precision
        self.translator = Translator(model, system.pipeline, system.settings, system.lexicon)
        self._stepper = Stepper(model, _online(recipe, name), system.pipeline, Group())
        self._steps = 0
        model.requires_grad_(False)  # constant weights translate faster

    def translate(self, source: str) -> str:
        """Return the translation of a sentence."""
        return self.translator.translate([source])[0].text

    def log_probs(self, pairs: Sequence[Pair]) -> Tensor:
        """Return log p(target | source) of each pair, (pairs,)."""
        with torch.inference_mode():
            return sentence_log_probs(
                self.translator.model, on_device(self._batch(pairs), self.translator.model.device)
            )

    def learn(self, pairs: Sequence[Pair], rate: float, epochs: int) -> None:
        """Make a step of SGD on each pair, and that `epochs` times; a pair with a blank side teaches nothing.

        Raises:
            NotFiniteError: the loss is not finite after that; the model is then as it was before.
        """
        pairs = [pair for pair in pairs if not any(map(is_blank, pair))]
        if not (pairs and rate and epochs):
            return
        model = self.translator.model.requires_grad_().train()
        before = [parameter.detach().clone() for parameter in model.parameters()]
        finite = False
        try:
            for pair in epochs * pairs:
                self._steps += 1
                self._stepper.update(self._steps, [self._batch([pair])], rate)
            model.requires_grad_(False).eval()
            finite = bool(self.log_probs(pairs).isfinite().all())
        finally:
            model.requires_grad_(False).eval()
            if not finite:
                for parameter, values in zip(model.parameters(), before, strict=True):
                    parameter.copy_(values)
        if not finite:
            raise NotFiniteError(f"learning rate {rate:g}: the loss is not finite any more", "choose a smaller one")

    def _batch(self, pairs: Sequence[Pair]) -> Batch[np.ndarray]:
        pipeline, (sources, targets) = self.translator.pipeline, zip(*pairs, strict=True)
        return batch_of(*map(pad, pipeline.encode_pairs(sources, targets)))


def adapted(
    system: Translator[TranslationModel],
    recipe: Recipe,
    name: str,
    pairs: Sequence[Pair],
    settings: OnlineSettings = OnlineSettings(),
    dictionary: Sequence[Pair] = (),
) -> list[str]:
    """Return the translations of a document, each by a model that was adapted to all sentences before it.

    A document of one sentence is translated by the unadapted model.

    Args:
        system: the unadapted model, which stays as it is.
        recipe: of the model.
        name: of the document, on which dropout depends.
        pairs: the sentences of the document and their corrections.
        settings: learning rates and numbers of steps.
        dictionary: words and their translations, which are learned first.

    Raises:
        NotFiniteError: a learning rate is too high.
    """
    model = OnlineModel(system, recipe, name)
    if len(pairs) > 1:
        model.learn(dictionary, settings.dictionary_learning_rate, settings.dictionary_epochs)
    found = []
    for number, pair in enumerate(pairs, start=1):
        found.append(model.translate(pair[0]))
        if number < len(pairs):
            model.learn([pair], settings.learning_rate, settings.epochs)
    return found


def _online(recipe: Recipe, name: str) -> Recipe:
    """Return the recipe of a training that goes on with SGD in a document."""
    seed = int(np.random.SeedSequence((recipe.training.seed, zlib.crc32(name.encode()))).generate_state(1)[0])
    training = recipe.training.model_copy(
        update={"optimiser": "sgd", "loss_reduction": "sum", "seed": seed, "risk": "none", "guided_attention": 0.0}
    )
    return recipe.model_copy(update={"training": training, "machine": MachineSettings()})
