"""Exact search: the model's global best translation (Stahlberg and Byrne, 2019; docs/guide/decoding.md).

Depth-first branch and bound: a hypothesis that cannot beat the best complete score so far is pruned. A beam's result is
a good first bound. Continuations of equal length are expanded in batches, the most probable first.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from nmtlab.errors import RecipeError
from nmtlab.models.interface import Memory, Searchable, State
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.search.scores import hypothesis_score, length_limit, optimistic_bound
from nmtlab.text.segmentation.vocabulary import BOS, EOS

_BRANCH_BATCH = 16
"""Hypotheses that are expanded together."""


@dataclass(frozen=True)
class ExactResult:
    """The result of an exact search for one sentence.

    Args:
        best: the best translation; None if none was found within the length limit and the budget.
        expansions: how many hypotheses were expanded.
        complete: whether `best` is the global best; otherwise the budget ended the search.
    """

    best: Hypothesis | None
    expansions: int
    complete: bool


@dataclass
class _Level:
    """Continuations of some hypotheses of the same length, the most probable first; those before `next` are done.

    Shapes: K hypotheses, n continuations.
    """

    state: State
    tokens: Tensor  # (K, t)
    parents: Tensor  # (n,) which hypothesis each continues
    types: Tensor  # (n,) with which type
    log_probs: Tensor  # (n,)
    next: int = 0


def exact_search(
    model: Searchable,
    memory: Memory,
    settings: SearchSettings,
    start: Hypothesis | None = None,
    budget: int = 100_000,
    language: str | None = None,
) -> ExactResult:
    """Search for the best translation of one sentence.

    Args:
        model, memory, language: as of `beam.beam_search`.
        settings: score and limits; the beam size is ignored.
        start: a known translation, for example from a beam search; the result is never worse.
        budget: most hypotheses to expand, from 1.

    Raises:
        RecipeError: the score has a coverage penalty, for which there is no bound.
    """
    search = ExactSearch(model, memory, settings, start, language)
    complete = search.run(budget)
    return ExactResult(search.best, search.expansions, complete)


class ExactSearch:
    """An exact search that can be continued; arguments as of `exact_search`.

    `best` is the best translation so far, `expansions` the number of hypotheses expanded.
    """

    def __init__(
        self,
        model: Searchable,
        memory: Memory,
        settings: SearchSettings,
        start: Hypothesis | None = None,
        language: str | None = None,
    ) -> None:
        if settings.coverage:
            raise RecipeError(
                f"search.coverage = {settings.coverage:g}: exact search has no bound for it", "set it to 0"
            )
        self._model, self._memory, self._settings, self._language = model, memory, settings, language
        self._limit = int(length_limit(model, memory, settings.extra_length))
        self._source = memory.lengths + 1
        self._levels: list[_Level] | None = None
        self.expansions = 0
        self.best: Hypothesis | None = None
        if start is not None and start.finished:
            self._update_incumbent(start.tokens, torch.tensor(start.log_prob, dtype=torch.float64))

    @torch.inference_mode()
    def run(self, budget: int) -> bool:
        """Continue until `budget` hypotheses were expanded in total; return whether the search is complete."""
        if self._levels is None:
            device = self._memory.lengths.device
            first = torch.empty(1, 0, dtype=torch.long, device=device)
            state = self._model.start(self._memory, self._language)
            self._levels = [self._continue(state, first, torch.zeros(1, device=device))]
        while self._levels:
            level = self._levels[-1]
            some = slice(level.next, level.next + _BRANCH_BATCH)
            promising = int(
                (self._upper_bound(level.log_probs[some], level.tokens.shape[1] + 1) > self._incumbent_score).sum()
            )
            if not promising:  # later ones are less probable still
                self._levels.pop()
                continue
            if self.expansions >= budget:
                return False
            some = slice(level.next, level.next + min(promising, budget - self.expansions))
            level.next = some.stop
            rows = level.parents[some]
            tokens = torch.cat((level.tokens[rows], level.types[some, None]), dim=1)
            self._levels.append(self._continue(level.state.select(rows[None]), tokens, level.log_probs[some]))
        return True

    @property
    def _incumbent_score(self) -> float:
        return -math.inf if self.best is None else self.best.score

    def _upper_bound(self, log_probs: Tensor, length: int) -> Tensor:
        """Return the best scores that open hypotheses of `length` tokens can still reach."""
        lengths = torch.full_like(log_probs, length)
        limits = torch.full_like(log_probs, self._limit)
        return optimistic_bound(self._settings, log_probs, lengths, limits, self._source)

    def _continue(self, state: State, tokens: Tensor, log_prob: Tensor) -> _Level:
        """Expand hypotheses, (K, t) and (K,): keep the best finished one, return the promising open ones."""
        self.expansions += len(tokens)
        length = tokens.shape[1]
        last = tokens[:, -1] if length else torch.full((1,), BOS, device=tokens.device)
        step = self._model.step(state, last[None])
        total = log_prob[:, None] + step.log_probs[0]  # (K, C)
        ends = state.output_ids == EOS
        if length or self._settings.allow_empty:
            self._end(tokens, total[:, ends].flatten())
        open_ = total.masked_fill(ends, -math.inf)
        if length + 2 > self._limit:
            open_ = torch.full_like(open_, -math.inf)
        flat = open_.flatten()
        worth = (self._upper_bound(flat, length + 1) > self._incumbent_score).nonzero().flatten()
        values, order = flat[worth].sort(descending=True, stable=True)
        index = worth[order]
        columns = total.shape[1]
        return _Level(step.state, tokens, index // columns, state.output_ids[index % columns], values)

    def _end(self, tokens: Tensor, log_prob: Tensor) -> None:
        """Keep the best of some translations, (K, t) without EOS and (K,), if it beats the incumbent."""
        score, index = self._score(log_prob, tokens.shape[1] + 1).max(0)
        if score > self._incumbent_score:
            self._update_incumbent(tuple(tokens[index].tolist()), log_prob[index])

    def _update_incumbent(self, tokens: tuple[int, ...], log_prob: Tensor) -> None:
        score = self._score(log_prob, len(tokens) + 1).item()
        self.best = Hypothesis(tokens, log_prob.item(), score, finished=True)

    def _score(self, log_prob: Tensor, length: int) -> Tensor:
        lengths = torch.full_like(log_prob, length)
        return hypothesis_score(self._settings, log_prob, lengths, source=self._source)
