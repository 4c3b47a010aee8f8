"""No n-gram twice in a translation (Paulus et al. 2018)."""

import math

import torch
from torch import Tensor

from nmtlab.models.interface import output_index
from nmtlab.text.segmentation.vocabulary import PAD


def without_repeats(log_probs: Tensor, output_ids: Tensor, tokens: Tensor, n: int) -> Tensor:
    """Return log-probabilities, -inf for each type that would complete an n-gram of its hypothesis a second time.

    Args:
        log_probs: (B, K, C), which stay as they are.
        output_ids: (C,) the type of each column.
        tokens: (B, K, T) of the hypotheses so far, behind which PAD follows in one that has ended.
        n: at least 1.
    """
    if tokens.shape[2] < n:
        return log_probs
    grams = tokens.unfold(2, n, 1)  # (B, K, T - n + 1, n)
    begun = tokens[:, :, None, tokens.shape[2] - n + 1 :]  # its last n - 1 tokens
    repeats = (grams[..., :-1] == begun).all(-1) & (grams[..., -1] != PAD)
    columns = output_index(output_ids, grams[..., -1])
    blocked = torch.zeros_like(log_probs, dtype=torch.int32).scatter_add_(2, columns, repeats.int())
    return log_probs.masked_fill(blocked > 0, -math.inf)
