"""The weights of attention, recorded while a model reads sentence pairs."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from nmtlab.errors import RunError
from nmtlab.models.interface import Trainable
from nmtlab.models.transformer import Transformer
from nmtlab.nn.attention import MultiHeadAttention
from nmtlab.nn.several import SeparateAttention
from nmtlab.recipe.family import NO_ATTENTION
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
def recorded_last_attention(model: Trainable) -> Iterator[Callable[[], Tensor]]:
    """Record the decoder's last attention to the source, of several heads the first, in a forward pass, with gradient.

    Yields a function that returns the weights, (B, T, S), after the pass.

    Raises:
        RunError: the model has no attention.
    """
    if model.last_attention is None:
        raise RunError(f"the model: {NO_ATTENTION[0]}", NO_ATTENTION[1])
    with _recording([model.last_attention]) as weights:
        yield lambda: torch.cat([one[:, 0] if one.dim() > 3 else one for one in weights], dim=1)  # heads, or steps


@contextmanager
def _recording(modules: Iterable[nn.Module]) -> Iterator[list[Tensor]]:
    """Collect the weights of some modules, in the order in which they run."""
    weights: list[Tensor] = []
    with ExitStack() as hooks:
        for module in modules:
            hooks.enter_context(module.register_forward_hook(lambda _, __, output: weights.append(output[1])))
            if isinstance(module, MultiHeadAttention):
                hooks.enter_context(module.register_forward_pre_hook(_asked_to_record, with_kwargs=True))
        yield weights


def _asked_to_record(_: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    return args, {**kwargs, "record": True}
