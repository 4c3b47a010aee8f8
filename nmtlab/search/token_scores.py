"""How sure a model is of each token of a translation, and which others it considers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nmtlab.models.interface import MemoryT, Searchable, SourceIds, StateT, encoded, output_index
from nmtlab.search.forced import forced_steps, log_probs_of_lengths, paired_batches
from nmtlab.search.topk import stable_topk
from nmtlab.text.segmentation.vocabulary import EOS


@dataclass(frozen=True)
class TokenScores:
    """A model's scores of each token of a given translation y, EOS included if it has ended.

    Args:
        tokens: |y| ids.
        log_probs: (|y|,) log-probability of each token, as of `ForcedDecoding`.
        entropies: (|y|,) entropy, in nats, of the distribution of which each token is one outcome. If the model plans
            lengths, that of EOS is of the distribution of lengths.
        alternatives: for each token the most probable types in its place, id -> log-probability, most probable first;
            none in the place of a planned end.
    """

    tokens: tuple[int, ...]
    log_probs: np.ndarray
    entropies: np.ndarray
    alternatives: tuple[dict[int, float], ...]


@torch.inference_mode()
def score_tokens(
    model: Searchable[MemoryT, StateT],
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    top: int = 0,
    batch_tokens: int = 1024,
    more: Sequence[Sequence[Sequence[int]]] = (),
) -> Iterator[tuple[int, TokenScores]]:
    """Yield the index of each given translation with the scores of its tokens, batched by length.

    Args:
        model: in evaluation mode.
        sources: ids of each sentence, EOS last.
        targets: ids of each translation, EOS last if it has ended.
        top: number of alternatives to each token.
        batch_tokens: padded tokens of the longer side per batch.
        more: ids of each sentence in the other sources, for a model that reads several.
    """
    for batch, source, target in paired_batches(model.device, sources, targets, batch_tokens, more):
        for index, values in zip(batch, zip(*_scores(model, source, target, top), strict=True), strict=True):
            tokens = tuple(targets[index])
            log_probs, entropies, ids, best = (value[: len(tokens)] for value in values)
            found = [dict(zip(*row, strict=True)) for row in zip(ids.tolist(), best.tolist(), strict=True)]
            if model.plans_length:
                found[-1] = {}
            yield index, TokenScores(tokens, log_probs, entropies, tuple(found))


def _scores(model: Searchable[MemoryT, StateT], source: SourceIds, target: Tensor, top: int) -> tuple[np.ndarray, ...]:
    """Return log-probabilities and entropies of tokens, (B, T) each, ids and log-probabilities of others, (B, T, k)."""
    memory, columns = encoded(model, source), []
    for token, step in zip(target.T, forced_steps(model, memory, target, record=False), strict=True):
        log_probs, ids = step.log_probs[:, 0], step.state.output_ids
        chosen = log_probs.gather(1, output_index(ids, token)[:, None])[:, 0]
        best, places = stable_topk(log_probs, min(max(1, top), len(ids)))
        columns.append((chosen, _entropy(log_probs), ids[places[:, :top]], best[:, :top]))
    log_probs, entropies, others, best = (torch.stack(column, dim=1) for column in zip(*columns, strict=True))
    if model.plans_length:
        log_probs = torch.where(target == EOS, log_probs_of_lengths(model, memory, target), log_probs)
        entropies = torch.where(target == EOS, _entropy(model.length_log_probs(memory))[:, None], entropies)
    return tuple(value.cpu().numpy() for value in (log_probs, entropies, others, best))


def _entropy(log_probs: Tensor) -> Tensor:
    """Return the entropy, (B,), of distributions, (B, C)."""
    return torch.special.entr(log_probs.exp()).sum(-1)
