"""Anchors: penalties on leaving the weights that a training went on from."""

from collections.abc import Iterable, Mapping

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


class Anchor:
    """λ/2 Σ F_i (θ_i - θ₀_i)², of the weights that a training went on from: L2 or EWC (Kirkpatrick et al. 2017).

    It is added to the loss of an update, once, however many batches and processes the update has.

    Args:
        name: under which its value is logged, without λ.
        weight: λ.
        parameters: the model's trained parameters, by name.
    """

    def __init__(self, name: str, weight: float, parameters: Mapping[str, nn.Parameter]) -> None:
        self.name, self.weight, self.parameters = name, weight, parameters
        self.tensors: dict[str, Tensor] = {}

    def hold(self, tensors: Mapping[str, Tensor]) -> None:
        """Hold the parameters that `anchored` has described."""
        of = {name: self.parameters[name.partition(".")[2]] for name in tensors}
        self.tensors = {name: tensor.to(of[name].device) for name, tensor in tensors.items()}

    @torch.no_grad()
    def pull(self, tokens: float) -> Loss:
        """Add its gradient to those of the parameters, and return its part of a loss that is divided by `tokens`."""
        value = torch.zeros((), device=next(iter(self.parameters.values())).device)
        for name, parameter in self.parameters.items():
            if (start := self.tensors.get(f"{_START}.{name}")) is None:
                continue
            change = parameter - start
            fisher = self.tensors.get(f"{_FISHER}.{name}")
            slope = change if fisher is None else change * fisher
            value = value + (change * slope).sum() / 2
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad.add_(slope, alpha=self.weight)
        return Loss(self.weight * tokens * value, {self.name: tokens * value})


def anchor_of(settings: TransferSettings, model: nn.Module) -> Anchor | None:
    """Return the anchor of a model's trained parameters, which holds nothing yet; None if there is to be none."""
    if settings.anchor == "none":
        return None
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    return Anchor(settings.anchor, settings.anchor_weight, trained)


def anchored(
    model: Trainable, names: Iterable[str], text: Iterable[Batch[np.ndarray]] | None = None
) -> dict[str, Tensor]:
    """Return what an anchor needs: the values of some of a model's parameters, and their Fisher information on a text.

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
