"""A moving average of the weights during a training."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from nmtlab.training.optimisers import saved_tensor

_AVERAGE = "average"


class MovingAverage:
    """The moving average θ̄_t = d θ̄_{t-1} + (1 - d) θ_t of parameters, d = min(1 - τ, (t + 1) / (t + 10)), as Marian's.

    Args:
        parameters: by name; θ̄_1 is their value after the first update.
        weight: τ, from 0 to below 1; 0 for no average.
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter], weight: float) -> None:
        self.parameters = parameters if weight else {}
        self.weight = weight
        self.averages: dict[str, Tensor] = {}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the parameters after an update, counted from 1."""
        decay = min(1 - self.weight, (step + 1) / (step + 10))
        for name, parameter in self.parameters.items():
            if name in self.averages:
                self.averages[name].lerp_(parameter, 1 - decay)
            else:
                self.averages[name] = parameter.detach().clone()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Give the parameters the values of their averages, and take them back in the end."""
        values = {name: self.parameters[name].detach().clone() for name in self.averages}
        self._set(self.averages)
        try:
            yield
        finally:
            self._set(values)

    def state(self) -> dict[str, Tensor]:
        """Return what `load` restores."""
        return {f"{_AVERAGE}.{name}": average for name, average in self.averages.items()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the averages after some updates.

        Raises:
            RunError: one is missing, or differs in shape or type from its parameter.
        """
        for name, parameter in self.parameters.items():
            self.averages[name] = saved_tensor(f"{_AVERAGE}.{name}", tensors, parameter).clone()

    @torch.no_grad()
    def _set(self, values: Mapping[str, Tensor]) -> None:
        for name, value in values.items():
            self.parameters[name].copy_(value)
