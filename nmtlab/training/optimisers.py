"""Optimisers (thesis 3.2.5.3, 3.3.3.1), and their state."""

from collections.abc import Collection, Iterable, Mapping

import torch
from torch import Tensor, nn

from nmtlab.errors import RunError
from nmtlab.recipe.training import TrainingSettings

_STEP = "step"
_REMEDY = "use the run's checkpoint, or train again"


def optimiser_for(
    settings: TrainingSettings, parameters: Iterable[nn.Parameter]
) -> tuple[torch.optim.Optimizer, tuple[str, ...]]:
    """Return the recipe's optimiser, with no learning rate set yet, and the names of its state for each parameter.

    AdamW decays all parameters, as those of torch and fairseq do.
    """
    if settings.optimiser == "adadelta":
        return torch.optim.Adadelta(parameters, rho=0.95, eps=1e-6), ("square_avg", "acc_delta")
    if settings.optimiser == "sgd":
        return torch.optim.SGD(parameters), ()
    if settings.optimiser == "nesterov":
        return torch.optim.SGD(parameters, momentum=0.99, nesterov=True), ("momentum_buffer",)
    kind = torch.optim.AdamW if settings.optimiser == "adamw" else torch.optim.Adam
    betas = settings.adam_beta1, settings.adam_beta2
    made = kind(parameters, betas=betas, eps=1e-8, weight_decay=settings.weight_decay, fused=True)
    return made, ("exp_avg", "exp_avg_sq")


def moments(
    optimiser: torch.optim.Optimizer, parameters: Mapping[str, nn.Parameter], kept: Collection[str], step: int
) -> dict[str, Tensor]:
    """Return the state that `load_moments` restores; arguments as there.

    A parameter of one language misses the updates of others: its number of updates is kept if it is not `step`.
    """
    found: dict[str, Tensor] = {}
    for name, parameter in parameters.items():
        state = optimiser.state[parameter]
        found |= {f"{key}.{name}": state.get(key, torch.zeros_like(parameter)) for key in kept}
        if _counts_updates(optimiser) and (made := state.get(_STEP, torch.zeros(()))) != step:
            found[f"{_STEP}.{name}"] = made
    return found


def load_moments(
    optimiser: torch.optim.Optimizer,
    parameters: Mapping[str, nn.Parameter],
    kept: Iterable[str],
    tensors: Mapping[str, Tensor],
    step: int,
) -> None:
    """Restore the state that an optimiser had at a step, from tensors named `KEPT.PARAMETER`.

    Shapes are checked here because fused optimisers read and write beyond the end of a state of another shape.

    Raises:
        RunError: a tensor is missing, or differs in shape or type from its parameter.
    """
    for name, parameter in parameters.items():
        state = {key: saved_tensor(f"{key}.{name}", tensors, parameter) for key in kept}
        if _counts_updates(optimiser):
            state[_STEP] = tensors.get(f"{_STEP}.{name}", torch.tensor(float(step))).to(parameter.device)
        optimiser.state[parameter] = state


def _counts_updates(optimiser: torch.optim.Optimizer) -> bool:
    return not isinstance(optimiser, torch.optim.SGD)


def saved_tensor(name: str, tensors: Mapping[str, Tensor], parameter: nn.Parameter) -> Tensor:
    """Return a tensor of a parameter's state, on its device; errors as of `load_moments`."""
    if name not in tensors:
        raise RunError(f"optimiser's {name!r}: missing", _REMEDY)
    tensor = tensors[name]
    if tensor.shape != parameter.shape or tensor.dtype != parameter.dtype:
        raise RunError(
            f"optimiser's {name!r}: {tensor.dtype} of shape {tuple(tensor.shape)}, but its parameter is "
            f"{parameter.dtype} of shape {tuple(parameter.shape)}",
            _REMEDY,
        )
    return tensor.to(parameter.device)
