"""Does a model use its source, or does it model the target language alone?"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import torch

from nmtlab.models.interface import Trainable, on_device
from nmtlab.text.batching.batch import Batch
from nmtlab.training.objective import training_objective


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
