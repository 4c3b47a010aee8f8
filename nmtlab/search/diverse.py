"""Diverse beam search: groups of a beam, each kept from saying what those before it say (Vijayakumar et al. 2018)."""

from dataclasses import replace

import torch
from torch import Tensor

from nmtlab.models.interface import TranslationModel
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.forced import force
from nmtlab.search.given import Given
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.scores import hypothesis_score
from nmtlab.text.batches import pad
from nmtlab.text.vocabulary import EOS, PAD


def diverse_beam_search(
    model: TranslationModel, source: Tensor, settings: SearchSettings, groups: int, strength: float = 0.5
) -> list[list[Hypothesis]]:
    """Search for translations of a batch that differ.

    A group does not wait for the others at each step: it depends on those before it alone, and these are searched
    first.

    Args:
        model: in evaluation mode.
        source: (sentences, S) ids ended by EOS, padded.
        settings: of each group's search; its beam size is that of a group.
        groups: how many, from 1; the first is an ordinary beam.
        strength: what is taken off a type's log-probability at a step for each slot of the groups before that has
            chosen it there, from 0.

    Returns:
        The best of each group, in the order of the groups, for each sentence; their log-probabilities and scores are
        the model's own.
    """
    penalty = torch.zeros(len(source), 0, len(model.output_types), device=source.device)
    found: list[list[Hypothesis]] = [[] for _ in source]
    for _ in range(groups):
        results = beam_search(model, source, settings, record=True, given=Given(penalty=penalty))
        for hypotheses, result in zip(found, results, strict=True):
            hypotheses.append(result.hypotheses[0])
        penalty = _with_choices(penalty, model, results, strength)
    return [_rescored(model, row[row != PAD], settings, own) for row, own in zip(source, found, strict=True)]


def _with_choices(penalty: Tensor, model: TranslationModel, results: list[SearchResult], strength: float) -> Tensor:
    """Return the penalty, (B, T, C), with what a group has chosen at each step added."""
    steps = max(penalty.shape[1], *(len(result.tree) for result in results))
    longer = penalty.new_zeros(penalty.shape[0], steps, penalty.shape[2])
    longer[:, : penalty.shape[1]] = penalty
    for sentence, result in enumerate(results):
        for place, step in enumerate(result.tree):
            token = torch.from_numpy(step.token[step.token != PAD]).to(penalty.device)
            columns = model.columns(token)
            longer[sentence, place].index_add_(0, columns, torch.full_like(columns, 1, dtype=longer.dtype) * strength)
    return longer


def _rescored(
    model: TranslationModel, source: Tensor, settings: SearchSettings, hypotheses: list[Hypothesis]
) -> list[Hypothesis]:
    """Return hypotheses of one sentence, (S,), with what the model itself says of them."""
    target = torch.from_numpy(pad([(*h.tokens, EOS) for h in hypotheses])).to(source.device)
    forced = force(model, source.expand(len(hypotheses), -1), target)
    rescored = []
    for hypothesis, own in zip(hypotheses, forced, strict=True):
        length = len(hypothesis.tokens) + hypothesis.finished
        log_prob = torch.tensor(own.log_probs[:length].sum(), dtype=torch.float64)
        score = hypothesis_score(settings, log_prob, torch.tensor(length)).item()
        rescored.append(replace(hypothesis, log_prob=log_prob.item(), score=score, attention=None))
    return rescored
