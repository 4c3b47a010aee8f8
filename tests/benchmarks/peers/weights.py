"""A trained Transformer as named arrays, for peers that decode with nmtlab's weights.

PreNorm, LayerNorm, ReLU, one table for source, target and output; embeddings times √d, sinusoidal positions from 0.
Weights of linear layers are (out, in), as in `torch.nn.Linear`. The names, with i from 0:

    embedding.weight (V, d)    output.bias (V,)
    encoder.layers.{i}.attention.{query,key,value,output}.{weight,bias}
    encoder.layers.{i}.attention_norm.{weight,bias}
    encoder.layers.{i}.feed_forward.{inner,outer}.{weight,bias}
    encoder.layers.{i}.feed_forward_norm.{weight,bias}
    encoder.norm.{weight,bias}
    decoder.layers.{i}.self_attention.*, self_attention_norm.*, cross_attention.*, cross_attention_norm.*,
        feed_forward.*, feed_forward_norm.*
    decoder.norm.{weight,bias}

A type that may not be generated has a bias of FORBIDDEN. Of the vocabulary, in the order of ids, the first four are
PAD, BOS, EOS and UNK, under whatever names.
"""

from collections.abc import Mapping

import numpy as np

Weights = Mapping[str, np.ndarray]

FORBIDDEN = -1e4
"""Low enough for a probability of 0, and small enough to be added to other terms in float32."""


def positions(length: int, d_model: int) -> np.ndarray:
    """Return the sinusoidal encodings of positions 0 to length - 1, (length, d_model): sine even, cosine odd units."""
    angles = np.arange(length)[:, None] / 10_000 ** (np.arange(0, d_model, 2) / d_model)
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(length, d_model).astype(np.float32)
