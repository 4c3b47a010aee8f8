"""Noise on what a model reads while it is trained."""

from dataclasses import replace

import torch
from torch import Tensor

from nmtlab.text.batch import Batch
from nmtlab.text.vocabulary import BOS, EOS, PAD, UNK


def word_dropout(batch: Batch[Tensor], share: float) -> Batch[Tensor]:
    """Return a batch with a share of the input words, not BOS, EOS or padding, replaced by UNK (thesis 3.3.3.1).

    Args:
        batch: sentence pairs; what is to be predicted stays as it is.
        share: from 0 to below 1.
    """
    if share == 0:
        return batch

    def dropped(ids: Tensor) -> Tensor:
        words = (ids != PAD) & (ids != BOS) & (ids != EOS)
        return ids.masked_fill(words & (torch.rand(ids.shape, device=ids.device) < share), UNK)

    return replace(batch, source=dropped(batch.source), target_input=dropped(batch.target_input))
