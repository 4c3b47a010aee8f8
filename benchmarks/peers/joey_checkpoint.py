"""nmtlab's weights (named as in `weights`) as a checkpoint of joeynmt's, so that both decode the same model."""

from pathlib import Path

import numpy as np
import torch

from .weights import Weights, positions

_POSITIONS = 5000  # the length of joeynmt's table, which is part of its checkpoints

_SUBLAYERS = {
    "encoder": {
        "attention_norm": "layer_norm",
        "attention.query": "src_src_att.q_layer",
        "attention.key": "src_src_att.k_layer",
        "attention.value": "src_src_att.v_layer",
        "attention.output": "src_src_att.output_layer",
    },
    "decoder": {
        "self_attention_norm": "x_layer_norm",
        "self_attention.query": "trg_trg_att.q_layer",
        "self_attention.key": "trg_trg_att.k_layer",
        "self_attention.value": "trg_trg_att.v_layer",
        "self_attention.output": "trg_trg_att.output_layer",
        "cross_attention_norm": "dec_layer_norm",
        "cross_attention.query": "src_trg_att.q_layer",
        "cross_attention.key": "src_trg_att.k_layer",
        "cross_attention.value": "src_trg_att.v_layer",
        "cross_attention.output": "src_trg_att.output_layer",
    },
}
_FEED_FORWARD = {
    "feed_forward_norm": "feed_forward.layer_norm",
    "feed_forward.inner": "feed_forward.pwff_layer.0",
    "feed_forward.outer": "feed_forward.pwff_layer.3",
}


def save_checkpoint(weights: Weights, types: int, layers: int, path: Path) -> None:
    """Write a checkpoint for a joeynmt model with untied output rows.

    Args:
        weights: as in the docstring of `weights`.
        types: size of the vocabulary.
        layers: in the encoder, and in the decoder.
        path: of the checkpoint.
    """
    order = [3, 0, 1, 2, *range(4, types)]  # joeynmt's specials are UNK, PAD, BOS, EOS
    embedding = weights["embedding.weight"][order]
    rows, shift = _fold_bias(
        embedding, weights["output.bias"][order], weights["decoder.norm.weight"], weights["decoder.norm.bias"]
    )
    table = positions(_POSITIONS, embedding.shape[1])[None]
    state = {
        "src_embed.lut.weight": embedding,
        "trg_embed.lut.weight": embedding,
        "encoder.pe.pe": table,
        "decoder.pe.pe": table,
        "encoder.layer_norm.weight": weights["encoder.norm.weight"],
        "encoder.layer_norm.bias": weights["encoder.norm.bias"],
        "decoder.layer_norm.weight": weights["decoder.norm.weight"],
        "decoder.layer_norm.bias": shift,
        "decoder.output_layer.weight": rows,
    }
    for side, names in _SUBLAYERS.items():
        for i in range(layers):
            for ours, theirs in (names | _FEED_FORWARD).items():
                for part in ("weight", "bias"):
                    state[f"{side}.layers.{i}.{theirs}.{part}"] = weights[f"{side}.layers.{i}.{ours}.{part}"]
    tensors = {name: torch.tensor(np.asarray(array, dtype=np.float32)) for name, array in state.items()}
    torch.save({"model_state": tensors}, path)


def _fold_bias(
    rows: np.ndarray, bias: np.ndarray, gain: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return output rows and a shift of the closing norm with the same logits as before, but without a bias.

    joeynmt's output layer has none. The closing norm gives h = gain · n + shift, where the units of n add up to 0. So
    r = 1 / gain has r · h = r · shift for every h; once the shift is moved along r until that is 1, adding
    bias · r to a row adds the bias to its logit.
    """
    rows, gain, shift = (array.astype(np.float64) for array in (rows, gain, shift))
    r = 1 / gain
    moved = (1 - r @ shift) * r / (r @ r)
    return rows + np.outer(bias - rows @ moved, r), shift + moved
