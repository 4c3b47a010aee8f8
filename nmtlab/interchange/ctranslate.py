"""Models in the form of CTranslate2 (Klein et al. 2020).

| theirs | ours, after `encoder.N.` or `decoder.N.` |
| --- | --- |
| `self_attention` | `attention`, the rows of query, key and value one below the other |
| `attention` | `cross_attention`, the rows of key and value one below the other |
| `ffn` | `feed_forward` |
| `layer_norm` in each of these | `attention_residual.norm`, `cross_attention_residual.norm`, `feed_forward_residual.norm` |

What else ours have is folded into these parts; see `folding`. Vectors of distances are there as in Shaw et al. (2018),
with values that have some, too: ours are 0. Without positions, their encodings are 0.
"""  # noqa: E501 (a table's row is a line)

import importlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import torch
from torch import Tensor

from nmtlab.errors import missing_package
from nmtlab.interchange.folding import folded, known_positions, norm_epsilon
from nmtlab.models.transformer import Transformer
from nmtlab.nn.positions import LearnedPositions, Sinusoids
from nmtlab.recipe import TransformerSettings
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import BOS, EOS, UNK
from nmtlab.translation import Translator

if TYPE_CHECKING:
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
    from ctranslate2.specs.common_spec import LayerNormSpec, LinearSpec
    from ctranslate2.specs.transformer_spec import FeedForwardSpec

Precision = Literal["fp32", "int8", "int16"]
"""Of the matrices: single precision, or integers with a scale for each row (int8) or matrix (int16)."""

_SELF = ("query", "key", "value"), ("output",)
_CROSS = ("query",), ("key", "value"), ("output",)


def library(part: str = "") -> ModuleType:
    """Return the library, or one of its modules; it is not needed for anything else.

    Raises:
        NmtlabError: it is not installed.
    """
    try:
        return importlib.import_module(f"ctranslate2{part}")
    except ImportError as error:
        raise missing_package("ctranslate2") from error


def write_ctranslate2(system: Translator, model: TransformerSettings, folder: Path, precision: Precision) -> None:
    """Write the model of a translator, which passes `folding.check_exportable`, to a folder that exists.

    Raises:
        NmtlabError: CTranslate2 is not installed.
    """
    pipeline = system.pipeline
    start = BOS if pipeline.reads_start else pipeline.first_tokens.get(pipeline.target.language, BOS)
    write_model(cast(Transformer, system.model), model, types_of(pipeline), folder, precision, start)


def types_of(pipeline: Pipeline) -> tuple[Sequence[str], Sequence[str]]:
    """Return the types of source and target in the order of ids."""
    return pipeline.source.vocabulary.types, pipeline.target.vocabulary.types


def write_model(
    model: Transformer,
    settings: TransformerSettings,
    types: tuple[Sequence[str], Sequence[str]],
    folder: Path,
    precision: Precision = "fp32",
    start: int = BOS,
) -> None:
    """Write model.bin, config.json and vocabularies to a folder.

    The model is as `folding.folded` takes it; `types` of source and target are in the order of ids, and `start` is the
    id of the type that the decoder reads first.

    Raises:
        NmtlabError: CTranslate2 is not installed.
    """
    spec = _specification(model, settings)
    spec.config.bos_token = types[1][BOS]
    spec.config.decoder_start_token = types[1][start]
    spec.config.eos_token, spec.config.unk_token = types[1][EOS], types[1][UNK]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = norm_epsilon(settings)
    spec.register_source_vocabulary(list(types[0]))
    spec.register_target_vocabulary(list(types[1]))
    spec.validate()
    spec.optimize(None if precision == "fp32" else precision)
    spec.save(str(folder))


def _specification(model: Transformer, settings: TransformerSettings) -> "TransformerSpec":
    specs, weights = library(".specs"), folded(model)
    pre_norm, relative = settings.placement == "pre", settings.positions == "relative"
    spec = specs.TransformerSpec.from_config(
        (settings.encoder_layers, settings.decoder_layers),
        settings.heads,
        with_relative_position=relative,
        pre_norm=pre_norm,
        rms_norm=settings.norm != "layer",
        activation=specs.Activation[settings.activation.upper()],
    )
    source = _array(weights, "source_embedding.weight")
    target = _array(weights, "target_embedding.weight") if "target_embedding.weight" in weights else source
    spec.encoder.embeddings[0].weight = source
    spec.decoder.embeddings.weight = spec.decoder.projection.weight = target
    spec.decoder.projection.bias = _array(weights, "output_layer.bias")
    if not relative:
        spec.encoder.position_encodings.encodings = _encodings(model.encoder_positions, settings)
        spec.decoder.position_encodings.encodings = _encodings(model.decoder_positions, settings)
    for side, part in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        for number, layer in enumerate(part.layer):
            name = f"{side}.{number}"
            _set_attention(layer.self_attention, weights, f"{name}.attention")
            if side == "decoder":
                _set_attention(layer.attention, weights, f"{name}.cross_attention")
            _set_feed_forward(layer.ffn, weights, f"{name}.feed_forward")
        if pre_norm:
            _set_norm(part.layer_norm, weights, f"{side}_norm")
    return spec


@torch.no_grad()
def _encodings(positions: Sinusoids | LearnedPositions | None, settings: TransformerSettings) -> np.ndarray:
    count = known_positions(settings)
    vectors = torch.zeros(count, settings.d_model) if positions is None else positions(torch.arange(count))
    return vectors.float().cpu().numpy()


def _set_attention(spec: "MultiHeadAttentionSpec", weights: dict[str, Tensor], name: str) -> None:
    for linear, parts in zip(spec.linear, _SELF if len(spec.linear) == len(_SELF) else _CROSS, strict=True):
        _set_linear(linear, weights, *(f"{name}.{part}" for part in parts))
    if hasattr(spec, "relative_position_keys"):
        spec.relative_position_keys = _array(weights, f"{name}.relative.weight")
        spec.relative_position_values = np.zeros_like(spec.relative_position_keys)
    _set_norm(spec.layer_norm, weights, f"{name}_residual.norm")


def _set_feed_forward(spec: "FeedForwardSpec", weights: dict[str, Tensor], name: str) -> None:
    _set_linear(spec.linear_0, weights, f"{name}.inner")
    _set_linear(spec.linear_1, weights, f"{name}.outer")
    _set_norm(spec.layer_norm, weights, f"{name}_residual.norm")


def _set_linear(spec: "LinearSpec", weights: dict[str, Tensor], *names: str) -> None:
    spec.weight, spec.bias = (
        np.concatenate([_array(weights, f"{name}.{kind}") for name in names]) for kind in ("weight", "bias")
    )


def _set_norm(spec: "LayerNormSpec", weights: dict[str, Tensor], name: str) -> None:
    spec.gamma = _array(weights, f"{name}.weight")
    if hasattr(spec, "beta"):
        spec.beta = _array(weights, f"{name}.bias")


def _array(weights: dict[str, Tensor], name: str) -> np.ndarray:
    return np.ascontiguousarray(weights[name])
