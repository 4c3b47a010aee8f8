"""A Transformer that plans the length of a translation and counts down to its end (thesis 4.1)."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.models.transformer import Transformer, TransformerMemory, TransformerState
from nmtlab.nn.length import LengthModel
from nmtlab.text.segmentation.vocabulary import EOS, PAD


class PlannedTransformer(Transformer):
    """A Transformer whose decoder reads each word with the number of tokens still to be generated.

    There is no EOS: a translation of length n has n tokens, and its probability is p(n) times theirs.

    Args:
        length_model: p(n | source).
        length_gradient: whether the gradient of the length loss reaches the encoder.
        parts: arguments of `Transformer`.
    """

    plans_length = True
    direction = -1

    def __init__(self, length_model: LengthModel, length_gradient: bool, **parts: Any) -> None:
        super().__init__(**parts)
        self.length_model = length_model
        self.length_gradient = length_gradient

    def target_mask(self, target: Tensor) -> Tensor:
        return (target != PAD) & (target != EOS)

    def length_log_probs(self, memory: TransformerMemory) -> Tensor:
        states = memory.states if self.length_gradient else memory.states.detach()
        return self.length_model(states, None if memory.bias is None else memory.bias[:, 0, 0], memory.lengths)

    def start(
        self,
        memory: TransformerMemory,
        language: str | None = None,
        length: Tensor | None = None,
        types: Tensor | None = None,
    ) -> TransformerState:
        if length is None:
            raise RunError(
                "a run that plans lengths generates no EOS, which this search needs",
                "choose a run whose plan_length is false",
            )
        self._check_positions("a given target", int(length.max()) + 1)
        state = super().start(memory, language, types=types)
        sentences, times = length.shape
        rows = torch.arange(sentences, device=length.device).repeat_interleave(times)[:, None]
        return replace(state.select(rows), position=length.reshape(-1, 1))

    def _positions(self, target: Tensor) -> Tensor:
        """Return how many tokens remain, (B, T), before each token of targets is generated."""
        length = self.target_mask(target).sum(1, keepdim=True)
        return (length - torch.arange(target.shape[1], device=target.device)).clamp_min(0)
