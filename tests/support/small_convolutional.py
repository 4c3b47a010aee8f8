"""Small convolutional models in double precision, and three pairs of sentences."""

import numpy as np
import torch
from torch import Tensor

from nmtlab.models.build import ModelText, build_model
from nmtlab.models.convolutional import ConvolutionalModel
from nmtlab.models.interface import on_device
from nmtlab.recipe import ConvSettings
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.segmentation.vocabulary import PAD

SOURCE_TYPES, TYPES, D = 13, 12, 6
ALLOWED = np.array([i not in (0, 1, 8) for i in range(TYPES)])
SOURCE = np.array([[5, 7, 4, 9, 2], [6, 8, 2, 0, 0], [11, 2, 0, 0, 0]])
TARGET = np.array([[9, 10, 5, 4, 7, 2], [11, 2, 0, 0, 0, 0], [4, 4, 2, 0, 0, 0]])
VARIANTS = {
    "plain": {},
    "wide": {"encoder_kernel": 5, "decoder_kernel": 4},
    "one position": {"encoder_kernel": 1, "decoder_kernel": 1},
    "separable": {"separable": True},
    "short table": {"max_positions": 2},
}


def convolutional(joint: bool = False, allowed=ALLOWED, **choices) -> ConvolutionalModel:
    """Return a float64 model with parameters far from their initial values."""
    sizes = {"d_model": D, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
    languages = (("de", "nl"), tuple(allowed)) if isinstance(allowed, dict) else ((), ())
    types = TYPES if joint else SOURCE_TYPES
    torch.manual_seed(0)
    model = build_model(ConvSettings(**(sizes | choices)), ModelText(types, allowed, joint, languages=languages))
    with torch.no_grad():
        for parameter in model.double().parameters():
            parameter.copy_(torch.randn(parameter.shape, dtype=torch.float64) * 0.5)
    return model.eval()


def pairs() -> Batch:
    return on_device(batch_of(SOURCE, TARGET))


def log_probs(model: ConvolutionalModel, batch: Batch) -> Tensor:
    """Return log-probabilities at the unpadded positions, by the parallel forward pass."""
    return model.output(model(batch)).log_softmax(-1)


def stepwise(model: ConvolutionalModel, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the same, decoded token by token, and attention, (layers, B, T, S)."""
    state = model.start(model.encode(batch.source))
    found, weights = [], []
    for token in batch.target_input.split(1, dim=1):
        step = model.step(state, token, record=True)
        state = step.state
        found.append(step.log_probs)
        weights.append(step.attention[:, :, :, 0])
    return torch.cat(found, dim=1)[batch.target != PAD], torch.cat(weights, dim=2)
