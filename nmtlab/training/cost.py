"""Estimates of a training's cost, without training, and the utilisation of a GPU in one."""

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from nmtlab.device import choose_device
from nmtlab.errors import RecipeError, RunError
from nmtlab.models.build import ModelText, build_model, model_for
from nmtlab.models.interface import TranslationModel
from nmtlab.models.parts import of_expert, part
from nmtlab.nn.private import private_language
from nmtlab.recipe import PhraseSettings, Recipe, TransformerSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.statistics import statistics
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.transfer import freeze

_PEAKS = {
    "GH200": 989e12, "H200": 989e12, "H100 PCIe": 756e12, "H100": 989e12, "A100": 312e12,
    "L40S": 362e12, "L40": 181e12, "L4": 121e12,
}  # fmt: skip
"""Operations per second of dense bf16 matrix products, from NVIDIA's data sheets; the first matching name counts."""

_SOURCE_WEIGHT = re.compile(r"(more_)?encoders?\..*|.*cross_attention\.(key|value)\..*weight|attention\.key\.weight")
_NO_PRODUCT = re.compile(
    r".*embedding.*|.*positions\.weight|output_weight"
)  # the output layer's rows are counted by its columns

_EFFICIENCY = 0.4
"""Share of the machine's matrix-product speed that a training step reaches (measured: 0.3 to 0.55)."""

_KEPT, _KEPT_LOW_RANK = (30, 4), (34, 5)
"""Numbers that a token leaves for the gradient in a layer of both sides, times the width and the inner width (measured,
and rounded up by a tenth).
"""

_HALF = 0.55
"""Share of that memory, and of that for the logits, with products in bf16 (measured, and rounded up)."""

_MOMENTS = {"adam": 2, "adamw": 2, "adadelta": 2, "sgd": 0, "nesterov": 1}
"""Numbers that an optimiser keeps for each weight."""

_TAUGHT = 5
"""Times the logits are kept with a teacher: its logits, its probabilities, log-probabilities and their product, too.
With a risk it is about as often.
"""

_TAUGHT_TEMPERED = 7
"""The same with a temperature other than 1: the logits of both divided by it, too."""

_TAUGHT_HALF = 6
"""The same with products in bf16, at any temperature (measured): two in half precision, the rest in single."""

_DECODED = 1 / 3
"""Operations of the output's side for a translation, as a share of those for learning from the reference."""

_SAMPLED = 1 + _DECODED
"""Operations of the output's side for a translation that is sampled and then learned from, as a share of those for the
reference: a forward pass more.
"""

_ANCHORED = {"none": 0, "l2": 1, "ewc": 2, "decay": 1}
"""Numbers that hold each trained weight near that of the parent."""

_FILLED = 0.9
"""Share of a batch that is not padding."""

_LEAST_BATCH = 256
"""Fewest tokens of a batch that training is advised with."""

_VALIDATION_SHARE = 0.2
"""Time for decoding dev text, as a share of training time."""


@dataclass(frozen=True)
class MemoryEstimate:
    """What a training keeps in memory, in MiB: weights, their copies in bf16, those of a teacher, an average and
    what holds them if any, gradients and optimiser state of the trained ones, activations, and the program itself.
    """

    weights: float
    gradients: float
    optimiser: float
    activations: float
    program: float = 450.0

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimiser + self.activations + self.program

    def __str__(self) -> str:
        parts = (f"{name.name} {getattr(self, name.name):,.0f}" for name in fields(self))
        return f"{self.total:,.0f} MiB ({', '.join(parts)})"


@dataclass(frozen=True)
class CostEstimate:
    """An estimate: sizes are exact except for the vocabulary's, times are within about a factor of two."""

    pairs: int
    tokens: int
    parameters: int
    updates: int
    epochs: float
    minutes: float
    memory: MemoryEstimate
    disk_mib: float


def estimate_cost(recipe: Recipe, *corpora: ParallelCorpus, continued: Pipeline | None = None) -> CostEstimate:
    """Estimate the cost on this machine of training a recipe on one or more corpora for the maximal number of updates.

    `continued` is the pipeline of a parent that the training goes on with.

    Raises:
        CorpusError: a corpus cannot be read.
        RecipeError: the recipe's family is not trained by gradient descent.
    """
    if isinstance(recipe.model, PhraseSettings):
        raise RecipeError("model.family = 'phrase': its cost cannot be estimated", "train it; it takes a few minutes")
    train = _sizes(corpora)
    pairs = int(train["sentences"]["source"])
    text, settings = recipe.text, recipe.training
    # By Zipf's law, one in k types occurs k times or more.
    seen = [int(train["types"][side]) // text.min_frequency for side in ("source", "target")]
    types = [text.vocabulary_size or (sum(seen) if text.joint else side) for side in seen]
    copies = 2 if text.unk_copy_threshold else 1
    tokens = _tokens(recipe, train) * copies
    model = _continued(recipe, continued) if continued else _model(recipe, types, corpora)
    freeze(model, recipe.transfer)
    parameters, trained = _parameters(model)
    batch = _padded(recipe, corpora)
    padded = batch * settings.accumulate
    updates = (settings.validate_every or math.ceil(tokens / (padded * _FILLED))) * settings.max_evaluations
    baseline = _DECODED * (settings.risk_form == "self-critical")
    decoded = _SAMPLED * _samples(recipe) + baseline
    operations = updates * update_operations(model, padded / 2, (1 + decoded) * padded / 2)
    seconds = operations / (_matrix_speed(recipe) * _EFFICIENCY) * (1 + _VALIDATION_SHARE)
    checkpoints = (2 + settings.keep_checkpoints) * _bytes(model)
    kept = (_MOMENTS[settings.optimiser] + (settings.average > 0) + _held(recipe)) * trained
    return CostEstimate(
        pairs=pairs,
        tokens=tokens,
        parameters=parameters,
        updates=updates,
        epochs=updates * padded * _FILLED / tokens,
        minutes=seconds / 60,
        memory=memory_of(model, recipe, batch),
        disk_mib=(checkpoints + 4 * (kept + tokens)) / 2**20,
    )


def memory_of(model: TranslationModel, recipe: Recipe, padded: float) -> MemoryEstimate:
    """Estimate the memory of training a model, with or without weights, on batches of so many padded tokens."""
    assert not isinstance(recipe.model, PhraseSettings)
    freeze(model, recipe.transfer)
    parameters, trained = _parameters(model)
    layers = max(1, sum(recipe.model.depth) / 2)
    kept = _KEPT_LOW_RANK if recipe.model.low_rank else _KEPT
    beside = (recipe.training.average > 0) + _held(recipe) + (recipe.transfer.tune_out > 0)  # the weights themselves
    wide = layers * (kept[0] * recipe.model.d_model + kept[1] * recipe.model.inner_width)
    padded *= 1 + _samples(recipe) / 2  # on the target side
    more = 4 * (parameters * bool(recipe.teacher) + beside * trained)
    mib, half = 4 / 2**20, _HALF if recipe.machine.precision == "bf16" else 1
    return MemoryEstimate(
        weights=(_bytes(model) + _copied(model, recipe) + more) / 2**20,
        gradients=trained * mib,
        optimiser=_MOMENTS[recipe.training.optimiser] * trained * mib,
        activations=padded * (half * wide + _logits(recipe, half) * len(model.output_ids) / 2) * mib,
    )


def _logits(recipe: Recipe, half: float) -> float:
    """Return how often the logits are kept at once, in single precision; `half` is that share without a teacher."""
    if not recipe.teacher:
        return half * (_TAUGHT if _samples(recipe) else 1)
    if half < 1:
        return _TAUGHT_HALF
    return _TAUGHT if recipe.training.teacher_temperature == 1 else _TAUGHT_TEMPERED


def _held(recipe: Recipe) -> int:
    """Return how often the trained parameters are kept to hold them near the parent's."""
    return max(_ANCHORED[recipe.transfer.anchor], int(recipe.transfer.tune_out > 0))


def check_fits(recipe: Recipe, parent: Pipeline, corpora: Sequence[ParallelCorpus]) -> None:
    """Check that training on corpora, going on from a parent with this pipeline, fits into the memory that is free.

    Raises:
        RunError: it does not; the message says what would.
    """
    free = free_mib()
    memory = memory_of(_continued(recipe, parent), recipe, _padded(recipe, corpora))
    if memory.total > free:
        remedy = fitting(memory, recipe, corpora, free)
        raise RunError(f"the training needs about {memory} of memory, and {free:,.0f} MiB are free", remedy)


def fitting(memory: MemoryEstimate, recipe: Recipe, corpora: Sequence[ParallelCorpus], free: float) -> str:
    """Return what to do so that a training on corpora, which needs more memory than is free, fits into it."""
    room = (free - memory.total + memory.activations) / memory.activations
    if (tokens := int(room * _padded(recipe, corpora) / 2)) >= _LEAST_BATCH:
        return f"set training.batch_tokens to {tokens} at most, and training.accumulate higher"
    if isinstance(recipe.model, TransformerSettings) and not recipe.model.low_rank:
        return "try --recipe fine-tune-lora, which has fewer gradients and less of the optimiser's state"
    if isinstance(recipe.model, TransformerSettings) and not recipe.model.halves_base:
        return "try --set model.lora_base=bf16 --set machine.precision=bf16, which halve the weights that stay"
    return "train it on a larger machine, or choose a smaller model"


def _samples(recipe: Recipe) -> int:
    """Return how many sampled translations of each sentence are learned from."""
    return 0 if recipe.training.risk == "none" else recipe.training.risk_samples


def free_mib() -> float:
    """Return the memory of this machine, in MiB, that programs can still have; infinite if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return math.inf
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("MemAvailable:")), math.inf)


def _parameters(model: TranslationModel) -> tuple[int, int]:
    """Return how many numbers a model's weights have, and how many of them are trained."""
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    return sum(size for size, _ in sizes), sum(size for size, is_trained in sizes if is_trained)


def _bytes(model: TranslationModel) -> int:
    """Return the size of a model's weights as they are kept: LoRA may halve those that it leaves as they are."""
    return sum(weight.nbytes for weight in model.parameters())


def _copied(model: TranslationModel, recipe: Recipe) -> int:
    """Return the bytes of the half-precision copies of matrices that an update keeps for the gradient."""
    if recipe.machine.precision == "fp32":
        return 0
    return sum(2 * weight.numel() for weight in model.parameters() if weight.dim() == 2 and weight.dtype.itemsize == 4)


def _padded(recipe: Recipe, corpora: Sequence[ParallelCorpus]) -> float:
    """Return the padded tokens of both sides of a batch."""
    most, sentences = 2.0 * recipe.training.batch_tokens, recipe.training.batch_sentences
    if not sentences:
        return most
    train = _sizes(corpora)
    return min(most, sentences * _tokens(recipe, train) / (int(train["sentences"]["source"]) * _FILLED))


def _tokens(recipe: Recipe, train: pd.DataFrame) -> int:
    """Return the tokens of training text of these sizes, with EOS."""
    tokens_per_word = {"word": 1.0, "byte": 6.0}.get(recipe.text.segmentation, 1.35)  # a byte for the space
    return int(train["tokens"].sum() * tokens_per_word + 2 * int(train["sentences"]["source"]))


def _sizes(corpora: Sequence[ParallelCorpus]) -> pd.DataFrame:
    """Return the sizes of `_training_sizes`, summed over corpora."""
    return sum(_training_sizes(corpus, corpus.checksum()) for corpus in corpora)


@lru_cache(maxsize=32)
def _training_sizes(corpus: ParallelCorpus, checksum: str) -> pd.DataFrame:
    """Return `sentences`, `tokens` and `types` of the training text by side; `checksum` is that of the corpus."""
    table = statistics(corpus)
    return table[table["split"] == "train"].set_index("side")[["sentences", "tokens", "types"]]


def _continued(recipe: Recipe, parent: Pipeline) -> TranslationModel:
    """Return the model that goes on from a parent with this pipeline; its weights take no memory."""
    with torch.device("meta"):
        return model_for(recipe, parent)


def _model(recipe: Recipe, types: Sequence[int], corpora: Sequence[ParallelCorpus]) -> TranslationModel:
    """Return a model with so many types on either side, whose weights take no memory."""
    sources = list(dict.fromkeys(code for corpus in corpora for code in corpus.sources))
    targets = list(dict.fromkeys(corpus.target for corpus in corpora))
    allowed, read = dict.fromkeys(targets, np.ones(types[1], dtype=bool)), len(corpora[0].sources)
    text = ModelText(types[0], allowed, recipe.text.joint, languages=(sources, targets), sources=read)
    with torch.device("meta"):
        return build_model(recipe.model, text)


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
    parameters = dict(model.named_parameters())
    own_encoders = model.mixes_experts or any(name.startswith("more_encoder") for name in parameters)
    of_an_encoder = source_tokens / model.sources if own_encoders else source_tokens
    for full_name, weight in parameters.items():
        name = of_expert(full_name)
        if weight.dim() == 2 and not _NO_PRODUCT.fullmatch(name) and private_language(name) in used:
            source = of_an_encoder if part(name) == "encoder" else source_tokens
            products += weight.numel() * (source if _SOURCE_WEIGHT.fullmatch(name) else target_tokens)
    return 6.0 * products


def peak_operations(device: torch.device, settings: MachineSettings) -> float | None:
    """Return a device's peak operations per second; None if not known, as for CPUs and fp32."""
    if device.type != "cuda" or settings.precision != "bf16":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for kind, peak in _PEAKS.items() if re.search(rf"\b{kind}\b", name)), None)
