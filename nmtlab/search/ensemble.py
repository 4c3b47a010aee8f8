"""Ensembles: several models that translate as one, averaging their distributions at each step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.models.interface import Memory, Searchable, State, Step, TranslationModel, encoded
from nmtlab.models.several import Joint

Mean = Literal["arithmetic", "geometric"]


@dataclass(frozen=True)
class _States:
    """The state of each model; all have the same output ids."""

    states: tuple[State, ...]

    @property
    def output_ids(self) -> Tensor:
        return self.states[0].output_ids

    def select(self, rows: Tensor) -> "_States":
        """Return the states of other slots; see `interface.State`."""
        return _States(tuple(state.select(rows) for state in self.states))

    def replace(self, sentences: Tensor, other: "_States", others: Tensor) -> "_States":
        """Return the states with other sentences in place of some; see `interface.State`."""
        pairs = zip(self.states, other.states, strict=True)
        return _States(tuple(mine.replace(sentences, theirs, others) for mine, theirs in pairs))


@dataclass(frozen=True)
class _Memories:
    """Each model's memory of the sources."""

    memories: tuple[Memory, ...]

    @property
    def lengths(self) -> Tensor:
        return self.memories[0].lengths

    @property
    def mask(self) -> Tensor:
        """(B, S) bool: the positions that all models can attend to."""
        return torch.stack([memory.mask for memory in self.memories]).all(0)

    @property
    def joint(self) -> Joint | None:
        return self.memories[0].joint

    def select(self, sentences: Tensor) -> "_Memories":
        """Return the memories of some sentences."""
        return _Memories(tuple(memory.select(sentences) for memory in self.memories))


class Ensemble(Searchable[_Memories, _States]):
    """Several models with the same vocabularies that are searched as one.

    Args:
        models: in evaluation mode, one or more.
        mean: of probabilities: arithmetic, or geometric (of log-probabilities, renormalised).

    Raises:
        RunError: the models produce different types, read different sources, or one of them plans lengths.
    """

    def __init__(self, models: Sequence[TranslationModel], mean: Mean = "arithmetic") -> None:
        self.models, self.mean = list(models), mean
        if any(not torch.equal(model.output_ids, models[0].output_ids) for model in self.models):
            raise RunError("ensemble: its runs produce different types", "train them on one vocabulary")
        if any(model.plans_length for model in self.models):
            raise RunError("ensemble: one of its runs plans lengths and generates no EOS", "leave that run out")
        self.sources = self.models[0].sources
        if any(model.sources != self.sources for model in self.models):
            raise RunError("ensemble: its runs read different numbers of sources", "choose runs of the same sources")
        if self.sources > 1 and len({type(model) for model in self.models}) > 1:
            raise RunError("ensemble: its runs of several sources are of two families", "choose runs of one family")
        self.attention_temperature, self.int8 = self.models[0].attention_temperature, self.models[0].int8
        self.longest = min((model.longest for model in self.models if model.longest is not None), default=None)

    def directed(self, source: str, target: str) -> "Ensemble":
        """Return the ensemble with another default direction."""
        return Ensemble([model.directed(source, target) for model in self.models], self.mean)

    def tempered(self, temperature: float) -> "Ensemble":
        """Return the ensemble of the same models at a temperature of attention."""
        return Ensemble([model.tempered(temperature) for model in self.models], self.mean)

    def in_int8(self, rounded: bool = True) -> "Ensemble":
        """Return the ensemble of the same models in 8-bit integers, or not."""
        return Ensemble([model.in_int8(rounded) for model in self.models], self.mean)

    @property
    def device(self) -> torch.device:
        """The device of the first model."""
        return self.models[0].device

    def encode(self, source: Tensor, language: str | None = None, *, more: Sequence[Tensor] = ()) -> _Memories:
        """Return each model's memory."""
        return _Memories(tuple(encoded(model, (source, *more), language) for model in self.models))

    def start(
        self,
        memory: _Memories,
        language: str | None = None,
        length: Tensor | None = None,
        types: Tensor | None = None,
    ) -> _States:
        """Return each model's state before the first token; lengths are never planned."""
        pairs = zip(self.models, memory.memories, strict=True)
        return _States(tuple(model.start(model_memory, language, types=types) for model, model_memory in pairs))

    def step(
        self, state: _States, token: Tensor, record: bool = False, attention: Tensor | None = None
    ) -> Step[_States]:
        """Read one token per slot and score the next; attention is the mean of the models' last layers and heads."""
        steps = [
            model.step(model_state, token, record, attention)
            for model, model_state in zip(self.models, state.states, strict=True)
        ]
        each = torch.stack([step.log_probs for step in steps])
        if self.mean == "arithmetic":
            log_probs = each.logsumexp(0) - math.log(len(steps))
        else:
            log_probs = each.mean(0).log_softmax(-1)
        seen = [
            step.attention[-1:].mean(-2, keepdim=True)
            for step in steps
            if step.attention is not None and len(step.attention)
        ]
        states = _States(tuple(step.state for step in steps))
        return Step(log_probs, states, torch.stack(seen).mean(0) if seen else steps[0].attention)
