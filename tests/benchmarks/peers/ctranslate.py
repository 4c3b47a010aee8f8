"""CTranslate2, with nmtlab's weights (named as in `weights`): the speed to aim at, and an oracle of translations."""

import time
from collections.abc import Sequence
from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import LayerNormSpec, LinearSpec
from ctranslate2.specs.transformer_spec import FeedForwardSpec

from .weights import Weights, positions

MAX_POSITIONS = 1024

_SELF = [("query", "key", "value"), ("output",)]
_CROSS = [("query",), ("key", "value"), ("output",)]


def to_ctranslate2(weights: Weights, heads: int, layers: int, vocabulary: list[str], folder: Path) -> None:
    """Write a model that CTranslate2 can load, in float32.

    Args:
        weights: as in the docstring of `weights`.
        heads: attention heads of every layer.
        layers: in the encoder, and in the decoder.
        vocabulary: the types in the order of ids, PAD, BOS, EOS and UNK first.
        folder: made if need be; what a former conversion left there is overwritten.
    """
    rms = "encoder.norm.bias" not in weights
    spec = TransformerSpec.from_config(layers, heads, pre_norm=True, rms_norm=rms)
    embedding = _array(weights, "embedding.weight")
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = embedding
    spec.decoder.projection.bias = _array(weights, "output.bias")
    encodings = positions(MAX_POSITIONS, embedding.shape[1])
    spec.encoder.position_encodings.encodings = spec.decoder.position_encodings.encodings = encodings
    for i, layer in enumerate(spec.encoder.layer):
        name = f"encoder.layers.{i}"
        _set_attention(layer.self_attention, weights, f"{name}.attention")
        _set_feed_forward(layer.ffn, weights, f"{name}.feed_forward")
    for i, layer in enumerate(spec.decoder.layer):
        name = f"decoder.layers.{i}"
        _set_attention(layer.self_attention, weights, f"{name}.self_attention")
        _set_attention(layer.attention, weights, f"{name}.cross_attention")
        _set_feed_forward(layer.ffn, weights, f"{name}.feed_forward")
    _set_norm(spec.encoder.layer_norm, weights, "encoder.norm")
    _set_norm(spec.decoder.layer_norm, weights, "decoder.norm")
    _, bos, eos, unk = vocabulary[:4]
    spec.config.bos_token = spec.config.decoder_start_token = bos
    spec.config.eos_token = eos
    spec.config.unk_token = unk
    spec.config.layer_norm_epsilon = 1e-6 if rms else 1e-5
    spec.register_source_vocabulary(vocabulary)
    spec.register_target_vocabulary(vocabulary)
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def decode(
    folder: Path,
    sentences: Sequence[list[str]],
    beam_size: int,
    batch_size: int = 64,
    threads: int = 1,
    length_penalty: float = 0.0,
    longest: int = 256,
) -> tuple[list[list[str]], float]:
    """Translate, and say how many seconds that took without loading the model.

    Args:
        folder: made by `to_ctranslate2`.
        sentences: source tokens just as the encoder is to read them: with EOS if it was trained with EOS.
        beam_size: 1 is greedy.
        batch_size: sentences at once; CTranslate2 sorts them by length first.
        threads: for each matrix product.
        length_penalty: scores are divided by |y| to this power.
        longest: a translation is cut off here, in tokens.

    Returns:
        The target tokens of each sentence, without BOS and EOS, and the seconds.
    """
    translator = ctranslate2.Translator(
        str(folder), device="cpu", compute_type="float32", inter_threads=1, intra_threads=threads
    )
    options = {
        "beam_size": beam_size,
        "max_batch_size": batch_size,
        "length_penalty": length_penalty,
        "max_decoding_length": longest,
        "min_decoding_length": 0,  # the empty translation is allowed, as in nmtlab
    }
    translator.translate_batch(list(sentences[:2]), **options)
    start = time.perf_counter()
    results = translator.translate_batch(list(sentences), **options)
    seconds = time.perf_counter() - start
    return [result.hypotheses[0] for result in results], seconds


def _set_attention(spec: MultiHeadAttentionSpec, weights: Weights, name: str) -> None:
    """Fill queries, keys and values as one layer for self-attention, queries and the rest for cross-attention."""
    for linear, parts in zip(spec.linear, _SELF if len(spec.linear) == 2 else _CROSS, strict=True):
        _set_linear(linear, weights, *(f"{name}.{part}" for part in parts))
    _set_norm(spec.layer_norm, weights, f"{name}_norm")


def _set_feed_forward(spec: FeedForwardSpec, weights: Weights, name: str) -> None:
    _set_linear(spec.linear_0, weights, f"{name}.inner")
    _set_linear(spec.linear_1, weights, f"{name}.outer")
    _set_norm(spec.layer_norm, weights, f"{name}_norm")


def _set_linear(spec: LinearSpec, weights: Weights, *names: str) -> None:
    spec.weight = np.concatenate([_array(weights, f"{name}.weight") for name in names])
    spec.bias = np.concatenate([_array(weights, f"{name}.bias") for name in names])


def _set_norm(spec: LayerNormSpec, weights: Weights, name: str) -> None:
    spec.gamma = _array(weights, f"{name}.weight")
    if hasattr(spec, "beta"):
        spec.beta = _array(weights, f"{name}.bias")


def _array(weights: Weights, name: str) -> np.ndarray:
    return np.ascontiguousarray(weights[name], dtype=np.float32)
