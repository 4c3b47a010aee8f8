"""Small recurrent models of every system and variant, in double precision, and three pairs of sentences."""

import numpy as np
import pytest
import torch
from torch import Tensor

from nmtlab.alignment.table import LexicalTable
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import on_device
from nmtlab.models.recurrent import RecurrentModel
from nmtlab.recipe import RnnSettings
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.segmentation.vocabulary import PAD

SOURCE_TYPES, TYPES, D, R = 13, 12, 6, 3.0
ALLOWED = np.array([i not in (0, 1, 8) for i in range(TYPES)])
SOURCE = np.array([[5, 7, 4, 9, 2], [6, 8, 2, 0, 0], [12, 2, 0, 0, 0]])
TARGET = np.array([[9, 10, 5, 2], [11, 2, 0, 0], [4, 4, 2, 0]])
TABLE = LexicalTable(
    offsets=np.array([0, 0, 0, 0, 0, 2, 4, 5, 8, 8, 9, 9, 9, 10]),
    targets=np.array([4, 9, 5, 8, 3, 10, 11, 4, 7, 6]),
    probabilities=np.array([0.5, 0.25, 0.75, 0.25, 1.0, 0.5, 0.25, 0.125, 1.0, 0.9], dtype=np.float32),
)
SYSTEMS = {
    "untied": {"tied": False},
    "tied": {},
    "fixnorm": {"fixnorm": True},
    "fixnorm-free": {"fixnorm": True, "fix_hidden": False},
    "fixnorm-lex": {"fixnorm": True, "lexicon": "module"},
    "arthur": {"lexicon": "table"},
}
VARIANTS = {
    "gru": {"cell": "gru"},
    "rnn": {"cell": "rnn", "layers": 2},
    "layer-norm-rnn": {"layer_norm": True, "cell": "rnn"},
    "dot": {"attention": "dot"},
    "additive": {"attention": "additive"},
    "deep": {"layers": 3, "residual": True},
    "both-ways": {"layers": 4, "bidirectional": True},
    "forwards": {"layers": 2, "reversed_source": False},
    "layer-norm": {"layer_norm": True, "layers": 2},
    "layer-norm-gru": {"layer_norm": True, "cell": "gru"},
    "transitions": {"cell": "gru", "transitions": 3, "layers": 2},
    "layer-norm-transitions": {"cell": "gru", "transitions": 2, "layer_norm": True},
    "variational": {"variational": True, "layers": 2},
    "copying": {"copy_head": True},
    "copying-lex": {"copy_head": True, "fixnorm": True, "lexicon": "module"},
    "grammar": {"grammar": "tree"},
    "flat-grammar-lex": {"grammar": "flat", "fixnorm": True, "lexicon": "module"},
    "grammar-copying": {"grammar": "tree", "copy_head": True, "attention": "additive"},
    "no-attention": {"attention": "none", "layers": 2},
    "every-step": {"attention": "none", "context": "every-step", "cell": "gru"},
}
every_system = pytest.mark.parametrize("system", SYSTEMS)
_ALL = SYSTEMS | VARIANTS
everything = pytest.mark.parametrize("choices", _ALL.values(), ids=_ALL)
attending = pytest.mark.parametrize(
    "choices", [one for one in _ALL.values() if one.get("attention") != "none"], ids=str
)


def recurrent(dropout: float = 0.0, allowed=ALLOWED, **choices) -> RecurrentModel:
    """Return a float64 model with parameters far from their initial values."""
    settings = RnnSettings(**({"d_model": D, "radius": R, "dropout": dropout} | choices))
    languages = (("de", "nl"), tuple(allowed)) if isinstance(allowed, dict) else ((), ())
    torch.manual_seed(0)
    model = (
        build_model(settings, ModelText(SOURCE_TYPES, allowed, joint=False, table=TABLE, languages=languages))
        .double()
        .eval()
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, dtype=torch.float64) * 0.5)
    return model


def pairs() -> Batch:
    return on_device(batch_of(SOURCE, TARGET))


def log_probs(model: RecurrentModel, batch: Batch) -> Tensor:
    return model.output(model(batch)).log_softmax(-1)


def stepwise(model: RecurrentModel, batch: Batch, language: str | None = None) -> tuple[Tensor, Tensor]:
    """Return log-probabilities at unpadded positions and attention (layers, B, T, S), token by token."""
    state = model.start(model.encode(batch.source), language)
    found, weights = [], []
    for token in batch.target_input.split(1, dim=1):
        step = model.step(state, token, record=True)
        state = step.state
        found.append(step.log_probs)
        weights.append(step.attention[:, :, :, 0])
    return torch.cat(found, dim=1)[batch.target != PAD], torch.cat(weights, dim=2)
