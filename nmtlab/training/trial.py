"""A short training at a constant learning rate, without a run."""

import math
from itertools import islice
from typing import NamedTuple

import torch

from nmtlab.device import choose_device
from nmtlab.models.interface import on_device
from nmtlab.recipe import Recipe
from nmtlab.text.batches import Batches
from nmtlab.text.mixture import Mixture
from nmtlab.text.pipeline import Pipeline
from nmtlab.training.data import BatchStream
from nmtlab.training.objective import training_objective
from nmtlab.training.optimisers import optimiser_for
from nmtlab.training.prepare import model_for


class Trial(NamedTuple):
    """The result of a short training.

    Args:
        losses: mean negative log-likelihood of each update, in nats per target token.
        first_gradient: norm of the first update's gradient.
        diverged: whether the last loss or gradient norm was not finite.
    """

    losses: list[float]
    first_gradient: float
    diverged: bool


def short_training(recipe: Recipe, pipeline: Pipeline, mixture: Mixture, rate: float, updates: int) -> Trial:
    """Train a model for some updates, or until it diverges.

    Args:
        recipe: model, batches, loss, clipping and seed; its schedule is ignored.
        pipeline: has the vocabularies.
        mixture: the training text.
        rate: learning rate of every update.
        updates: number of updates, at most.
    """
    settings, device = recipe.training, choose_device(recipe.machine)
    torch.manual_seed(settings.seed)
    model = model_for(recipe, pipeline).to(device)
    objective, parameters = training_objective(model, settings.label_smoothing), list(model.parameters())
    optimiser, _ = optimiser_for(settings, parameters)
    for group in optimiser.param_groups:
        group["lr"] = rate
    losses, first = [], math.nan
    for batch in islice(BatchStream(Batches(mixture, settings.batch_tokens, settings.seed)), updates):
        loss = objective(on_device(batch, device))
        (loss.total / batch.target_tokens).backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, settings.clip_norm).item()
        first = norm if not losses else first
        losses.append(loss.nll.item() / batch.target_tokens)
        if not math.isfinite(losses[-1]) or not math.isfinite(norm):
            return Trial(losses, first, diverged=True)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return Trial(losses, first, diverged=False)
