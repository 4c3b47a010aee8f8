"""Search with a model that plans the length of a translation: the most probable lengths, each decoded (SPEC 5).

Shapes: R rows, each a sentence with one of its lengths, K slots.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nmtlab.models.interface import Record, State, TranslationModel
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.top import top_by_id
from nmtlab.search.tree import TreeStep, attention_of, remember, side_by_side
from nmtlab.text.vocabulary import BOS, PAD


@dataclass(frozen=True)
class _Rows:
    """The slots of the rows that are not as long as planned yet; slots of a row stand best first."""

    place: Tensor  # (R,) among all rows of the batch
    sentence: Tensor  # (R,)
    length: Tensor  # (R,) planned
    tokens: Tensor  # (R, K, t)
    log_prob: Tensor  # (R, K) that of the length included


@torch.inference_mode()
def planned_search(
    model: TranslationModel,
    source: Tensor,
    settings: SearchSettings,
    n_best: int = 1,
    told: Tensor | None = None,
    record: bool = False,
) -> list[SearchResult]:
    """Search for translations of a batch, each with a beam for each of its most probable lengths.

    What is searched for is p(length) times the probability of the tokens, whatever score the settings name.

    Args:
        model: one that plans lengths, in evaluation mode.
        source: (sentences, S) ids ended by EOS, padded.
        settings: beam size, number of lengths and limit.
        n_best: how many hypotheses to return for a sentence, at most.
        told: (sentences,) the length of each translation, which then is not planned.
        record: keep attention and the search tree, the beams of the lengths side by side.

    Returns:
        For each sentence its hypotheses, best first; their `log_prob` and `score` are of length and tokens together, or
        of the tokens alone where they were told the length.
    """
    memory = model.encode(source)
    if told is None:
        log_prob, length = lengths_to_try(model, memory, (source != PAD).sum(1) - 1, settings)
    else:
        log_prob, length = torch.zeros(len(source), 1, device=source.device), told[:, None]
    found: list[list[Hypothesis]] = [[] for _ in source]
    place = torch.arange(length.numel(), device=source.device)
    trees: list[list[TreeStep]] = [[] for _ in place]
    tokens = torch.empty(len(place), 1, 0, dtype=torch.long, device=source.device)
    rows = _Rows(place, place // length.shape[1], length.flatten(), tokens, log_prob.reshape(-1, 1))
    state = model.start(memory, length)
    while True:
        rows, state = _without_complete(rows, state, found, trees)
        if not len(rows.place):
            lengths = length.shape[1]
            return [
                _result(own, n_best, trees[place * lengths : (place + 1) * lengths]) for place, own in enumerate(found)
            ]
        parents, rows, state, seen = _advance(model, rows, state, settings.beam_size, record)
        if record:
            finished = (rows.length == rows.tokens.shape[-1])[:, None].expand_as(parents)
            slots = rows.tokens[..., -1], rows.log_prob, rows.log_prob, finished
            remember(trees, rows.place, parents, *slots, seen.attention)


def _result(hypotheses: list[Hypothesis], n_best: int, trees: list[list[TreeStep]]) -> SearchResult:
    best = sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best]
    return SearchResult(best, side_by_side([tree for tree in trees if tree]))


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
    limit = (words + settings.extra_length - 1).clamp_min(1)  # as of a beam, whose limit counts EOS
    refused = (classes > limit[:, None]) | ((classes == 0) & (not settings.allow_empty))
    best, length = top_by_id(log_probs.masked_fill(refused, -torch.inf), min(settings.length_candidates, len(classes)))
    return best, torch.where(best > -torch.inf, length, 0)


def _without_complete(
    rows: _Rows, state: State, found: list[list[Hypothesis]], trees: list[list[TreeStep]]
) -> tuple[_Rows, State]:
    """Move the rows that are as long as planned into `found`."""
    slots, steps = rows.tokens.shape[1:]
    complete = rows.length == steps
    for row in complete.nonzero().flatten().tolist():
        tree = trees[int(rows.place[row])]
        for slot, (tokens, p) in enumerate(zip(rows.tokens[row].tolist(), rows.log_prob[row].tolist(), strict=True)):
            if p > -math.inf:
                attention = attention_of(tree, slot, steps) if tree else None
                found[int(rows.sentence[row])].append(Hypothesis(tuple(tokens), p, p, True, attention))
    if not complete.any():
        return rows, state
    kept = (~complete).nonzero().flatten()
    left = _Rows(*(value[kept] for value in vars(rows).values()))
    if len(kept):
        state = state.select(kept[:, None] * slots + torch.arange(slots, device=kept.device))
    return left, state


def _advance(
    model: TranslationModel, rows: _Rows, state: State, beam_size: int, record: bool
) -> tuple[Tensor, _Rows, State, Record | None]:
    """Choose the best continuations of each row: the slots (R, K) that they continue, and the old slots' record."""
    count, slots, steps = rows.tokens.shape
    last = rows.tokens[..., -1] if steps else torch.full((count, slots), BOS, device=rows.tokens.device)
    log_probs, state, seen = model.step(state, last, record)
    values, columns = top_by_id(log_probs, min(beam_size, log_probs.shape[-1]))  # (R, K, k)
    total = (rows.log_prob.unsqueeze(-1) + values).flatten(1)
    ranked = total.sort(dim=1, descending=True, stable=True)
    best = ranked.indices[:, :beam_size]
    parents = best // values.shape[-1]
    token = model.output_types[columns].flatten(1).gather(1, best)
    tokens = torch.cat((rows.tokens.take_along_dim(parents.unsqueeze(-1), dim=1), token.unsqueeze(-1)), dim=-1)
    state = state.select(torch.arange(count, device=best.device)[:, None] * slots + parents)
    return parents, replace(rows, tokens=tokens, log_prob=ranked.values[:, :beam_size]), state, seen
