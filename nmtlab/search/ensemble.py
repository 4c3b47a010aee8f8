"""Several models that translate as one: their distributions are averaged at each step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.models.interface import Record, Searchable, State, Step, TranslationModel

Mean = Literal["arithmetic", "geometric"]


@dataclass(frozen=True)
class _States:
    """The state of each model."""

    states: tuple[State, ...]

    def select(self, rows: Tensor) -> "_States":
        """Return the states of other slots; see `interface.State`."""
        return _States(tuple(state.select(rows) for state in self.states))


class Ensemble(Searchable):
    """What a search asks of a model, answered by several with the same vocabularies.

    Args:
        models: in evaluation mode, one or more.
        mean: of probabilities: arithmetic, or geometric (of log-probabilities, normalised anew).

    Raises:
        RunError: the models may not produce the same types.
    """

    def __init__(self, models: Sequence[TranslationModel], mean: Mean = "arithmetic") -> None:
        self.models, self.mean = list(models), mean
        self.output_types = models[0].output_types
        self.training = False
        if any(not torch.equal(model.output_types, self.output_types) for model in self.models):
            raise RunError("an ensemble of runs that do not produce the same types", "train them on one vocabulary")
        if any(model.plans_length for model in self.models):
            raise RunError("an ensemble with a run that plans lengths", "leave it out: it has no end of its own")

    def eval(self) -> "Ensemble":
        """Return itself: its models translate, and are not trained."""
        return self

    def train(self, mode: bool = True) -> "Ensemble":
        """Return itself, as `eval`."""
        return self

    def attendable(self, source: Tensor) -> Tensor:
        """Return which tokens of the source all models can attend to; see `TranslationModel.attendable`."""
        return torch.stack([model.attendable(source) for model in self.models]).all(0)

    def encode(self, source: Tensor) -> list[Any]:
        """Return each model's memory."""
        return [model.encode(source) for model in self.models]

    def start(self, memory: list[Any], length: None = None) -> _States:
        """Return each model's state before the first token; there are no lengths to plan."""
        return _States(tuple(model.start(own) for model, own in zip(self.models, memory, strict=True)))

    def step(self, state: _States, token: Tensor, record: bool = False, attention: Tensor | None = None) -> Step:
        """Read one token a slot and score the next one; the record is the mean of the models' last layers and heads."""
        steps = [
            model.step(own, token, record, attention) for model, own in zip(self.models, state.states, strict=True)
        ]
        each = torch.stack([step.log_probs for step in steps])
        if self.mean == "arithmetic":
            log_probs = each.logsumexp(0) - math.log(len(steps))
        else:
            log_probs = each.mean(0).log_softmax(-1)
        seen = [step.record.attention[-1:].mean(-2, keepdim=True) for step in steps if step.record]
        return Step(
            log_probs, _States(tuple(step.state for step in steps)), Record(torch.stack(seen).mean(0)) if seen else None
        )
