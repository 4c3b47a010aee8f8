"""Diverse beam search: each group of a beam is penalised for earlier groups' choices (Vijayakumar et al. 2018)."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from nmtlab.models.interface import Memory, MemoryT, Searchable, StateT
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.attention import last_layer
from nmtlab.search.beam import beam_search
from nmtlab.search.constraints import Constraints
from nmtlab.search.forced import forced_decode
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.scores import coverage_penalty, hypothesis_score
from nmtlab.search.tree import merge_trees
from nmtlab.text.batching.batches import pad
from nmtlab.text.segmentation.vocabulary import EOS, PAD


def diverse_beam_search(
    model: Searchable[MemoryT, StateT],
    memory: MemoryT,
    settings: SearchSettings,
    groups: int,
    diversity_penalty: float = 0.5,
    record: bool = False,
    language: str | None = None,
) -> list[SearchResult]:
    """Search for diverse translations of a batch.

    The groups are searched one after the other, not in step: each depends only on those before it.

    Args:
        model, memory, language: as of `beam.beam_search`.
        settings: of each group's search; the beam size is that of one group.
        groups: how many, from 1; the first is an ordinary beam.
        diversity_penalty: by how much the log-probability of a type is lowered at a step for each slot of an earlier
            group that has chosen it at that step, from 0.
        record: keep attention and the search tree, the groups' slots side by side.

    Returns:
        For each sentence the best of each group, in the order of the groups; their log-probabilities and scores are the
        model's, those in the tree include the penalty.
    """
    sentences = torch.arange(len(memory.lengths), device=memory.lengths.device)
    chosen = torch.empty(len(sentences), 0, 0, dtype=torch.long, device=sentences.device)
    found: list[list[SearchResult]] = [[] for _ in sentences]
    for _ in range(groups):
        constraints = Constraints(penalised_ids=chosen, diversity_penalty=diversity_penalty)
        results = beam_search(model, memory, settings, record=True, constraints=constraints, language=language)
        for by_group, result in zip(found, results, strict=True):
            by_group.append(result)
        chosen = _with_choices(chosen, results, settings.beam_size)
    return [
        SearchResult(
            _rescored(
                model,
                memory.select(sentence.expand(groups)),
                settings,
                [result.hypotheses[0] for result in by_group],
                record,
                language,
            ),
            merge_trees([result.tree for result in by_group]) if record else [],
        )
        for sentence, by_group in zip(sentences, found, strict=True)
    ]


def _with_choices(chosen: Tensor, results: list[SearchResult], slots: int) -> Tensor:
    """Return the types chosen so far at each step, (B, T, n), extended by another group's choices."""
    before = chosen.shape[1:]
    steps = max(before[0], *(len(result.tree) for result in results))
    extended = np.full((len(results), steps, before[1] + slots), PAD)
    extended[:, : before[0], : before[1]] = chosen.cpu().numpy()
    for row, result in zip(extended, results, strict=True):
        for index, step in enumerate(result.tree):
            row[index, before[1] : before[1] + len(step.token)] = step.token
    return torch.from_numpy(extended).to(chosen.device)


def _rescored(
    model: Searchable[MemoryT, StateT],
    memory: MemoryT,
    settings: SearchSettings,
    hypotheses: list[Hypothesis],
    record: bool,
    language: str | None,
) -> list[Hypothesis]:
    """Return hypotheses of one sentence, whose memory is repeated for each, with the model's scores of them."""
    target = torch.from_numpy(pad([(*h.tokens, EOS) for h in hypotheses])).to(memory.lengths.device)
    forced = forced_decode(model, memory, target, language)
    mask = _attended_tokens(memory)[0].cpu()
    source = memory.lengths[0].cpu() + 1
    rescored = []
    for hypothesis, decoding in zip(hypotheses, forced, strict=True):
        length = len(hypothesis.tokens) + hypothesis.finished
        log_prob = torch.tensor(decoding.log_probs[:length].sum(), dtype=torch.float64)
        penalty = log_prob.new_zeros(())
        if settings.coverage:
            attended = torch.from_numpy(last_layer(decoding.attention)[:, :length].mean(0).sum(0))
            penalty = coverage_penalty(settings, attended, mask)
        score = hypothesis_score(settings, log_prob, torch.tensor(length), penalty, source).item()
        kept = hypothesis.attention if record else None
        rescored.append(replace(hypothesis, log_prob=log_prob.item(), score=score, attention=kept))
    return rescored


def _attended_tokens(memory: Memory) -> Tensor:
    """Return which tokens of each sentence can be attended to, (B, tokens) bool; several sources follow each other."""
    if memory.joint is None:
        return memory.mask[:, : int(memory.lengths.max()) + 1]
    return memory.joint.by_token(memory.mask.float()[None, :, None, None])[0, :, 0, 0] > 0
