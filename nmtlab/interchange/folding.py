"""A Transformer in the parts that other programs have: what has no counterpart is refused, the rest is folded.

| ours | there |
| --- | --- |
| FixNorm | rows of unit norm; the g before the softmax is part of the decoder's last norm |
| ScaleNorm g x/\\|x\\| | RMSNorm with the gain g/√d in every unit |
| a type that may not be generated | a type whose bias is `FORBIDDEN` |
"""

import math

import torch
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.models.transformer import Transformer
from nmtlab.nn.norms import EPSILON
from nmtlab.recipe import Recipe, TransformerSettings

FORBIDDEN = -1e4
"""A bias low enough for a probability of 0, and small enough to be added to other terms in half precision."""

MAX_POSITIONS = 1024
"""Most positions that an exported model knows: its longest source and translation, in tokens."""

_WITHOUT = {
    "plan_length": False,
    "copy_head": False,
    "decoder_history": "attention",
    "language_vectors": False,
    "adapter_width": 0,
    "clip_inputs": 0.0,
    "embedding_share": 1.0,
    "attention_share": 1.0,
    "feed_forward_share": 1.0,
}
"""Fields of the model section that must have this value: with another one, there is a part that nobody else has."""


_EPSILONS = {"layer": 1e-5, "rms": 1e-6, "scale": EPSILON**2}
"""What each norm adds to the mean square, or to the variance, before its root; ScaleNorm's is divided by d."""


def check_exportable(name: str, recipe: Recipe) -> TransformerSettings:
    """Return the settings of a run's model, having checked that other programs have its parts.

    Raises:
        RunError: they lack one, which the message names.
    """
    if not isinstance(recipe.model, TransformerSettings):
        raise RunError(
            f"run {name!r}: model.family = {recipe.model.family!r}: only Transformers can be exported",
            "choose a run of a transformer",
        )
    if recipe.corpus.also_sources:
        part = f"corpus.also_sources = {list(recipe.corpus.also_sources)}"
        raise lacking(name, part, "choose a run of one source")
    for field, value in _WITHOUT.items():
        found = getattr(recipe.model, field)
        if found != value:
            raise lacking(name, f"model.{field} = {_toml(found)}", f"choose a run with {field} = {_toml(value)}")
    if recipe.model.norm not in _EPSILONS:
        raise lacking(name, f"model.norm = {recipe.model.norm!r}", f"choose a run with {' or '.join(_EPSILONS)}")
    return recipe.model


def lacking(name: str, part: str, remedy: str) -> RunError:
    """Return the error of a run with a part that the form to export to does not have."""
    return RunError(f"run {name!r}: {part}: no such part in the other program", remedy)


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return repr(value)
    return f"{value:g}"


def known_positions(settings: TransformerSettings) -> int:
    """Return the number of positions that an exported model knows."""
    return min(MAX_POSITIONS, settings.max_positions) if settings.positions == "learned" else MAX_POSITIONS


@torch.no_grad()
def folded(model: Transformer) -> dict[str, Tensor]:
    """Return the weights of a model that passes `check_exportable`, under our names, with nothing left of the above.

    They are in single precision on the CPU. Norms have `weight` and, if they are LayerNorm, `bias`. The output's bias
    is that of the default target language.
    """
    width = model.target_embedding.width
    weights: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        if name.endswith("norm.g"):
            weights[f"{name.removesuffix('g')}weight"] = (parameter / math.sqrt(width)).expand(width)
        elif name.endswith("_embedding.weight"):
            embedding = model.source_embedding if name.startswith("source") else model.target_embedding
            weights[name] = embedding.table()
        else:
            weights[name] = parameter
    if (g := weights.pop("output_layer.g", None)) is not None:
        last = model.sublayers()[-1].name
        weights |= {name: g * weight for name, weight in weights.items() if name.startswith(f"{last}.")}
    bias = torch.full_like(model.output_layer.bias, FORBIDDEN)
    bias[model.output_ids] = model.output_layer.bias[model.output_ids]
    return {name: weight.detach().float().cpu() for name, weight in (weights | {"output_layer.bias": bias}).items()}


def norm_epsilon(settings: TransformerSettings) -> float:
    """Return what is added to the mean square, or to the variance, before its root.

    ScaleNorm adds nothing, but takes norms below a limit for that limit: this is its mean square.
    """
    epsilon = _EPSILONS[settings.norm]
    return epsilon / settings.d_model if settings.norm == "scale" else epsilon
