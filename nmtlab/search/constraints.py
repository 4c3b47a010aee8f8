"""Constraints on a search: how translations begin, what occurs in them, what is attended to, what is penalised."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from nmtlab.models.interface import output_index
from nmtlab.text.segmentation.vocabulary import PAD


@dataclass(frozen=True)
class Constraints:
    """Constraints on the translations of a batch, indexed by sentence.

    Args:
        prefix: (sentences, P) ids that translations begin with, padded, without EOS; a type that may not be produced
            counts as UNK.
        phrases: (sentences, P, L) ids that must occur, padded, without EOS; of `grid.grid_search` only.
        attention: weights on the source that replace the model's in the first T steps wherever they are not NaN;
            (layers, sentences, T, heads, S), where layers and heads may be 1 for all.
        penalised_ids: (sentences, T, n) types, padded, whose log-probabilities are lowered in the first T steps, once
            for each occurrence, to diversify the search.
        diversity_penalty: by how much per occurrence.
    """

    prefix: Tensor | None = None
    phrases: Tensor | None = None
    attention: Tensor | None = None
    penalised_ids: Tensor | None = None
    diversity_penalty: float = 0.0

    def min_length(self) -> Tensor | int:
        """Return the fewest tokens of a translation, EOS included, (sentences, 1)."""
        given = [ids.flatten(1) != PAD for ids in (self.prefix, self.phrases) if ids is not None]
        return sum((filled.sum(1, keepdim=True) for filled in given), start=1)

    def imposed(self, sentence: Tensor, step: int) -> Tensor | None:
        """Return the attention imposed on a step of some sentences, (B,), as `Searchable.step` takes it."""
        if self.attention is None or step >= self.attention.shape[2]:
            return None
        return self.attention[:, sentence, step].unsqueeze(2)

    def prescribes(self, sentence: Tensor, step: int) -> Tensor:
        """Return whether the prefix gives the token of a step to some sentences, (B,): (B, 1, 1) bool."""
        if self.prefix is None or step >= self.prefix.shape[1]:
            return torch.zeros_like(sentence, dtype=torch.bool)[:, None, None]
        return (self.prefix[sentence, step] != PAD)[:, None, None]

    def constrain(self, output_ids: Tensor, log_probs: Tensor, sentence: Tensor, step: int) -> Tensor:
        """Return log-probabilities, (B, K, C), lowered for penalised types, and -inf for what violates the prefix."""
        if self.penalised_ids is not None and step < self.penalised_ids.shape[1]:
            penalised = self.penalised_ids[sentence, step]  # (B, n)
            less = torch.where(penalised == PAD, 0.0, self.diversity_penalty).to(log_probs.dtype)
            penalty = log_probs.new_zeros(len(penalised), log_probs.shape[-1]).scatter_add_(
                1, output_index(output_ids, penalised), less
            )
            log_probs = log_probs - penalty.unsqueeze(1)
        if self.prefix is None or step >= self.prefix.shape[1]:
            return log_probs
        token = self.prefix[sentence, step]
        wanted = torch.arange(log_probs.shape[-1], device=token.device) == output_index(output_ids, token)[:, None]
        free = (token == PAD)[:, None]
        return log_probs.masked_fill(~(wanted | free).unsqueeze(1), -math.inf)


UNCONSTRAINED = Constraints()
