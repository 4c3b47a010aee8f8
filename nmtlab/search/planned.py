"""Search with a model that plans the length of a translation: the most probable lengths, each decoded.

docs/systems/planned-lengths.md has the formulas.
Shapes: B sentences, k lengths per sentence, each with a separate beam.
"""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from nmtlab.models.interface import MemoryT, Searchable, SourceModel, StateT
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.beam import first_beam, search_from
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.scores import length_limit
from nmtlab.search.topk import stable_topk
from nmtlab.search.tree import TreeStep, merge_trees


@torch.inference_mode()
def planned_search(
    model: Searchable[MemoryT, StateT],
    memory: MemoryT,
    settings: SearchSettings,
    n_best: int = 1,
    oracle_lengths: Tensor | None = None,
    record: bool = False,
    language: str | None = None,
) -> list[SearchResult]:
    """Search for translations of a batch, with one beam for each of a sentence's most probable lengths.

    The search maximises p(length)^w times the probability of the tokens, whatever score the settings name; w = 1 is
    eq 4.1.

    Args:
        model, memory, language: as of `beam.beam_search`; the model plans lengths.
        settings: beam size, number of lengths, w and limit.
        n_best: how many hypotheses to return per sentence, at most.
        oracle_lengths: (B,) the length of each translation, used instead of planned lengths.
        record: keep attention and the search tree, the beams of the lengths side by side.

    Returns:
        For each sentence its hypotheses, best first; `log_prob` covers length and tokens, or only the tokens with
        oracle lengths.
    """
    if oracle_lengths is None:
        log_prob, length = length_candidates(model, memory, settings)
    else:
        length = oracle_lengths[:, None]
        log_prob = torch.zeros(length.shape, device=length.device)
    results = _search_lengths(model, memory, length.flatten(), log_prob.flatten(), settings, record, language)
    k = length.shape[1]
    return [_best(results[begin : begin + k], n_best) for begin in range(0, len(results), k)]


def length_candidates(model: SourceModel[MemoryT], memory: MemoryT, settings: SearchSettings) -> tuple[Tensor, Tensor]:
    """Return log-probabilities and lengths, (B, k) each, of the most probable lengths that are allowed.

    If a sentence allows fewer than k lengths, the rest have log-probability -inf and length 0, so that the other
    sentences keep theirs.

    Args:
        settings: number of lengths, the length limit, and whether length 0 is allowed.
    """
    log_probs = model.length_log_probs(memory)
    classes = torch.arange(log_probs.shape[1], device=log_probs.device)
    limit = (length_limit(model, memory, settings.extra_length) - 1).clamp_min(1)  # a beam's limit counts EOS
    refused = (classes > limit[:, None]) | ((classes == 0) & (not settings.allow_empty))
    best, length = stable_topk(
        log_probs.masked_fill(refused, -torch.inf), min(settings.length_candidates, len(classes))
    )
    return best, torch.where(best > -torch.inf, length, 0)


def _search_lengths(
    model: Searchable[MemoryT, StateT],
    memory: MemoryT,
    length: Tensor,
    log_prob: Tensor,
    settings: SearchSettings,
    record: bool,
    language: str | None,
) -> list[SearchResult]:
    """Return a beam's result for each length, (B * k,), grouped by sentence.

    Length 0 needs no search, as its only translation is empty; with log-probability -inf it has no translation.
    """
    sentence = torch.arange(len(length), device=length.device) // (len(length) // len(memory.lengths))
    weight = settings.length_weight
    results = [
        SearchResult([Hypothesis((), p, weight * p, True, length_log_prob=p)] if p > -torch.inf and n == 0 else [])
        for p, n in zip(log_prob.tolist(), length.tolist(), strict=True)
    ]
    rows = (length > 0).nonzero().flatten()
    if not len(rows):
        return results
    state = model.start(memory, language, length.view(len(memory.lengths), -1)).select(rows[:, None])
    beam = first_beam(length[rows, None], log_prob[rows, None])
    likeliest = settings.model_copy(update={"score": "log-prob", "coverage": 0.0, "allow_empty": True})
    found = search_from(model, state, beam, memory.mask[sentence[rows]], likeliest, settings.beam_size, record)
    for row, of_length, result in zip(rows.tolist(), log_prob[rows].tolist(), found, strict=True):
        results[row] = _ended(result, of_length, weight)
    return results


def _ended(result: SearchResult, log_prob: float, weight: float) -> SearchResult:
    """Return a beam's result with its hypotheses marked as finished: they end at their planned length.

    Args:
        result: of the beam; log-probabilities and scores include that of the length.
        log_prob: of the length.
        weight: of `log_prob` in a score.
    """
    more = (weight - 1) * log_prob
    hypotheses = [
        replace(one, finished=True, score=one.score + more, length_log_prob=log_prob) for one in result.hypotheses
    ]
    tree = [replace(step, score=step.score + more) for step in result.tree]
    last = [replace(step, finished=np.ones_like(step.finished)) for step in tree[-1:]]
    return SearchResult(hypotheses, [*tree[:-1], *last])


def _best(results: list[SearchResult], n_best: int) -> SearchResult:
    """Return the best hypotheses of a sentence, whatever their length."""
    hypotheses = [hypothesis for result in results for hypothesis in result.hypotheses]
    trees: list[list[TreeStep]] = [result.tree for result in results if result.tree]
    return SearchResult(sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best], merge_trees(trees))
