"""Beam search in which a finished hypothesis keeps its slot until better ones push it out (survey, Algorithm 3).

docs/guide/decoding.md says why, and when the search of a sentence ends.

Greedy search is a beam of one, and a planned length is a limit that every translation reaches.
Shapes: B sentences still being searched, K slots, S source length.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nmtlab.models.interface import MemoryT, Searchable, SourceModel, StateT
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.attention import last_layer
from nmtlab.search.blocking import without_repeats
from nmtlab.search.constraints import UNCONSTRAINED, Constraints
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.scores import coverage_penalty, highest_coverage, hypothesis_score, length_limit, optimistic_bound
from nmtlab.search.topk import stable_topk
from nmtlab.search.tree import TreeStep, attention_of, record_step
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class BeamState:
    """The slots of the sentences still being searched, best first within a sentence.

    With planned lengths, each pair of a sentence and one of its lengths counts as a sentence.
    """

    sentence: Tensor  # (B,) index in the batch
    limit: Tensor  # (B, 1) most tokens, EOS included; the length if it is planned
    tokens: Tensor  # (B, K, t) ids so far, PAD after EOS
    log_prob: Tensor  # (B, K), -inf in an empty slot
    length: Tensor  # (B, K) tokens so far, EOS included
    score: Tensor  # (B, K)
    finished: Tensor  # (B, K) ended, or empty
    attended: Tensor | None  # (B, K, S) sum of attention so far, if the score has a coverage penalty
    source: Tensor | None  # (B, 1) tokens of the source, EOS included, if the score may need it

    def keep(self, sentences: Tensor) -> "BeamState":
        """Return the beam of some of its sentences."""
        chosen = {name: value[sentences] for name, value in vars(self).items() if value is not None}
        return replace(self, **chosen)

    def continuations(self, log_probs: Tensor, output_ids: Tensor, beam_size: int) -> tuple[Tensor, Tensor]:
        """Return log-probabilities and types of the tokens that each slot may go on with, (B, K, n), best first.

        Args:
            log_probs: (B, K, C).
            output_ids: (C,) the type of each column.
            beam_size: most tokens of a slot.
        """
        values, columns = stable_topk(log_probs, min(beam_size, log_probs.shape[-1]))
        return values, output_ids[columns]

    def best(self, score: Tensor, beam_size: int) -> tuple[Tensor, Tensor]:
        """Return scores and places of the continuations that are kept, (B, K'), given the scores of all, (B, K * n)."""
        ranked = score.sort(dim=1, descending=True, stable=True)
        return ranked.values[:, :beam_size], ranked.indices[:, :beam_size]

    def chosen(self, best: Tensor, columns: int) -> "BeamState":
        """Return the beam with what its search keeps of the chosen continuations besides.

        Args:
            best: (B, K') their places among the (B, K * n) of all slots.
            columns: n, the continuations of a slot.
        """
        return self


@torch.inference_mode()
def beam_search(
    model: Searchable[MemoryT, StateT],
    memory: MemoryT,
    settings: SearchSettings,
    n_best: int = 1,
    record: bool = False,
    constraints: Constraints = UNCONSTRAINED,
    language: str | None = None,
) -> list[SearchResult]:
    """Search for translations of a batch; the result of a sentence does not depend on the others.

    Args:
        model: in evaluation mode.
        memory: of the sources.
        settings: beam size, score and limits.
        n_best: how many hypotheses to return per sentence, at most; the search continues until these are finished.
        record: keep attention and the whole search tree.
        constraints: how translations begin, and what the model attends to.
        language: code of the target language; the model's default if not given.
    """
    beam = start_beam(model, memory, settings, constraints)
    return search_from(model, model.start(memory, language), beam, memory.mask, settings, n_best, record, constraints)


def start_beam(
    model: SourceModel[MemoryT], memory: MemoryT, settings: SearchSettings, constraints: Constraints
) -> BeamState:
    """Return the beam of a batch before the first token; arguments as of `beam_search`."""
    limit = length_limit(model, memory, settings.extra_length).unsqueeze(1).clamp_min(constraints.min_length())
    beam = first_beam(limit, torch.zeros(limit.shape, device=limit.device))
    beam = replace(beam, source=memory.lengths.unsqueeze(1) + 1)
    if settings.coverage:
        beam = replace(beam, attended=torch.zeros_like(memory.mask, dtype=torch.float32).unsqueeze(1))
    return beam


def first_beam(limit: Tensor, log_prob: Tensor) -> BeamState:
    """Return the beam before the first token: one slot per sentence.

    Args:
        limit: (B, 1) most tokens of each sentence.
        log_prob: (B, 1) initial log-probability.
    """
    nothing = torch.zeros_like(limit)
    return BeamState(
        sentence=torch.arange(len(limit), device=limit.device),
        limit=limit,
        tokens=torch.empty(*limit.shape, 0, dtype=torch.long, device=limit.device),
        log_prob=log_prob,
        length=nothing,
        score=log_prob,
        finished=nothing.bool(),
        attended=None,
        source=None,
    )


def search_from(
    model: Searchable[MemoryT, StateT],
    state: StateT,
    beam: BeamState,
    source_mask: Tensor,
    settings: SearchSettings,
    n_best: int,
    record: bool,
    constraints: Constraints = UNCONSTRAINED,
) -> list[SearchResult]:
    """Continue the search from a beam and its state; other arguments as of `beam_search`.

    Args:
        source_mask: (B, S) bool, which positions of the sources can be attended to.
    """
    results: list[SearchResult | None] = [None] * len(beam.sentence)
    trees: list[list[TreeStep]] = [[] for _ in results]
    while True:
        before = beam
        parents, beam, state, seen = _advance(model, before, state, source_mask, settings, constraints, record)
        if seen is not None and record:
            slots = beam.tokens[..., -1], beam.log_prob, beam.score, beam.finished
            record_step(trees, beam.sentence, parents, *slots, attention=seen)
        done = _terminated(beam, source_mask, model.sources, settings, n_best)
        for row in done.nonzero().flatten().tolist():
            sentence = int(beam.sentence[row])
            results[sentence] = SearchResult(_hypotheses(beam, row, n_best, trees[sentence]), trees[sentence])
        if done.all():
            return results  # type: ignore[return-value]
        kept = (~done).nonzero().flatten()
        beam, source_mask = beam.keep(kept), source_mask[kept]
        rows = parents[kept] + kept[:, None] * before.tokens.shape[1]
        # A record has the attention of finished hypotheses, too.
        state = state.select(rows if record else rows.masked_fill(beam.finished, -1))


def _advance(
    model: Searchable[MemoryT, StateT],
    beam: BeamState,
    state: StateT,
    source_mask: Tensor,
    settings: SearchSettings,
    constraints: Constraints,
    record: bool,
) -> tuple[Tensor, BeamState, StateT, Tensor | None]:
    """Choose the best continuations: one step of the search for every sentence of the beam.

    Returns:
        parents (B, K'), the old slot that each new one continues; the new beam; and, still indexed by the old slots,
        the state after this step and its attention, if it was recorded.
    """
    sentences, _, steps = beam.tokens.shape
    last = beam.tokens[..., -1] if steps else torch.full((sentences, 1), BOS, device=beam.tokens.device)
    imposed = constraints.imposed(beam.sentence, steps)
    log_probs, state, seen = model.step(state, last, record or beam.attended is not None, imposed)
    output_ids = state.output_ids
    if settings.block_ngrams:
        others = without_repeats(log_probs, output_ids, beam.tokens, settings.block_ngrams)
        log_probs = torch.where(constraints.prescribes(beam.sentence, steps), log_probs, others)
    log_probs = constraints.constrain(output_ids, log_probs, beam.sentence, steps)
    if steps == 0 and not settings.allow_empty:
        log_probs = log_probs.masked_fill(output_ids == EOS, -math.inf)
    children = (settings.per_parent if steps else 0) or settings.beam_size
    values, token = beam.continuations(log_probs, output_ids, children)  # (B, K, n)
    # A finished hypothesis has a single continuation: itself.
    ended = beam.finished.unsqueeze(-1)
    stays = torch.arange(values.shape[-1], device=values.device) == 0
    values = torch.where(ended, torch.where(stays, 0.0, -math.inf), values)
    token = torch.where(ended, PAD, token)

    log_prob = (beam.log_prob.unsqueeze(-1) + values).flatten(1)  # (B, K*n)
    length = (beam.length + ~beam.finished).unsqueeze(-1).expand_as(token).flatten(1)
    attended, penalty = beam.attended, None
    if attended is not None and seen is not None:
        new = last_layer(seen).mean(-2).masked_fill(ended, 0.0)  # (B, K, S)
        attended = attended + new
        penalty = (
            coverage_penalty(settings, attended, source_mask.unsqueeze(1)).unsqueeze(-1).expand_as(token).flatten(1)
        )
    score = hypothesis_score(settings, log_prob, length, penalty, beam.source)
    score = score.masked_fill(log_prob == -math.inf, -math.inf)
    score, best = beam.best(score, settings.beam_size)

    columns = token.shape[-1]
    parents = best // columns
    token = token.flatten(1).gather(1, best)
    finished = beam.finished.gather(1, parents) | (token == EOS)
    if settings.prune_below:
        hopeless = score < score.amax(1, keepdim=True) - settings.prune_below
        score = score.masked_fill(hopeless & ~finished, -math.inf)
    tokens = beam.tokens.take_along_dim(parents.unsqueeze(-1), dim=1)
    after = replace(
        beam.chosen(best, columns),
        tokens=torch.cat((tokens, token.unsqueeze(-1)), dim=-1),
        log_prob=log_prob.gather(1, best).masked_fill(score == -math.inf, -math.inf),
        length=length.gather(1, best),
        score=score,
        finished=finished | (score == -math.inf),
        attended=None if attended is None else attended.take_along_dim(parents.unsqueeze(-1), dim=1),
    )
    return parents, after, state, seen


def _terminated(beam: BeamState, source_mask: Tensor, sources: int, settings: SearchSettings, n_best: int) -> Tensor:
    """Return which sentences, (B,), are done: no open hypothesis can still enter their n best."""
    finished_scores = torch.where(beam.finished, beam.score, -math.inf)
    threshold = finished_scores.sort(dim=1, descending=True).values[:, min(n_best, finished_scores.shape[1]) - 1]
    upper_bound = optimistic_bound(settings, beam.log_prob, beam.length, beam.limit, beam.source)
    if settings.coverage:
        most = sources * beam.limit  # a token can have an attention to each source
        upper_bound = upper_bound + settings.coverage * highest_coverage(settings, most, source_mask.unsqueeze(1))
    upper_bound = upper_bound.masked_fill(beam.finished, -math.inf)
    cannot_win = (upper_bound.amax(1) <= threshold) & (threshold > -math.inf)
    return beam.finished.all(1) | cannot_win | (beam.tokens.shape[-1] >= beam.limit.squeeze(1))


def _hypotheses(beam: BeamState, row: int, n_best: int, tree: list[TreeStep]) -> list[Hypothesis]:
    """Return the finished hypotheses of a sentence, best first; if there are none, those that were cut off."""
    found = []
    slots = zip(
        *(values[row].tolist() for values in (beam.tokens, beam.log_prob, beam.length, beam.score)), strict=True
    )
    for slot, (tokens, log_prob, length, score) in enumerate(slots):
        if score == -math.inf:
            continue
        tokens = tokens[:length]
        finished = tokens[-1] == EOS
        attention = attention_of(tree, slot, length) if tree else None
        found.append(Hypothesis(tuple(tokens[: length - finished]), log_prob, score, finished, attention))
    return ([h for h in found if h.finished] or found)[:n_best]
