"""Forced decoding: a model's log-probabilities and attention for given translations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nmtlab.models.interface import (
    MemoryT,
    Searchable,
    SourceIds,
    SourceModel,
    StateT,
    Step,
    encoded,
    output_index,
)
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class ForcedDecoding:
    """A model's scores of a given translation y, token by token, EOS included.

    Args:
        log_probs: (|y|,) log-probability of each token; a type that may not be produced is scored as UNK. If the model
            plans lengths, EOS has the log-probability of the length; a length above its longest counts as the longest.
        attention: (layers, heads, |y|, S) weights on the source when each token was predicted; S counts the source's
            tokens, EOS included. Empty if it was not recorded. Of several sources, it is the tokens of all of them, one
            source after the other.
        segments: (S,) the source of each of these tokens, from 0.
    """

    log_probs: np.ndarray
    attention: np.ndarray
    segments: np.ndarray

    @property
    def log_prob(self) -> float:
        """log p(y | x)."""
        return float(self.log_probs.sum())


@torch.inference_mode()
def forced_steps(
    model: Searchable[MemoryT, StateT],
    memory: MemoryT,
    target: Tensor,
    record: bool = True,
    language: str | None = None,
) -> Iterator[Step[StateT]]:
    """Yield the decoder's step before each token of given translations, with one slot per sentence.

    Args:
        model, memory, language: as of `beam.beam_search`.
        target: (B, T) ids ending in EOS, padded; predictions after EOS are meaningless.
        record: keep attention.
    """
    length = _lengths(target) if model.plans_length else None
    state = model.start(memory, language, length)
    token = torch.full_like(target[:, :1], BOS)
    for following in target.T:
        step = model.step(state, token, record)
        yield step
        state, token = step.state, following[:, None]


def forced_decode(
    model: Searchable[MemoryT, StateT],
    memory: MemoryT,
    target: Tensor,
    language: str | None = None,
    record: bool = True,
) -> list[ForcedDecoding]:
    """Score the given translations of a batch; arguments as of `forced_steps`."""
    log_probs, attention = [], []
    for token, step in zip(target.T, forced_steps(model, memory, target, record, language), strict=True):
        column = output_index(step.state.output_ids, token)
        log_probs.append(step.log_probs[:, 0].gather(1, column[:, None]))
        attention += [] if step.attention is None else [step.attention[:, :, 0].cpu()]
    scores = torch.cat(log_probs, dim=1)  # (B, T)
    if model.plans_length:
        scores = torch.where(target == EOS, log_probs_of_lengths(model, memory, target), scores)
    values = scores.cpu().numpy()
    weights = np.empty((0, *target.shape[:1], 0, 0, 0))
    if record:
        recorded = torch.stack(attention, dim=3)
        weights = (recorded if memory.joint is None else memory.joint.by_token(recorded)).numpy()
    tokens = (memory.lengths[:, None] + 1 if memory.joint is None else memory.joint.tokens).tolist()
    return [
        ForcedDecoding(values[row, :t], weights[:, row, :, :t, : sum(of_row)], np.arange(len(of_row)).repeat(of_row))
        for row, (t, of_row) in enumerate(zip((target != PAD).sum(1).tolist(), tokens, strict=True))
    ]


@torch.inference_mode()
def log_probs_of_lengths(model: SourceModel[MemoryT], memory: MemoryT, target: Tensor) -> Tensor:
    """Return the log-probability of the length of each translation, (B, 1); `target` as of `forced_steps`."""
    log_probs = model.length_log_probs(memory)
    return log_probs.gather(1, _lengths(target).clamp_max(log_probs.shape[1] - 1))


def _lengths(target: Tensor) -> Tensor:
    """Return the number of tokens of each translation, without EOS: (B, 1)."""
    return ((target != PAD) & (target != EOS)).sum(1, keepdim=True)


@torch.inference_mode()
def forced_decode_all(
    model: Searchable[MemoryT, StateT],
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    batch_tokens: int = 4096,
    record: bool = True,
    more: Sequence[Sequence[Sequence[int]]] = (),
) -> Iterator[tuple[int, ForcedDecoding]]:
    """Yield the index of each given translation with its scores, batched by length.

    Args:
        model: in evaluation mode.
        sources: ids of each sentence, EOS last.
        targets: ids of each translation, EOS last.
        batch_tokens: padded tokens of the longer side per batch.
        record: keep attention.
        more: ids of each sentence in the other sources, for a model that reads several.
    """
    for batch, source, target in paired_batches(model.device, sources, targets, batch_tokens, more):
        yield from zip(batch, forced_decode(model, encoded(model, source), target, record=record), strict=True)


def paired_batches(
    device: torch.device,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    batch_tokens: int,
    more: Sequence[Sequence[Sequence[int]]] = (),
) -> Iterator[tuple[list[int], SourceIds, Tensor]]:
    """Yield batches of pairs of like length: their indices, source ids (B, S) and target ids (B, T), padded.

    Args:
        batch_tokens: padded tokens of the longest side per batch.
        more: other sources; the ids of a batch are then those of each source.
    """
    sides = targets, sources, *more
    lengths = [max(map(len, row)) for row in zip(*sides, strict=True)]
    for batch in sorted_batches(lengths, batch_tokens):
        target, source, *others = (torch.from_numpy(pad([rows[i] for i in batch])).to(device) for rows in sides)
        yield batch.tolist(), (source, *others) if others else source, target
