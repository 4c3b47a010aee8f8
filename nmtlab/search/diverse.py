"""Diverse beam search: groups of a beam, each kept from saying what those before it say (Vijayakumar et al. 2018)."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from nmtlab.models.interface import Memory, Searchable
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.constraints import Constraints
from nmtlab.search.forced import forced_decode
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.scores import coverage_penalty, hypothesis_score
from nmtlab.search.tree import merge_trees
from nmtlab.text.batches import pad
from nmtlab.text.vocabulary import EOS, PAD


def diverse_beam_search(
    model: Searchable,
    memory: Memory,
    settings: SearchSettings,
    groups: int,
    diversity_penalty: float = 0.5,
    record: bool = False,
    language: str | None = None,
) -> list[SearchResult]:
    """Search for translations of a batch that differ.

    A group does not wait for the others at each step: it depends on those before it alone, and these are searched
    first.

    Args:
        model: in evaluation mode.
        memory: of its sources.
        settings: of each group's search; its beam size is that of a group.
        groups: how many, from 1; the first is an ordinary beam.
        diversity_penalty: by how much the log-probability of a type is lowered at a step for each slot of the groups
            before that has chosen it there, from 0.
        record: keep attention and the search tree, the groups' slots side by side.
        language: code of what is translated into; the model's own if not given.

    Returns:
        For each sentence the best of each group, in the order of the groups; their log-probabilities and scores are the
        model's own, those in the tree what the groups went by.
    """
    sentences = torch.arange(len(memory.lengths), device=memory.lengths.device)
    said = torch.empty(len(sentences), 0, 0, dtype=torch.long, device=sentences.device)
    found: list[list[SearchResult]] = [[] for _ in sentences]
    for _ in range(groups):
        constraints = Constraints(penalised_ids=said, diversity_penalty=diversity_penalty)
        results = beam_search(model, memory, settings, record=True, constraints=constraints, language=language)
        for own, result in zip(found, results, strict=True):
            own.append(result)
        said = _with_choices(said, results, settings.beam_size)
    return [
        SearchResult(
            _rescored(
                model,
                memory.select(sentence.expand(groups)),
                settings,
                [result.hypotheses[0] for result in own],
                record,
                language,
            ),
            merge_trees([result.tree for result in own]) if record else [],
        )
        for sentence, own in zip(sentences, found, strict=True)
    ]


def _with_choices(said: Tensor, results: list[SearchResult], slots: int) -> Tensor:
    """Return what was said at each step, (B, T, n), with what another group's slots have chosen there."""
    before = said.shape[1:]
    steps = max(before[0], *(len(result.tree) for result in results))
    longer = np.full((len(results), steps, before[1] + slots), PAD)
    longer[:, : before[0], : before[1]] = said.cpu().numpy()
    for own, result in zip(longer, results, strict=True):
        for place, step in enumerate(result.tree):
            own[place, before[1] : before[1] + len(step.token)] = step.token
    return torch.from_numpy(longer).to(said.device)


def _rescored(
    model: Searchable,
    memory: Memory,
    settings: SearchSettings,
    hypotheses: list[Hypothesis],
    record: bool,
    language: str | None,
) -> list[Hypothesis]:
    """Return hypotheses of one sentence, whose memory stands there once for each, with what the model says of them."""
    target = torch.from_numpy(pad([(*h.tokens, EOS) for h in hypotheses])).to(memory.lengths.device)
    forced = forced_decode(model, memory, target, language)
    mask = memory.mask[0, : int(memory.lengths[0]) + 1].cpu()
    rescored = []
    for hypothesis, own in zip(hypotheses, forced, strict=True):
        length = len(hypothesis.tokens) + hypothesis.finished
        log_prob = torch.tensor(own.log_probs[:length].sum(), dtype=torch.float64)
        attended = torch.from_numpy(own.attention[-1, :, :length].mean(0).sum(0))
        penalty = coverage_penalty(attended, mask)
        score = hypothesis_score(settings, log_prob, torch.tensor(length), penalty).item()
        kept = hypothesis.attention if record else None
        rescored.append(replace(hypothesis, log_prob=log_prob.item(), score=score, attention=kept))
    return rescored
