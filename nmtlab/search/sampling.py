"""Sampling of translations from the model's full distribution or from its head.

Shapes: B sentences, K samples per sentence, C output columns.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from nmtlab.models.interface import MemoryT, Searchable, StateT
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.scores import length_limit
from nmtlab.search.tree import TreeStep, attention_of, record_step
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD


@torch.inference_mode()
def sample(
    model: Searchable[MemoryT, StateT],
    memory: MemoryT,
    samples: int = 1,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    extra_length: int = 50,
    allow_empty: bool = True,
    seed: int = 1,
    places: Sequence[int] | None = None,
    record: bool = False,
    language: str | None = None,
) -> list[SearchResult]:
    """Draw translations of a batch; a sentence's samples do not depend on the other sentences.

    Args:
        model, memory, language: as of `beam.beam_search`.
        samples: number per sentence, from 1.
        temperature: divides the log-probabilities before sampling, above 0.
        top_k: draw only from the k most probable types (Fan et al. 2018); 0: from all.
        top_p: draw from the fewest types whose probabilities sum to at least this, above 0 to 1 (nucleus sampling;
            Holtzman et al. 2020).
        extra_length: how many tokens longer than its source a translation may be.
        allow_empty: whether the empty translation may be drawn.
        seed: random seed.
        places: indices of the sentences in their text, which make their samples differ; 0, 1, 2 and so on if not given.
        record: keep attention and the search tree, one slot per sample.

    Returns:
        The samples of each sentence in the order of drawing; `log_prob` and `score` are log p under the full,
        untempered model.
    """
    sentences, device = len(memory.lengths), memory.lengths.device
    generators = [np.random.default_rng([seed, place]) for place in places or range(sentences)]
    state = model.start(memory, language)
    state = state.select(torch.arange(sentences, device=device)[:, None].expand(-1, samples))
    limit = length_limit(model, memory, extra_length)
    last = torch.full((sentences, samples), BOS, device=device)
    log_prob, open_ = torch.zeros(sentences, samples, device=device), torch.ones_like(last, dtype=torch.bool)
    drawn: list[Tensor] = []
    trees: list[list[TreeStep]] = [[] for _ in range(sentences)]
    while open_.any():
        log_probs, state, seen = model.step(state, last, record)
        allowed = log_probs if drawn or allow_empty else log_probs.masked_fill(state.output_ids == EOS, -math.inf)
        shares = torch.from_numpy(np.stack([generator.random(samples) for generator in generators]))
        columns = _columns(_head(allowed / temperature, top_k, top_p), shares.to(device))
        log_prob = log_prob + log_probs.gather(-1, columns.unsqueeze(-1)).squeeze(-1) * open_
        last = torch.where(open_, state.output_ids[columns], PAD)
        drawn.append(last)
        if seen is not None:
            rows = open_.any(1).nonzero().flatten()
            finished = ~open_ | (last == EOS)
            slots = torch.arange(samples, device=device).expand_as(last)
            now = log_prob[rows]
            record_step(trees, rows, slots[rows], last[rows], now, now, finished[rows], seen[:, rows])
        open_ = open_ & (last != EOS) & (len(drawn) < limit)[:, None]
    tokens = torch.stack(drawn, dim=-1)  # (B, K, t)
    return [
        SearchResult([_hypothesis(row[slot], values[slot], tree, slot) for slot in range(samples)], tree)
        for row, values, tree in zip(tokens.tolist(), log_prob.tolist(), trees, strict=True)
    ]


def _columns(log_probs: Tensor, shares: Tensor) -> Tensor:
    """Return the columns, (B, K), where the cumulative distributions, (B, K, C), reach shares, (B, K), in [0, 1)."""
    summed = log_probs.double().exp().cumsum(-1)
    return torch.searchsorted(summed, (shares * summed[..., -1]).unsqueeze(-1), right=True).squeeze(-1)


def _head(scores: Tensor, top_k: int, top_p: float) -> Tensor:
    """Return the log-probabilities to draw from, (..., C): -inf outside the head of the distribution."""
    log_probs = scores.log_softmax(-1)
    if top_k:
        least = log_probs.topk(min(top_k, log_probs.shape[-1])).values[..., -1:]
        log_probs = log_probs.masked_fill(log_probs < least, -math.inf).log_softmax(-1)
    if top_p < 1:
        ordered, order = log_probs.sort(descending=True, stable=True)
        before = ordered.exp().cumsum(-1) - ordered.exp()  # the most probable one always stays
        tail = (before >= top_p).scatter(-1, order, before >= top_p)
        log_probs = log_probs.masked_fill(tail, -math.inf).log_softmax(-1)
    return log_probs


def _hypothesis(tokens: list[int], log_prob: float, tree: list[TreeStep], slot: int) -> Hypothesis:
    kept = [token for token in tokens if token != PAD]
    finished = bool(kept) and kept[-1] == EOS
    attention = attention_of(tree, slot, len(kept)) if tree else None
    return Hypothesis(tuple(kept[: len(kept) - finished]), log_prob, log_prob, finished, attention)
