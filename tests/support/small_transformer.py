"""Small Transformers of every combination of settings, in double precision, and three pairs of sentences."""

import itertools

import numpy as np
import pytest
import torch

from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import on_device
from nmtlab.models.transformer import Transformer
from nmtlab.recipe import TransformerSettings
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.segmentation.vocabulary import PAD

TYPES, D, FF, H = 15, 8, 20, 2
ALLOWED = np.array([i not in (0, 1, 8, 11) for i in range(TYPES)])
SOURCE = np.array([[5, 7, 4, 9, 2], [6, 8, 2, 0, 0], [14, 2, 0, 0, 0]])
TARGET = np.array([[9, 10, 5, 2], [13, 2, 0, 0], [4, 4, 2, 0]])
COMBINATIONS = list(itertools.product(("pre", "post"), ("layer", "scale", "rms"), (True, False)))

every_combination = pytest.mark.parametrize(("placement", "norm", "fixnorm"), COMBINATIONS)


def settings(placement: str = "pre", norm: str = "scale", fixnorm: bool = True, **more) -> TransformerSettings:
    sizes = {"d_model": D, "d_ff": FF, "heads": H, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
    return TransformerSettings(placement=placement, norm=norm, fixnorm=fixnorm, **(sizes | more))


def transformer(*choices, joint: bool = True, seed: int = 0, **more) -> Transformer:
    """Return a float64 model with every parameter moved from its initial value."""
    torch.manual_seed(seed)
    model = build_model(settings(*choices, **more), ModelText(TYPES if joint else 17, ALLOWED, joint)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, dtype=torch.float64), alpha=0.3)
    return model


def pairs() -> Batch:
    return on_device(batch_of(SOURCE, TARGET))


def log_probs(model: Transformer, batch: Batch) -> torch.Tensor:
    """Return log-probabilities at the unpadded positions, by the parallel forward pass."""
    return model.output(model(batch)).log_softmax(-1)


def stepwise(model: Transformer, batch: Batch, record: bool = False) -> torch.Tensor:
    """Return the same, decoded token by token."""
    state = model.start(model.encode(batch.source))
    columns = []
    for token in batch.target_input.T:
        step = model.step(state, token[:, None], record)
        columns.append(step.log_probs)
        state = step.state
    return torch.cat(columns, dim=1)[batch.target != PAD]
