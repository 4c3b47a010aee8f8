"""The score of a hypothesis, and the best score that an open one can still reach.

docs/guide/decoding.md has the formulas.
Lengths |y| count EOS.
"""

import math

import torch
from torch import Tensor

from nmtlab.errors import RecipeError
from nmtlab.models.interface import MemoryT, SourceModel
from nmtlab.recipe.search import SearchSettings


def hypothesis_score(
    settings: SearchSettings,
    log_prob: Tensor,
    length: Tensor,
    coverage: Tensor | None = None,
    source: Tensor | None = None,
) -> Tensor:
    """Return the score of hypotheses that a search maximises.

    Args:
        settings: which score, with its alpha, gamma and coverage weight.
        log_prob: log p(y | x), any shape.
        length: |y|, broadcastable to `log_prob`, from 1.
        coverage: from `coverage_penalty`, broadcastable to `log_prob`; required if the coverage weight is not 0.
        source: |x|, EOS included, broadcastable to `log_prob`; a bounded reward (Yang et al. 2018) needs it.
    """
    score = _scored(settings, log_prob, length, source)
    return score if coverage is None else score + settings.coverage * coverage


def formula(settings: SearchSettings, plans_length: bool = False) -> str:
    """Return the score that a search maximises in symbols, such as `log p / length`.

    Args:
        plans_length: whether the model plans lengths; its hypotheses are scored by eq 4.1 of the thesis.
    """
    if plans_length:
        return f"log p(tokens) + {settings.length_weight:g} log p(length)"
    score = {
        "log-prob": "log p",
        "average": "log p / length",
        "length-normalised": f"log p / ((5 + length) / 6)^{settings.alpha:g}",
        "word-reward": f"log p + {settings.gamma:g} length",
        "bounded-reward": f"log p + {settings.gamma:g} min(length, {settings.reward_ratio:g} source length)",
    }[settings.score]
    return score + (f" + {settings.coverage:g} coverage" if settings.coverage else "")


def optimistic_bound(
    settings: SearchSettings, log_prob: Tensor, length: Tensor, limit: Tensor, source: Tensor | None = None
) -> Tensor:
    """Return an upper bound on the score that an open hypothesis can reach at any length up to the limit.

    log p can only fall, so the bound depends only on the best length. It is without coverage: see `highest_coverage`.

    Args:
        settings: which score.
        log_prob: log p of the tokens so far, any shape.
        length: number of tokens so far, broadcastable; the shortest translation has one more, EOS.
        limit: most tokens allowed, EOS included, broadcastable.
        source: as of `hypothesis_score`.
    """
    if settings.score in ("word-reward", "bounded-reward") and settings.gamma < 0:
        return _scored(settings, log_prob, torch.minimum(length + 1, limit), source)
    return _scored(settings, log_prob, limit, source)


def coverage_penalty(settings: SearchSettings, attention_sum: Tensor, source_mask: Tensor) -> Tensor:
    """Return the sum of log min(a, 1) of Wu et al. (2016), or log max(a, β) of Li et al. (2018), over source positions.

    Args:
        settings: which of them, and β, below which no a counts.
        attention_sum: a, the total attention to each source position, (..., S).
        source_mask: (..., S) bool, False at padding.
    """
    most = 1.0 if settings.coverage_form == "wu" else math.inf
    logs = attention_sum.clamp(settings.coverage_floor, most).log()
    return logs.masked_fill(~source_mask, 0.0).sum(-1)


def highest_coverage(settings: SearchSettings, limit: Tensor, source_mask: Tensor) -> Tensor:
    """Return an upper bound on the coverage of a translation: 0 by Wu et al., S log(N/S + β) by Li et al.

    A sum of logarithms is highest where the attention is spread evenly.

    Args:
        limit: N, the most attention in all, (...): 1 for each token, EOS included, and each attention to a source.
        source_mask: (..., S) bool, False at padding.
    """
    if settings.coverage_form == "wu":
        return torch.zeros_like(limit, dtype=torch.float32)
    positions = source_mask.sum(-1)
    return (positions * (limit / positions + settings.coverage_floor).log()).clamp_min(0.0)


def _scored(settings: SearchSettings, log_prob: Tensor, length: Tensor, source: Tensor | None) -> Tensor:
    length = length.to(log_prob.dtype)
    if settings.score == "average":
        return log_prob / length
    if settings.score == "length-normalised":
        return log_prob / ((5 + length) / 6) ** settings.alpha
    if settings.score == "word-reward":
        return log_prob + settings.gamma * length
    if settings.score == "bounded-reward":
        if source is None:
            problem = "search.score = 'bounded-reward': needs the length of the source, which is not known here"
            raise RecipeError(problem, "choose another score")
        return log_prob + settings.gamma * torch.minimum(length, settings.reward_ratio * source.to(length))
    return log_prob


def length_limit(model: SourceModel[MemoryT], memory: MemoryT, extra_length: int) -> Tensor:
    """Return the most tokens of each translation, EOS included: (B,) from 1.

    They are `extra_length` beyond its source, or the most that the model can generate.
    """
    return (memory.lengths + extra_length).clamp(1, model.longest)
