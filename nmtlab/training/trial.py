"""A short training at a constant learning rate, without a run: does it converge, and does the model use its source?"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from nmtlab.device import choose_device
from nmtlab.models.build import model_for
from nmtlab.models.interface import Trainable, on_device
from nmtlab.recipe import Recipe
from nmtlab.text.batching.batch import Batch
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.objective import training_objective
from nmtlab.training.parallel import Group
from nmtlab.training.step import Stepper
from nmtlab.training.stream import BatchStream


class Trial(NamedTuple):
    """The result of a short training.

    Args:
        losses: mean negative log-likelihood of each update, in nats per target token.
        first_gradient: norm of the first update's gradient.
        source_gain: of the trained model on the held-out pairs (`source_gain`); NaN if it diverged.
        diverged: whether the last loss or gradient norm was not finite.
    """

    losses: list[float]
    first_gradient: float
    source_gain: float
    diverged: bool


def short_training(
    recipe: Recipe,
    pipeline: Pipeline,
    mixture: Mixture,
    held_out: Sequence[Batch[np.ndarray]],
    rate: float,
    updates: int,
) -> Trial:
    """Train a model for some updates, or until it diverges.

    Args:
        recipe: model, batches, loss, noise, clipping and seed; its schedule is ignored.
        held_out: pairs on which the use of the source is measured.
    """
    settings = recipe.training
    torch.manual_seed(settings.seed)
    model = model_for(recipe, pipeline).to(choose_device(recipe.machine))
    stepper = Stepper(model, recipe, pipeline, Group())
    batches = Batches(mixture, settings.batch_tokens, settings.seed, max_sentences=settings.batch_sentences)
    stream, losses, first = BatchStream(batches), [], math.nan
    for step in range(1, updates + 1):
        made = stepper.update(step, stream.take(settings.accumulate), rate)
        losses.append(made.nll.item() / made.counted_tokens)
        first = made.norm.item() if step == 1 else first
        if not (math.isfinite(losses[-1]) and math.isfinite(made.norm)):
            return Trial(losses, first, math.nan, diverged=True)
    return Trial(losses, first, source_gain(model, held_out), diverged=False)


@torch.no_grad()
def source_gain(model: Trainable, batches: Iterable[Batch[np.ndarray]]) -> float:
    """Return how much worse a model predicts targets whose source is that of another sentence, in nats per token.

    A model of the target alone has 0. Sources are exchanged within a batch, whose sentences have similar lengths, so
    that the length of the source is no clue.

    Args:
        model: its mode, training or evaluation, is kept; it is evaluated without dropout.
        batches: of held-out pairs; those with a single pair are left out.

    Returns:
        The mean negative log-likelihood with exchanged sources, less that with the true ones; NaN without pairs.
    """
    was_training = model.training
    model.eval()
    objective, difference, tokens = training_objective(model, smoothing=0.0), 0.0, 0
    for batch in batches:
        if batch.rows == 1:
            continue
        true = on_device(batch, model.device)
        exchanged = replace(true, source=true.source.roll(1, 0))
        difference += (objective(exchanged).nll - objective(true).nll).item()
        tokens += batch.target_tokens
    model.train(was_training)
    return difference / tokens if tokens else float("nan")
