"""Search with a model that plans the length of a translation: the most probable lengths, each decoded (SPEC 5).

Shapes: R rows, each a sentence with one of its lengths, K slots.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from nmtlab.models.interface import State, TranslationModel
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.search.top import top_by_id
from nmtlab.text.vocabulary import BOS, PAD


@dataclass(frozen=True)
class _Rows:
    """The slots of the rows that are not as long as planned yet; slots of a row stand best first."""

    sentence: Tensor  # (R,)
    length: Tensor  # (R,) planned
    tokens: Tensor  # (R, K, t)
    log_prob: Tensor  # (R, K) that of the length included


@torch.inference_mode()
def planned_search(
    model: TranslationModel, source: Tensor, settings: SearchSettings, n_best: int = 1, told: Tensor | None = None
) -> list[list[Hypothesis]]:
    """Search for translations of a batch, each with a beam for each of its most probable lengths.

    What is searched for is p(length) times the probability of the tokens, whatever score the settings name.

    Args:
        model: one that plans lengths, in evaluation mode.
        source: (sentences, S) ids ended by EOS, padded.
        settings: beam size, number of lengths and limit.
        n_best: how many hypotheses to return for a sentence, at most.
        told: (sentences,) the length of each translation, which then is not planned.

    Returns:
        The hypotheses of each sentence, best first; their `log_prob` and `score` are of length and tokens together, or
        of the tokens alone where they were told the length.
    """
    memory = model.encode(source)
    if told is None:
        log_prob, length = lengths_to_try(model, memory, (source != PAD).sum(1) - 1, settings)
    else:
        log_prob, length = torch.zeros(len(source), 1, device=source.device), told[:, None]
    found: list[list[Hypothesis]] = [[] for _ in source]
    sentence = torch.arange(len(source), device=source.device).repeat_interleave(length.shape[1])
    tokens = torch.empty(len(sentence), 1, 0, dtype=torch.long, device=source.device)
    rows, state = _Rows(sentence, length.flatten(), tokens, log_prob.reshape(-1, 1)), model.start(memory, length)
    while True:
        rows, state = _without_complete(rows, state, found)
        if not len(rows.sentence):
            return [sorted(own, key=lambda h: -h.score)[:n_best] for own in found]
        rows, state = _advance(model, rows, state, settings.beam_size)


def lengths_to_try(
    model: TranslationModel, memory: object, words: Tensor, settings: SearchSettings
) -> tuple[Tensor, Tensor]:
    """Return log-probabilities and lengths, (B, k) each, of the most probable lengths that are allowed.

    Where fewer are allowed, the rest have no probability and length 0: no other sentence has fewer for it.

    Args:
        model: one that plans lengths.
        memory: of B source sentences.
        words: how many each of them has, (B,).
        settings: number of lengths, the most that are allowed, and whether none is.
    """
    log_probs = model.length_log_probs(memory)
    classes = torch.arange(log_probs.shape[1], device=log_probs.device)
    limit = (words + settings.extra_length).clamp_min(1)
    refused = (classes > limit[:, None]) | ((classes == 0) & (not settings.allow_empty))
    best, length = top_by_id(log_probs.masked_fill(refused, -torch.inf), min(settings.lengths, len(classes)))
    return best, torch.where(best > -torch.inf, length, 0)


def _without_complete(rows: _Rows, state: State, found: list[list[Hypothesis]]) -> tuple[_Rows, State]:
    """Move the rows that are as long as planned into `found`."""
    slots, steps = rows.tokens.shape[1:]
    complete = rows.length == steps
    for row in complete.nonzero().flatten().tolist():
        own = zip(rows.tokens[row].tolist(), rows.log_prob[row].tolist(), strict=True)
        possible = [Hypothesis(tuple(tokens), p, p, finished=True) for tokens, p in own if p > -math.inf]
        found[int(rows.sentence[row])] += possible
    if not complete.any():
        return rows, state
    kept = (~complete).nonzero().flatten()
    left = _Rows(*(value[kept] for value in (rows.sentence, rows.length, rows.tokens, rows.log_prob)))
    if len(kept):
        state = state.select(kept[:, None] * slots + torch.arange(slots, device=kept.device))
    return left, state


def _advance(model: TranslationModel, rows: _Rows, state: State, beam_size: int) -> tuple[_Rows, State]:
    """Choose the best continuations of each row."""
    count, slots, steps = rows.tokens.shape
    last = rows.tokens[..., -1] if steps else torch.full((count, slots), BOS, device=rows.tokens.device)
    log_probs, state, _ = model.step(state, last)
    values, columns = top_by_id(log_probs, min(beam_size, log_probs.shape[-1]))  # (R, K, k)
    total = (rows.log_prob.unsqueeze(-1) + values).flatten(1)
    ranked = total.sort(dim=1, descending=True, stable=True)
    best = ranked.indices[:, :beam_size]
    parents = best // values.shape[-1]
    token = model.output_types[columns].flatten(1).gather(1, best)
    tokens = torch.cat((rows.tokens.take_along_dim(parents.unsqueeze(-1), dim=1), token.unsqueeze(-1)), dim=-1)
    state = state.select(torch.arange(count, device=best.device)[:, None] * slots + parents)
    return _Rows(rows.sentence, rows.length, tokens, ranked.values[:, :beam_size]), state
