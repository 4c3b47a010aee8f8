"""Estimates of a training's cost, without training, and the utilisation of a GPU in one."""

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import torch

from nmtlab.device import choose_device
from nmtlab.errors import RecipeError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel
from nmtlab.nn.private import private_language
from nmtlab.recipe import PhraseSettings, Recipe
from nmtlab.recipe.machine import MachineSettings
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.statistics import statistics

_PEAKS = {
    "GH200": 989e12, "H200": 989e12, "H100 PCIe": 756e12, "H100": 989e12, "A100": 312e12,
    "L40S": 362e12, "L40": 181e12, "L4": 121e12,
}  # fmt: skip
"""Operations per second of dense bf16 matrix products, from NVIDIA's data sheets; the first matching name counts."""

_SOURCE_WEIGHT = re.compile(r"encoder\..*|.*cross_attention\.(key|value)\..*weight|attention\.key\.weight")
_NO_PRODUCT = re.compile(r".*embedding.*|output_weight")  # the output layer's rows are counted by its columns

_EFFICIENCY = 0.4
"""Share of the machine's matrix-product speed that a training step reaches (measured: 0.3 to 0.55)."""

_FILLED = 0.9
"""Share of a batch that is not padding."""

_VALIDATION_SHARE = 0.2
"""Time for decoding dev text, as a share of training time."""


@dataclass(frozen=True)
class CostEstimate:
    """An estimate: sizes are exact except for the vocabulary's, times are within about a factor of two."""

    pairs: int
    tokens: int
    parameters: int
    updates: int
    epochs: float
    minutes: float
    memory_mib: float
    disk_mib: float


def estimate_cost(recipe: Recipe, *corpora: ParallelCorpus) -> CostEstimate:
    """Estimate the cost on this machine of training a recipe on one or more corpora for the maximal number of updates.

    Raises:
        CorpusError: a corpus cannot be read.
        RecipeError: the recipe's family is not trained by gradient descent.
    """
    if isinstance(recipe.model, PhraseSettings):
        raise RecipeError("model.family = 'phrase': its cost cannot be estimated", "train it; it takes a few minutes")
    train = sum(_training_sizes(corpus, corpus.checksum()) for corpus in corpora)
    pairs = int(train["sentences"]["source"])
    text, settings = recipe.text, recipe.training
    # By Zipf's law, one in k types occurs k times or more.
    seen = [int(train["types"][side]) // text.min_frequency for side in ("source", "target")]
    types = [text.vocabulary_size or (sum(seen) if text.joint else side) for side in seen]
    tokens_per_word = 1.0 if text.segmentation == "word" else 1.35
    copies = 2 if text.unk_copy_threshold else 1
    tokens = int(train["tokens"].sum() * tokens_per_word + 2 * pairs) * copies
    model = _model(recipe, types, corpora)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    padded = 2.0 * settings.batch_tokens
    if settings.batch_sentences:
        padded = min(padded, settings.batch_sentences * tokens / (copies * pairs * _FILLED))
    padded *= settings.accumulate
    updates = (settings.validate_every or math.ceil(tokens / (padded * _FILLED))) * settings.max_evaluations
    operations = updates * update_operations(model, padded / 2, padded / 2)
    seconds = operations / (_matrix_speed(recipe) * _EFFICIENCY) * (1 + _VALIDATION_SHARE)
    wide = 30 * recipe.model.d_model + types[1] / 2 + 4 * recipe.model.inner_width
    averages = int(settings.average > 0)
    activations = 4 * (padded / settings.accumulate) * wide
    return CostEstimate(
        pairs=pairs,
        tokens=tokens,
        parameters=parameters,
        updates=updates,
        epochs=updates * padded * _FILLED / tokens,
        minutes=seconds / 60,
        memory_mib=(450 * 2**20 + (16 + 4 * averages) * parameters + activations) / 2**20,
        disk_mib=((16 + 4 * (averages + settings.keep_checkpoints)) * parameters + 4 * tokens) / 2**20,
    )


@lru_cache(maxsize=32)
def _training_sizes(corpus: ParallelCorpus, checksum: str) -> pd.DataFrame:
    """Return `sentences`, `tokens` and `types` of the training text by side; `checksum` is that of the corpus."""
    table = statistics(corpus)
    return table[table["split"] == "train"].set_index("side")[["sentences", "tokens", "types"]]


def _model(recipe: Recipe, types: Sequence[int], corpora: Sequence[ParallelCorpus]) -> TranslationModel:
    """Return a model with so many types on either side, whose weights take no memory."""
    sources, targets = (list(dict.fromkeys(codes)) for codes in zip(*(one.direction for one in corpora), strict=True))
    allowed = dict.fromkeys(targets, np.ones(types[1], dtype=bool))
    with torch.device("meta"):
        return build_model(recipe.model, ModelText(types[0], allowed, recipe.text.joint, languages=(sources, targets)))


def _matrix_speed(recipe: Recipe) -> float:
    """Measure the operations per second of a matrix product."""
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


def update_operations(model: TranslationModel, source_tokens: float, target_tokens: float) -> float:
    """Return the operations of an update: six per weight and token, two in the forward pass and four in the backward.

    Products of attention without weights are left out: one or two per cent at the lengths of sentences.
    """
    products = len(model.output_ids) * model.output_table().rows.shape[1] * target_tokens
    used = ("", *model.default_languages)
    for name, weight in model.named_parameters():
        if weight.dim() == 2 and not _NO_PRODUCT.fullmatch(name) and private_language(name) in used:
            products += weight.numel() * (source_tokens if _SOURCE_WEIGHT.fullmatch(name) else target_tokens)
    return 6.0 * products


def peak_operations(device: torch.device, settings: MachineSettings) -> float | None:
    """Return a device's peak operations per second; None if not known, as for CPUs and fp32."""
    if device.type != "cuda" or settings.precision != "bf16":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for kind, peak in _PEAKS.items() if re.search(rf"\b{kind}\b", name)), None)
