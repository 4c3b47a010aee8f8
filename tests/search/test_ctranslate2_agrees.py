"""CTranslate2 is an independent implementation: with the same weights it has to find the same translations."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from nmtlab.models.build import build_model
from nmtlab.models.interface import Pairs
from nmtlab.models.transformer import Transformer
from nmtlab.recipe import SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.text.batches import pad
from nmtlab.text.vocabulary import EOS, PAD, SPECIALS
from nmtlab.training.losses import Objective

pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed: pip install -e '.[test]'")

from benchmarks.peers import ctranslate
from benchmarks.peers.weights import neutral_weights

HEADS = LAYERS = 2
WORDS = list(range(len(SPECIALS), 30))
NEVER_TARGETS = WORDS[-6:]
VOCABULARY = [*SPECIALS, *(f"w{word}" for word in WORDS)]

NORMS = [
    pytest.param("layer", False, id="LayerNorm"),
    pytest.param("scale", True, id="ScaleNorm and FixNorm, as RMSNorm"),
    pytest.param("rms", True, id="RMSNorm and FixNorm"),
]


@pytest.fixture(scope="module", params=NORMS)
def systems(request, tmp_path_factory) -> tuple[Transformer, Path]:
    """A model that has learned a little, so that its translations vary and end; and CTranslate2's copy of it."""
    model = trained(*request.param if isinstance(request.param, tuple) else request.param)
    folder = tmp_path_factory.mktemp("ctranslate2")
    ctranslate.to_ctranslate2(neutral_weights(model), HEADS, LAYERS, VOCABULARY, folder)
    return model, folder
