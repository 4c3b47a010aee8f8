"""What every translation model can do: all that training, search and analysis may rely on.

Shapes: B sentences, K slots a sentence (hypotheses of a beam), S source and T target length, D width,
C columns of the output: the allowed types, `output_types[c]` being the type of column c.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from nmtlab.text.batch import Batch
from nmtlab.text.vocabulary import PAD, UNK


def on_device(batch: Batch[np.ndarray], device: torch.device | str = "cpu") -> Batch[Tensor]:
    """Return a batch of arrays as tensors of a device."""
    return batch.map(lambda values: torch.from_numpy(values).to(device))


class State(Protocol):
    """Where a decoder stands after some tokens, for every slot of every sentence."""

    def select(self, rows: Tensor) -> "State":
        """Return the state of other slots.

        Args:
            rows: (B', K') indices into the B * K present slots; the slots of one sentence continue slots of one
                sentence.
        """


class Record(NamedTuple):
    """What a step saw, on request.

    Args:
        attention: weights on the source, (layers, B, K, heads, S).
    """

    attention: Tensor


class Step(NamedTuple):
    """One step of a decoder: log-probabilities (B, K, C), the state after it, and a record where asked for."""

    log_probs: Tensor
    state: Any
    record: Record | None


class InnerProduct(NamedTuple):
    """A term of the logits that is an inner product: vectors (..., E) with a row for each column, (C, E)."""

    vectors: Tensor
    rows: Tensor


class Sublayer(NamedTuple):
    """A sublayer's place: its norm's parameters begin with `name`."""

    name: str
    side: str  # encoder or decoder
    kind: str  # attention, cross-attention, feed-forward or final
    depth: int  # from 1


class Searchable(ABC):
    """What a search asks of a model: one model, or several that translate as one."""

    output_types: Tensor
    """(C,) the type of each output column, ascending."""

    plans_length = False
    """Whether the length of a translation is planned before it is begun, in place of an EOS at its end (SPEC 5)."""

    def columns(self, types: Tensor) -> Tensor:
        """Return the output columns of types; a type that is not allowed is scored as UNK (SPEC 1)."""
        types = types.contiguous()
        column = torch.searchsorted(self.output_types, types).clamp_max(len(self.output_types) - 1)
        unknown = torch.searchsorted(self.output_types, torch.full_like(types, UNK))
        return torch.where(self.output_types[column] == types, column, unknown)

    def attendable(self, source: Tensor) -> Tensor:
        """Return which tokens of source, (B, S) ids padded with PAD, can be attended to: bool."""
        return source != PAD

    @abstractmethod
    def encode(self, source: Tensor) -> Any:
        """Return the memory of source, (B, S) ids padded with PAD."""

    @abstractmethod
    def start(self, memory: Any, length: Tensor | None = None) -> Any:
        """Return the state before the first token, with one slot a sentence.

        Args:
            memory: of B sentences.
            length: (B, k) planned lengths in tokens, which a model that plans them needs: the state is then of B * k
                sentences, each as often as it has lengths.
        """

    @abstractmethod
    def step(self, state: Any, token: Tensor, record: bool = False, attention: Tensor | None = None) -> Step:
        """Read one token a slot, and score the next one.

        Args:
            state: where the decoder stands.
            token: (B, K) ids.
            record: also return what the step saw.
            attention: weights on the source that take the place of the model's own where they are not NaN,
                broadcastable to those of `Record`, (layers, B, K, heads, S).
        """

    def predicted(self, target: Tensor) -> Tensor:
        """Return which tokens of padded targets, (B, T), are predicted: bool."""
        return target != PAD

    def length_log_probs(self, memory: Any) -> Tensor:
        """Return log-probabilities (B, n) of the lengths 0 to n - 1; of a model that plans them."""
        raise NotImplementedError


class TranslationModel(nn.Module, Searchable):
    """A model of p(target | source)."""

    @abstractmethod
    def forward(self, batch: Batch[Tensor], memory: Any = None) -> Tensor:
        """Return the decoder's states where tokens are predicted, see `predicted`, row by row: (tokens, D).

        Args:
            batch: of sentence pairs.
            memory: of its source, where it is known already.
        """

    @abstractmethod
    def output(self, states: Tensor) -> Tensor:
        """Return logits, (..., C), for states, (..., D)."""

    @abstractmethod
    def explain(self, states: Tensor) -> dict[str, Tensor]:
        """Return named terms, each (..., C), that add up to the logits of states, (..., D)."""

    @abstractmethod
    def inner_products(self, states: Tensor) -> dict[str, InnerProduct]:
        """Return those of the terms of `explain` that are inner products, by the same names."""

    def lexicon(self, source_types: Tensor) -> Tensor | None:
        """Return log-probabilities (n, C) of the translations of source types (n,), each by itself.

        None where the model has no lexicon.
        """
        return None

    @abstractmethod
    def sublayers(self) -> list[Sublayer]:
        """Return the normalised sublayers in order, the closing norms included."""

    @abstractmethod
    def word_vectors(self) -> dict[str, Tensor]:
        """Return the embeddings as stored, by use: source, target, output, each (types, D)."""
