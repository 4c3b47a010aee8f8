"""What a training would cost, without training."""

import time
from dataclasses import dataclass

import numpy as np
import torch

from nmtlab.device import choose_device
from nmtlab.models.build import build_model
from nmtlab.recipe import Recipe
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.statistics import statistics

_EFFICIENCY = 0.4
"""Share of the machine's matrix-product speed that a training step reaches (measured: 0.3 to 0.55)."""

_VALIDATION_SHARE = 0.2
"""Time for decoding dev text, as a share of training time."""


@dataclass(frozen=True)
class Plan:
    """An estimate: sizes are exact up to the vocabulary, times are within a factor of two or so."""

    pairs: int
    tokens: int
    parameters: int
    updates: int
    epochs: float
    minutes: float
    memory_mib: float
    disk_mib: float


def plan(recipe: Recipe, corpus: ParallelCorpus) -> Plan:
    """Estimate what training a recipe on a corpus takes at most, on this machine.

    Raises:
        CorpusError: the corpus cannot be read.
    """
    table = statistics(corpus)
    train = table[table["split"] == "train"]
    pairs = int(train["sentences"].iloc[0])
    words = train["tokens"].sum()
    types = recipe.text.vocabulary_size or int(train["types"].sum())
    tokens_per_word = 1.0 if recipe.text.segmentation == "word" else 1.35
    tokens = int(words * tokens_per_word + 2 * pairs)
    parameters, layer_parameters = _parameters(recipe, types)
    settings = recipe.training
    updates = settings.validate_every * settings.max_evaluations
    padded = 2 * settings.batch_tokens
    # Six operations a weight and token: two forwards, four backwards; the output layer sees target tokens only.
    operations = 6 * (layer_parameters * padded / 2 + types * recipe.model.d_model * padded / 2)
    seconds = updates * operations / (_matrix_speed(recipe) * _EFFICIENCY) * (1 + _VALIDATION_SHARE)
    activations = 4 * padded * (30 * recipe.model.d_model + types / 2 + 4 * recipe.model.d_ff)
    return Plan(
        pairs=pairs,
        tokens=tokens,
        parameters=parameters,
        updates=updates,
        epochs=updates * padded * 0.9 / tokens,
        minutes=seconds / 60,
        memory_mib=(450 * 2**20 + 16 * parameters + activations) / 2**20,
        disk_mib=(16 * parameters + 4 * tokens) / 2**20,
    )


def _parameters(recipe: Recipe, types: int) -> tuple[int, int]:
    """Return the number of parameters: all, and those that are not embeddings."""
    with torch.device("meta"):
        model = build_model(recipe.model, types, np.ones(types, dtype=bool), recipe.text.joint)
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    return sum(sizes.values()), sum(size for name, size in sizes.items() if "embedding" not in name)


def _matrix_speed(recipe: Recipe) -> float:
    """Return operations a second of a matrix product, measured."""
    device = choose_device(recipe.machine)
    dtype = torch.bfloat16 if recipe.machine.precision == "bf16" else torch.float32
    a = torch.randn(1024, 1024, device=device).to(dtype)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        product = a @ a
        product[0, 0].item()
        best = min(best, time.perf_counter() - start)
    return 2 * 1024**3 / best
