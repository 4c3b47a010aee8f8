"""A trained Transformer as named arrays, for peers that decode with nmtlab's weights.

PreNorm, LayerNorm, ReLU, one table for source, target and output; embeddings times √d, sinusoidal positions from 0.
Weights of linear layers are (out, in), as in `torch.nn.Linear`. Norms without a bias are RMSNorm. The names, with i
from 0:

    embedding.weight (V, d)    output.bias (V,)
    encoder.layers.{i}.attention.{query,key,value,output}.{weight,bias}
    encoder.layers.{i}.attention_norm.{weight,bias}
    encoder.layers.{i}.feed_forward.{inner,outer}.{weight,bias}
    encoder.layers.{i}.feed_forward_norm.{weight,bias}
    encoder.norm.{weight,bias}
    decoder.layers.{i}.self_attention.*, self_attention_norm.*, cross_attention.*, cross_attention_norm.*,
        feed_forward.*, feed_forward_norm.*
    decoder.norm.{weight,bias}

A type that may not be generated has a very low bias. Of the vocabulary, in the order of ids, the first four are
PAD, BOS, EOS and UNK, under whatever names.
"""

import re
from collections.abc import Mapping

import numpy as np

from nmtlab.interchange.folding import folded
from nmtlab.models.transformer import Transformer

Weights = Mapping[str, np.ndarray]

_RENAMED = [
    (r"^source_embedding", "embedding"),
    (r"^output_layer", "output"),
    (r"^(encoder|decoder)\.(\d)", r"\1.layers.\2"),
    (r"^(decoder\.layers\.\d+)\.attention", r"\1.self_attention"),
    (r"^(encoder|decoder)_norm\b", r"\1.norm"),
    (r"_residual\.norm\b", "_norm"),
]


def neutral_weights(model: Transformer) -> dict[str, np.ndarray]:
    """Return nmtlab's weights under the names above.

    Args:
        model: PreNorm over a joint vocabulary, without language vectors; what is folded into what, `folding` says.
    """
    return {_neutral(name): tensor.numpy() for name, tensor in folded(model).items()}


def _neutral(name: str) -> str:
    for pattern, replacement in _RENAMED:
        name = re.sub(pattern, replacement, name)
    return name


def positions(length: int, d_model: int) -> np.ndarray:
    """Return the sinusoidal encodings of positions 0 to length - 1, (length, d_model): sine even, cosine odd units."""
    angles = np.arange(length)[:, None] / 10_000 ** (np.arange(0, d_model, 2) / d_model)
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(length, d_model).astype(np.float32)
