"""Grid beam search: translations in which given phrases occur (Hokamp and Liu 2017).

A bank holds the best hypotheses with as many tokens of the phrases still to come. A free token stays in its bank; a
token of a phrase leads to the next. A phrase that has begun goes on to its end, and only hypotheses that have all
phrases may end.

Shapes: B sentences still being searched, K slots, P phrases of at most L tokens, n continuations of a slot.
"""

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from nmtlab.errors import RecipeError
from nmtlab.models.interface import MemoryT, Searchable, StateT, output_index
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.beam import BeamState, beam_search, search_from, start_beam
from nmtlab.search.constraints import Constraints
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.text.segmentation.vocabulary import EOS, PAD


@dataclass(frozen=True)
class _Grid(BeamState):
    """A beam in banks, those with the fewest tokens of phrases to come first."""

    phrases: Tensor  # (B, P, L) ids, padded
    met: Tensor  # (B, K, P) how many tokens of each phrase have occurred

    @property
    def lengths(self) -> Tensor:
        """(B, 1, P): tokens of each phrase."""
        return (self.phrases != PAD).sum(-1).unsqueeze(1)

    def continuations(self, log_probs: Tensor, output_ids: Tensor, beam_size: int) -> tuple[Tensor, Tensor]:
        """Return free tokens, and behind them the next token of each phrase, with -inf if it may not follow."""
        left = self.lengths - self.met  # (B, K, P)
        begun = (self.met > 0) & (left > 0)
        inside = begun.any(-1, keepdim=True)
        ids = self.phrases.unsqueeze(1).expand(-1, self.met.shape[1], -1, -1)
        due = ids.take_along_dim(self.met.clamp_max(ids.shape[-1] - 1).unsqueeze(-1), dim=-1).squeeze(-1)
        columns = output_index(output_ids, due)
        of_phrases = log_probs.gather(-1, columns).masked_fill(~torch.where(inside, begun, left > 0), -math.inf)

        to_come = left.sum(-1, keepdim=True)
        no_room = self.length.unsqueeze(-1) + 1 + to_come > self.limit.unsqueeze(-1)
        free = log_probs.masked_fill(inside | no_room | ((output_ids == EOS) & (to_come > 0)), -math.inf)
        # A phrase of one token that is still to come would be the same hypothesis once more.
        again = torch.where((left > 0) & (self.lengths == 1), -math.inf, 0.0).to(free.dtype)
        values, token = super().continuations(free.scatter_add(-1, columns, again), output_ids, beam_size)
        return torch.cat((values, of_phrases), dim=-1), torch.cat((token, due), dim=-1)

    def best(self, score: Tensor, beam_size: int) -> tuple[Tensor, Tensor]:
        """Return the best of each bank; a slot that none fills has score -inf."""
        to_come = (self.lengths - self.met).sum(-1, keepdim=True)  # (B, K, 1)
        columns = score.shape[1] // to_come.shape[1]
        of_phrase = torch.arange(columns, device=score.device) >= columns - self.met.shape[-1]
        bank = (to_come - of_phrase.long()).flatten(1)  # (B, K * n)
        banks = torch.arange(int(self.lengths.sum(-1).max()) + 1, device=score.device)
        in_bank = torch.where(bank.unsqueeze(1) == banks.unsqueeze(1), score.unsqueeze(1), -math.inf)
        ranked = in_bank.sort(dim=-1, descending=True, stable=True)
        return ranked.values[..., :beam_size].flatten(1), ranked.indices[..., :beam_size].flatten(1)

    def chosen(self, best: Tensor, columns: int) -> "_Grid":
        """Return the grid with how much of each phrase the chosen continuations have met."""
        phrases = self.met.shape[-1]
        free = columns - phrases
        met = self.met.take_along_dim((best // columns).unsqueeze(-1), dim=1)
        # Class 0 is a free token, class 1 the first phrase.
        phrase = F.one_hot((best % columns - free + 1).clamp_min(0), phrases + 1)[..., 1:]
        return replace(self, met=met + phrase)


@torch.inference_mode()
def grid_search(
    model: Searchable[MemoryT, StateT],
    memory: MemoryT,
    settings: SearchSettings,
    constraints: Constraints,
    n_best: int = 1,
    record: bool = False,
    language: str | None = None,
) -> list[SearchResult]:
    """Search for translations of a batch in which phrases occur, without overlap; without any, this is beam search.

    Args:
        model, memory, language: as of `beam.beam_search`.
        settings: beam size of each bank, score and limits; a limit is raised if prefix and phrases need more room.
        constraints: the phrases, and how translations begin; a phrase may occur in the beginning.
        n_best: how many hypotheses to return per sentence, at most.
        record: keep attention and the whole search tree, the banks side by side.

    Raises:
        RecipeError: the settings drop hypotheses that have yet to write their phrases, or may forbid a phrase.
    """
    if constraints.phrases is None or not constraints.phrases.any():
        return beam_search(model, memory, settings, n_best, record, constraints, language)
    if settings.prune_below:
        problem = f"search.prune_below = {settings.prune_below:g}: drops hypotheses that lack a word that must occur"
        raise RecipeError(problem, "set it to 0")
    if settings.block_ngrams:
        problem = f"search.block_ngrams = {settings.block_ngrams}: may forbid a word that must occur"
        raise RecipeError(problem, "set it to 0")
    beam = start_beam(model, memory, settings, constraints)
    met = torch.zeros(*constraints.phrases.shape[:2], dtype=torch.long, device=model.device).unsqueeze(1)
    grid = _Grid(**vars(beam), phrases=constraints.phrases, met=met)
    state = model.start(memory, language)
    kept = settings.beam_size if n_best > 1 else 1  # of which some may be the same
    results = search_from(model, state, grid, memory.mask, settings, kept, record, constraints)
    return [replace(result, hypotheses=_distinct(result.hypotheses)[:n_best]) for result in results]


def _distinct(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Return the best of those with the same tokens: a phrase may occur twice, and either is the one that is met."""
    found: dict[tuple[int, ...], Hypothesis] = {}
    for hypothesis in hypotheses:
        found.setdefault(hypothesis.tokens, hypothesis)
    return list(found.values())
