"""A model whose probabilities are written down, for searches whose answer is known."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from nmtlab.models.interface import Searchable, Step
from nmtlab.models.replacing import overwritten
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class ScriptedMemory:
    joint = None
    source: Tensor

    @property
    def lengths(self) -> Tensor:
        return self.mask.sum(1) - 1

    @property
    def mask(self) -> Tensor:
        return self.source != PAD

    def select(self, sentences: Tensor) -> "ScriptedMemory":
        return ScriptedMemory(self.source[sentences])


@dataclass(frozen=True)
class ScriptedState:
    output_ids: Tensor
    prefixes: list[list[tuple[int, ...]]]  # [sentence][slot]
    source: Tensor

    def select(self, rows: Tensor) -> "ScriptedState":
        slots = len(self.prefixes[0])
        prefixes = [
            [self.prefixes[row // slots][row % slots] if row >= 0 else () for row in sentence]
            for sentence in rows.tolist()
        ]
        return ScriptedState(self.output_ids, prefixes, self.source[rows.amax(1) // slots])

    def replace(self, sentences: Tensor, other: "ScriptedState", others: Tensor) -> "ScriptedState":
        prefixes = list(self.prefixes)
        for mine, theirs in zip(sentences.tolist(), others.tolist(), strict=True):
            prefixes[mine] = other.prefixes[theirs]
        return ScriptedState(self.output_ids, prefixes, overwritten(self.source, sentences, other.source[others]))


class ScriptedModel(Searchable):
    """Next-token log-probabilities are a function of the source sentence and the tokens so far.

    Args:
        types: size of the vocabulary; PAD and BOS are never produced.
        seed: of the distributions, which are drawn anew for every prefix.
        dtype: float64 for exact comparisons.
    """

    def __init__(self, types: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> None:
        self.output_ids = torch.arange(2, types)
        self.seed, self.dtype = seed, dtype
        self.steps = 0

    def log_probs(self, source: tuple[int, ...], prefix: tuple[int, ...]) -> Tensor:
        generator = torch.Generator().manual_seed(hash((self.seed, source, prefix)) % 2**31)
        logits = torch.randn(len(self.output_ids), generator=generator, dtype=self.dtype)
        return logits.mul(2).log_softmax(0)

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def directed(self, source: str, target: str) -> "ScriptedModel":
        return self

    def encode(self, source: Tensor, language: str | None = None) -> ScriptedMemory:
        return ScriptedMemory(source)

    def start(
        self, memory: ScriptedMemory, language: str | None = None, length: None = None, types: None = None
    ) -> ScriptedState:
        return ScriptedState(self.output_ids, [[()] for _ in memory.source], memory.source)

    def step(self, state: ScriptedState, token: Tensor, record: bool = False, attention: Tensor | None = None) -> Step:
        self.steps += 1
        prefixes = [
            [prefix + ((int(token[b, k]),) if token[b, k] != BOS else ()) for k, prefix in enumerate(slots)]
            for b, slots in enumerate(state.prefixes)
        ]
        sources = [tuple(t for t in row if t != PAD) for row in state.source.tolist()]
        values = [
            torch.stack([self.log_probs(sources[b], prefix) for prefix in slots]) for b, slots in enumerate(prefixes)
        ]
        attention = torch.stack(
            [torch.stack([self._attention(state.source[b], p) for p in s]) for b, s in enumerate(prefixes)]
        )
        return Step(
            torch.stack(values),
            ScriptedState(state.output_ids, prefixes, state.source),
            attention[None, :, :, None] if record else None,
        )

    def _attention(self, source: Tensor, prefix: tuple[int, ...]) -> Tensor:
        """Attend to one position after the other."""
        real = int((source != PAD).sum())
        weights = torch.zeros(len(source), dtype=self.dtype)
        weights[len(prefix) % real] = 1.0
        return weights


def every_translation(model: ScriptedModel, source: tuple[int, ...], limit: int) -> dict[tuple[int, ...], float]:
    """Return every translation of up to `limit` tokens, EOS included and left out of the key, with its log p."""
    found: dict[tuple[int, ...], float] = {}

    def extend(prefix: tuple[int, ...], log_prob: float) -> None:
        for token, value in zip(model.output_ids.tolist(), model.log_probs(source, prefix).tolist(), strict=True):
            if token == EOS:
                found[prefix] = log_prob + value
            elif len(prefix) + 1 < limit:
                extend((*prefix, token), log_prob + value)

    extend((), 0.0)
    return found


def score_of(settings, log_prob: float, length: int, source: int) -> float:
    """The scores of docs/guide/decoding.md, once more and plainly; both lengths count EOS."""
    if settings.score == "average":
        return log_prob / length
    if settings.score == "length-normalised":
        return log_prob / math.pow((5 + length) / 6, settings.alpha)
    if settings.score == "word-reward":
        return log_prob + settings.gamma * length
    if settings.score == "bounded-reward":
        return log_prob + settings.gamma * min(length, settings.reward_ratio * source)
    return log_prob
