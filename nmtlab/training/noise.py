"""Noise on the model's input during training."""

from dataclasses import replace

import torch
from torch import Tensor

from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.vocabulary import SPECIALS, UNK


def word_dropout(
    batch: Batch[Tensor], share: float, source_reserved: int = len(SPECIALS), target_reserved: int = len(SPECIALS)
) -> Batch[Tensor]:
    """Return a batch with a share of the input words replaced by UNK (thesis 3.3.3.1).

    Args:
        batch: sentence pairs; the tokens to be predicted are unchanged.
        share: from 0 to below 1.
        source_reserved, target_reserved: how many types at the start of each vocabulary are not words and are kept.
    """
    if share == 0:
        return batch

    def dropped(ids: Tensor, reserved: int) -> Tensor:
        return ids.masked_fill((ids >= reserved) & (torch.rand(ids.shape, device=ids.device) < share), UNK)

    return replace(
        batch,
        source=dropped(batch.source, source_reserved),
        target_input=dropped(batch.target_input, target_reserved),
    )
