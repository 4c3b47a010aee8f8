"""Greedy search through a stream of sentences: each that ends makes way for the next one (continuous batching).

It finds what a beam of one finds. Shapes: B sentences being translated.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nmtlab.models.interface import Searchable, SourceIds, State, encoded
from nmtlab.models.replacing import overwritten
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.scores import hypothesis_score, length_limit
from nmtlab.search.topk import stable_topk
from nmtlab.text.segmentation.vocabulary import BOS, EOS

_IDLE = 8
"""When nobody waits, the sentences that have ended are dropped once they are one in this many: that copies the rest."""


@dataclass(frozen=True)
class _Rows:
    """The sentences being translated.

    Args:
        state: of the decoder, with one slot per sentence.
        sentence: (B,) index among all sentences.
        source_length: (B,) tokens of the source, EOS included.
        limit: (B,) most tokens of the translation, EOS included.
        tokens: (B, T) BOS and the tokens so far; what follows them has no meaning.
        length: (B,) number of tokens so far, EOS included.
        log_prob: (B,) of these tokens.
        ended: (B,) bool.
    """

    state: State
    sentence: Tensor
    source_length: Tensor
    limit: Tensor
    tokens: Tensor
    length: Tensor
    log_prob: Tensor
    ended: Tensor

    def __len__(self) -> int:
        return len(self.sentence)

    def select(self, rows: Tensor) -> "_Rows":
        """Return some of the rows, (B',) indices, which may repeat."""
        chosen = {name: value[rows] for name, value in vars(self).items() if name != "state"}
        return replace(self, state=self.state.select(rows.unsqueeze(1)), **chosen)

    def with_ended(self, n: int) -> "_Rows":
        """Return the rows with copies that have ended, so that n have."""
        more = n - int(self.ended.sum())
        if more <= 0:
            return self
        place = torch.arange(len(self) + more, device=self.ended.device)
        longer = self.select(place.where(place < len(self), 0))
        return replace(longer, ended=longer.ended | (place >= len(self)))

    def replace(self, rows: Tensor, other: "_Rows", others: Tensor) -> "_Rows":
        """Return the rows with others in place of some, (n,) indices each; these rows are overwritten."""
        values = {name: value for name, value in vars(self).items() if name not in ("state", "tokens")}
        for name, value in values.items():
            value[rows] = getattr(other, name)[others].to(value.dtype)
        tokens = overwritten(self.tokens, rows, other.tokens[others])
        return replace(self, tokens=tokens, state=self.state.replace(rows, other.state, others))


class _Queue:
    """The sentences whose turn has not come, encoded group by group.

    Args:
        model, sources, settings, languages: as of `greedy_search`.
    """

    def __init__(
        self,
        model: Searchable,
        sources: Iterable[SourceIds],
        settings: SearchSettings,
        languages: tuple[str | None, str | None],
    ) -> None:
        self.unfinished: deque[range] = deque()  # the sentences of each group encoded so far
        self._encoded_so_far = 0
        self._groups = (self._encoded(model, source, settings, languages) for source in sources)
        self._group: _Rows | None = None
        self._taken = 0

    def first(self) -> _Rows | None:
        """Return the first group, if there is one."""
        return next(self._groups, None)

    def admit(self, rows: _Rows) -> _Rows | None:
        """Return the rows with waiting sentences in place of those that have ended; None if no sentence is left."""
        while (group := self._waiting()) and (n := self._room(rows, group)) > 0:
            rows = rows.with_ended(n)
            others = torch.arange(self._taken, self._taken + n, device=rows.ended.device)
            rows = rows.replace(rows.ended.nonzero().squeeze(1)[:n], group, others)
            self._taken += n
        going_on = (~rows.ended).nonzero().squeeze(1)
        if not len(going_on):
            return None
        return rows.select(going_on) if (len(rows) - len(going_on)) * _IDLE >= len(rows) else rows

    def _waiting(self) -> _Rows | None:
        if self._group is None or self._taken == len(self._group):
            self._group, self._taken = next(self._groups, None), 0
        return self._group

    def _room(self, rows: _Rows, group: _Rows) -> int:
        """Return how many more sentences of the waiting group can begin, with twice its padded tokens at most."""
        going_on = ~rows.ended
        longest = int(group.source_length.max())
        padded = max(longest, int(rows.source_length.where(going_on, 0).max()))
        most = min(len(group), 2 * len(group) * longest // padded)
        return min(most - int(going_on.sum()), len(group) - self._taken)

    def _encoded(
        self, model: Searchable, source: SourceIds, settings: SearchSettings, languages: tuple[str | None, str | None]
    ) -> _Rows:
        memory = encoded(model, source, languages[0])
        limit = length_limit(model, memory, settings.extra_length)
        sentences = range(self._encoded_so_far, self._encoded_so_far + len(limit))
        self._encoded_so_far = sentences.stop
        self.unfinished.append(sentences)
        # What follows EOS is written, too, into the place behind the longest translation.
        tokens = torch.full((len(limit), int(limit.max()) + 2), BOS, device=limit.device)
        return _Rows(
            state=model.start(memory, languages[1]),
            sentence=torch.tensor(sentences, device=limit.device),
            source_length=memory.lengths + 1,
            limit=limit,
            tokens=tokens,
            length=torch.zeros_like(limit),
            log_prob=torch.zeros(limit.shape, device=limit.device),
            ended=torch.zeros_like(limit, dtype=torch.bool),
        )


@torch.inference_mode()
def greedy_search(
    model: Searchable,
    sources: Iterable[SourceIds],
    settings: SearchSettings,
    languages: tuple[str | None, str | None] = (None, None),
    scored: bool = True,
) -> Iterator[list[SearchResult]]:
    """Search for translations of groups of sentences; the result of a sentence does not depend on the others.

    Args:
        model: in evaluation mode.
        sources: groups of ids, (B, S) each, ending in EOS and padded with PAD; as many sentences are translated at
            once as are in the group whose turn it is. It is fastest with the longest sentences first.
        settings: limits, and the score that results are given, without coverage.
        languages: codes of the source and target language; the model's defaults if not given.
        scored: whether log-probabilities and scores are asked for; otherwise they are NaN, and most models compute no
            softmax. The translations are the same, unless a softmax rounds two best logits to one probability.

    Yields:
        The results of each group, in order.
    """
    model = model if scored else model.unnormalised()
    queue = _Queue(model, sources, settings, languages)
    results: dict[int, SearchResult] = {}
    rows = queue.first()
    while rows is not None:
        longer = _longer(model, rows, settings)
        ended = (longer.ended & ~rows.ended).nonzero().squeeze(1)
        rows = longer
        if len(ended):
            results.update(_results(rows, ended, settings, scored))
            rows = queue.admit(rows)
            while queue.unfinished and all(number in results for number in queue.unfinished[0]):
                yield [results.pop(number) for number in queue.unfinished.popleft()]


def _longer(model: Searchable, rows: _Rows, settings: SearchSettings) -> _Rows:
    """Return the rows with one more token each; those that have ended stay as they are."""
    last = rows.tokens.gather(1, rows.length.unsqueeze(1))
    log_probs, state, _ = model.step(rows.state, last)
    output_ids = state.output_ids
    first = rows.length == 0
    if not settings.allow_empty and first.any():
        log_probs = log_probs.masked_fill(first[:, None, None] & (output_ids == EOS), -math.inf)
    value, column = (best.flatten() for best in stable_topk(log_probs, 1))
    token = output_ids[column]
    going_on = ~rows.ended
    length = rows.length + going_on
    return replace(
        rows,
        state=state,
        tokens=rows.tokens.scatter(1, (rows.length + 1).unsqueeze(1), token.unsqueeze(1)),
        length=length,
        log_prob=torch.where(going_on, rows.log_prob + value, rows.log_prob),
        ended=rows.ended | (token == EOS) | (length >= rows.limit),
    )


def _results(rows: _Rows, ended: Tensor, settings: SearchSettings, scored: bool) -> dict[int, SearchResult]:
    """Return the results of some rows, (n,), by the index of their sentence."""
    length, log_prob = rows.length[ended], rows.log_prob[ended]
    log_prob = log_prob if scored else torch.full_like(log_prob, math.nan)
    scores = hypothesis_score(settings, log_prob, length, source=rows.source_length[ended]).tolist()
    columns = (rows.sentence[ended], rows.tokens[ended, 1:], length, log_prob)
    found = {}
    for number, tokens, n, total, score in zip(*(column.tolist() for column in columns), scores, strict=True):
        finished = tokens[n - 1] == EOS
        found[number] = SearchResult([Hypothesis(tuple(tokens[: n - finished]), total, score, finished)])
    return found
