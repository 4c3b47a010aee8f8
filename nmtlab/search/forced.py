"""Forced decoding: what a model says of translations that are given."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nmtlab.models.interface import Step, TranslationModel
from nmtlab.text.batches import pad, sorted_batches
from nmtlab.text.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class Forced:
    """What a model says of a given translation y, token by token, EOS included.

    Args:
        log_probs: (|y|,) log-probability of each token; a type that may not be produced is scored as UNK. Of a model
            that plans lengths, EOS has the log-probability of the length; a longer one than it can plan counts as the
            longest.
        attention: (layers, heads, |y|, S) weights on the source while each token was predicted; S counts the source's
            tokens, EOS included.
    """

    log_probs: np.ndarray
    attention: np.ndarray

    @property
    def log_prob(self) -> float:
        """log p(y | x)."""
        return float(self.log_probs.sum())


@torch.inference_mode()
def forced_steps(model: TranslationModel, source: Tensor, target: Tensor, record: bool = True) -> Iterator[Step]:
    """Yield what the decoder says before each token of given translations: one slot a sentence.

    Args:
        model: in evaluation mode.
        source: (B, S) ids ended by EOS, padded.
        target: (B, T) ids ended by EOS, padded; what is said after EOS means nothing.
        record: keep attention.
    """
    memory = model.encode(source)
    length = model.predicted(target).sum(1, keepdim=True) if model.plans_length else None
    state = model.start(memory, length)
    token = torch.full_like(target[:, :1], BOS)
    for following in target.T:
        step = model.step(state, token, record)
        yield step
        state, token = step.state, following[:, None]


def force(model: TranslationModel, source: Tensor, target: Tensor) -> list[Forced]:
    """Return what a model says of the translations of a batch; arguments as of `forced_steps`."""
    columns = model.columns(target)
    log_probs, attention = [], []
    for column, step in zip(columns.T, forced_steps(model, source, target), strict=True):
        log_probs.append(step.log_probs[:, 0].gather(1, column[:, None]))
        attention.append(step.record.attention[:, :, 0].cpu())
    said = torch.cat(log_probs, dim=1)  # (B, T)
    if model.plans_length:
        said = torch.where(target == EOS, _of_lengths(model, source, target), said)
    values = said.cpu().numpy()
    weights = torch.stack(attention, dim=3).numpy()  # (layers, B, heads, T, S)
    lengths = zip((target != PAD).sum(1).tolist(), (source != PAD).sum(1).tolist(), strict=True)
    return [Forced(values[row, :t], weights[:, row, :, :t, :s]) for row, (t, s) in enumerate(lengths)]


@torch.inference_mode()
def _of_lengths(model: TranslationModel, source: Tensor, target: Tensor) -> Tensor:
    """Return the log-probability of each translation's length, (B, 1)."""
    log_probs = model.length_log_probs(model.encode(source))
    length = model.predicted(target).sum(1, keepdim=True)
    return log_probs.gather(1, length.clamp_max(log_probs.shape[1] - 1))


def force_all(
    model: TranslationModel,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    batch_tokens: int = 4096,
) -> Iterator[tuple[int, Forced]]:
    """Yield the place of each given translation and what a model says of it, those of like length together.

    Args:
        model: in evaluation mode.
        sources: ids of each sentence, EOS the last.
        targets: ids of each translation, EOS the last.
        batch_tokens: padded tokens of the longer side decoded together.
    """
    lengths = [max(map(len, both)) for both in zip(sources, targets, strict=True)]
    device = model.output_types.device
    for batch in sorted_batches(lengths, batch_tokens):
        source, target = (torch.from_numpy(pad([rows[i] for i in batch])).to(device) for rows in (sources, targets))
        yield from zip(batch.tolist(), force(model, source, target), strict=True)
