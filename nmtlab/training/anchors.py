"""What keeps a training near its parent's weights: penalties on leaving them, tune-out, and zeros that stay."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from nmtlab.models.interface import Trainable, on_device
from nmtlab.recipe.transfer import TransferSettings
from nmtlab.text.batching.batch import Batch
from nmtlab.training.objective import Loss, sentence_log_probs

PAIRS = 1000
"""Most sentence pairs of the parent's text that the Fisher information is estimated on."""

_START, _FISHER = "start", "fisher"


class _Held:
    """Parameters, by name, and what `anchored` has described of those that a parent has."""

    def __init__(self, parameters: Mapping[str, nn.Parameter]) -> None:
        self.parameters = parameters
        self.tensors: Mapping[str, Tensor] = {}

    def hold(self, tensors: Mapping[str, Tensor]) -> None:
        """Hold what `anchored` has described: tensors of the shapes of the parameters, on their device."""
        self.tensors = tensors


class Anchor(_Held):
    """λ/2 Σ F_i (θ_i - θ₀_i)², of the weights that a training went on from: L2 or EWC (Kirkpatrick et al. 2017).

    Of weight decay as a term, θ₀ is 0.

    It is added to the loss of an update, once, however many batches and processes the update has.

    Args:
        name: as in `TransferSettings.anchor`; its value is logged under it, without λ.
        weight: λ.
        parameters: the model's trained parameters, by name.
    """

    def __init__(self, name: str, weight: float, parameters: Mapping[str, nn.Parameter]) -> None:
        super().__init__(parameters)
        self.name, self.weight = name, weight

    @torch.no_grad()
    def pull(self, tokens: float) -> Loss:
        """Add its gradient to those of the parameters, and return its part of a loss that is divided by `tokens`."""
        value = torch.zeros((), device=next(iter(self.parameters.values())).device)
        for name, parameter in self.parameters.items():
            if (start := self.tensors.get(f"{_START}.{name}")) is None:
                continue
            change = parameter if self.name == "decay" else parameter - start
            fisher = self.tensors.get(f"{_FISHER}.{name}")
            slope = change if fisher is None else change * fisher
            value = value + (change * slope).sum() / 2
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad.add_(slope, alpha=self.weight)
        return Loss(self.weight * tokens * value, {self.name: tokens * value})


class TuneOut(_Held):
    """Dropout of what each weight has changed: θ₀ + m (θ - θ₀) / (1 - p), with one mask m an update.

    It is the tune-out of Miceli Barone et al. (2017), drawn for each weight as in mixout (Lee et al. 2020).

    Args:
        share: p, the share of the changes that an update leaves out, from 0 to below 1.
        parameters: the model's trained parameters, by name.
    """

    def __init__(self, share: float, parameters: Mapping[str, nn.Parameter]) -> None:
        super().__init__(parameters)
        self.share = share

    @contextmanager
    def applied(self, seed: int) -> Iterator[None]:
        """Leave out a share of the changes; at the end, put them back, and make the gradients those of the weights.

        Args:
            seed: of the mask, which every process of a training draws alike.
        """
        whole, masks = {}, {}
        draw = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                if (start := self.tensors.get(f"{_START}.{name}")) is None:
                    continue
                whole[name] = parameter.detach().clone()
                masks[name] = (torch.rand(parameter.shape, generator=draw) >= self.share).to(parameter.device)
                parameter.sub_(start).mul_(masks[name]).div_(1 - self.share).add_(start)
        try:
            yield
        finally:
            with torch.no_grad():
                for name, values in whole.items():
                    parameter = self.parameters[name]
                    parameter.copy_(values)
                    if parameter.grad is not None:
                        parameter.grad.mul_(masks[name]).div_(1 - self.share)


class Zeros:
    """The values that are 0 in the matrices of a pruned run, and stay 0 (See, Luong and Manning 2016).

    A matrix that is 0 everywhere has just been drawn, as those of adapters, and holds none.

    Args:
        parameters: the model's trained parameters, by name, which have their first values when `hold` is first called.
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter]) -> None:
        self.parameters = parameters

    @torch.no_grad()
    def hold(self) -> None:
        """Remove their part from the gradients; without momentum from before, an update leaves them where they are."""
        for name, zeros in self._zeros.items():
            if (gradient := self.parameters[name].grad) is not None:
                gradient.masked_fill_(zeros, 0)

    @property
    def any(self) -> bool:
        """Whether there are some."""
        return bool(self._zeros)

    @cached_property
    def _zeros(self) -> dict[str, Tensor]:
        zeros = {name: parameter.detach() == 0 for name, parameter in self.parameters.items() if parameter.dim() > 1}
        return {name: some for name, some in zeros.items() if some.any() and not some.all()}


def anchor_of(settings: TransferSettings, model: nn.Module) -> Anchor | None:
    """Return the anchor of a model's trained parameters, which holds nothing yet; None if there is to be none."""
    if settings.anchor == "none":
        return None
    return Anchor(settings.anchor, settings.anchor_weight, _trained(model))


def tune_out_of(settings: TransferSettings, model: nn.Module) -> TuneOut | None:
    """Return the tune-out of a model's trained parameters, which holds nothing yet; None if there is to be none."""
    return TuneOut(settings.tune_out, _trained(model)) if settings.tune_out else None


def _trained(model: nn.Module) -> dict[str, nn.Parameter]:
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def anchored(
    model: Trainable, names: Iterable[str], text: Iterable[Batch[np.ndarray]] | None = None
) -> dict[str, Tensor]:
    """Return what holds some of a model's parameters: their values, and their Fisher information on a text.

    Args:
        names: of the parameters.
        text: as of `fisher_information`; None for an anchor that weights all parameters alike.
    """
    parameters = {name: model.get_parameter(name) for name in names}
    held = {f"{_START}.{name}": parameter.detach().clone() for name, parameter in parameters.items()}
    if text is None:
        return held
    found = fisher_information(model, parameters, text)
    return held | {f"{_FISHER}.{name}": values for name, values in found.items()}


def fisher_information(
    model: Trainable, parameters: Mapping[str, nn.Parameter], text: Iterable[Batch[np.ndarray]]
) -> dict[str, Tensor]:
    """Return the diagonal of the empirical Fisher information: the mean of (∂ log p(y | x) / ∂θ)² over sentence pairs.

    Args:
        model: it is used without dropout.
        parameters: by name.
        text: batches of one pair each, one or more.
    """
    was_training, pairs = model.training, 0
    model.eval()
    sums = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
    for batch in text:
        pairs += 1
        log_prob = sentence_log_probs(model, on_device(batch, model.device)).sum()
        gradients = torch.autograd.grad(log_prob, list(parameters.values()), allow_unused=True)
        for total, gradient in zip(sums.values(), gradients, strict=True):
            if gradient is not None:
                total.addcmul_(gradient, gradient)
    model.train(was_training)
    return {name: total / pairs for name, total in sums.items()}
