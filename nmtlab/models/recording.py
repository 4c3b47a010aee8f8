"""The weights of every attention of a Transformer, recorded while it reads sentence pairs."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from nmtlab.models.transformer import Transformer
from nmtlab.nn.attention import MultiHeadAttention
from nmtlab.nn.several import SeparateAttention
from nmtlab.text.batching.batch import Batch


class Attentions(NamedTuple):
    """The weights of all layers and heads. T counts the tokens that the decoder reads.

    Args:
        encoder: self-attention, (layers, B, heads, S, S).
        decoder: self-attention, (layers, B, heads, T, T); 0 layers if it averages the words so far.
        cross: attention of the decoder to the source, (layers, B, heads, T, S).
    """

    encoder: Tensor
    decoder: Tensor
    cross: Tensor


@torch.inference_mode()
def recorded_attention(model: Transformer, batch: Batch[Tensor]) -> Attentions:
    """Return the weights of every attention of a model in evaluation mode under forced targets."""
    kinds: tuple[list[MultiHeadAttention | SeparateAttention], ...] = (
        [layer.attention for layer in model.encoder],
        [layer.cross_attention for layer in model.decoder],
        [layer.attention for layer in model.decoder if isinstance(layer.attention, MultiHeadAttention)],
    )
    with ExitStack() as stack:
        found = [stack.enter_context(_recording(modules)) for modules in kinds]
        model(batch)
    encoder, cross = (torch.stack(weights).float() for weights in found[:2])
    decoder = torch.stack(found[2]).float() if found[2] else cross.new_empty(0, *cross.shape[1:4], cross.shape[3])
    return Attentions(encoder, decoder, cross)


@contextmanager
def _recording(modules: Iterable[MultiHeadAttention | SeparateAttention]) -> Iterator[list[Tensor]]:
    """Collect the weights of some modules, in the order in which they run."""
    weights: list[Tensor] = []
    hooks = []
    for module in modules:
        ask = module.register_forward_pre_hook(_asked_to_record, with_kwargs=True)
        keep = module.register_forward_hook(lambda _, __, output: weights.append(output[1]))
        hooks += [ask, keep]
    try:
        yield weights
    finally:
        for hook in hooks:
            hook.remove()


def _asked_to_record(_: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    return args, {**kwargs, "record": True}
