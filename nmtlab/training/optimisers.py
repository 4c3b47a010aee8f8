"""Optimisers (thesis 3.2.5.3, 3.3.3.1)."""

from collections.abc import Iterable

import torch
from torch import nn

from nmtlab.recipe.training import TrainingSettings


def optimiser_for(
    settings: TrainingSettings, parameters: Iterable[nn.Parameter]
) -> tuple[torch.optim.Optimizer, tuple[str, ...]]:
    """Return the recipe's optimiser, its rate still to be set, and the names of what it keeps for each parameter."""
    if settings.optimiser == "adadelta":
        return torch.optim.Adadelta(parameters, rho=0.95, eps=1e-6), ("square_avg", "acc_delta")
    return torch.optim.Adam(parameters, betas=(0.9, 0.999), eps=1e-8, fused=True), ("exp_avg", "exp_avg_sq")
