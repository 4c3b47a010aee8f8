"""What every translation model can do: all that training, search and analysis may rely on.

Shapes: B sentences, K slots a sentence (hypotheses of a beam), S source and T target length, D width,
C columns of the output: the types that may be produced.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from nmtlab.errors import RunError
from nmtlab.text.batch import Batch
from nmtlab.text.vocabulary import PAD, UNK


def on_device(batch: Batch[np.ndarray], device: torch.device | str = "cpu") -> Batch[Tensor]:
    """Return a batch of arrays as tensors of a device."""
    return batch.map(lambda values: torch.from_numpy(values).to(device))


class Memory(Protocol):
    """What a model has made of the sources of B sentences, for its decoder to attend to.

    It is all that a search knows of them, and may be made of more than one source.

    Args:
        lengths: (B,) tokens of each source, EOS left out; what the length of a translation is limited by.
        mask: (B, S) bool, which positions can be attended to.
    """

    @property
    def lengths(self) -> Tensor: ...

    @property
    def mask(self) -> Tensor: ...

    def select(self, sentences: Tensor) -> "Memory":
        """Return the memory of some sentences, (B',), which may stand there more than once."""


class State(Protocol):
    """Where a decoder stands after some tokens, for every slot of every sentence, and what it may generate next.

    Args:
        output_ids: (C,) the type of each output column, ascending.
    """

    @property
    def output_ids(self) -> Tensor: ...

    def select(self, rows: Tensor) -> "State":
        """Return the state of other slots.

        Args:
            rows: (B', K') indices into the B * K present slots; the slots of one sentence continue slots of one
                sentence.
        """


def output_index(output_ids: Tensor, types: Tensor) -> Tensor:
    """Return the columns of types, (...), among output ids, (C,); a type that has none is scored as UNK (SPEC 1)."""
    types = types.contiguous()
    column = torch.searchsorted(output_ids, types).clamp_max(len(output_ids) - 1)
    unknown = torch.searchsorted(output_ids, torch.full_like(types, UNK))
    return torch.where(output_ids[column] == types, column, unknown)


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


class OutputTable(NamedTuple):
    """What the states of a decoder are scored by, which does not change from step to step.

    Args:
        ids: (C,) the type of each column, ascending.
        rows: (C, E), whose inner products with what the output layer reads are the logits.
        bias: (C,), added to them.
    """

    ids: Tensor
    rows: Tensor
    bias: Tensor


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

    plans_length = False
    """Whether the length of a translation is planned before it is begun, in place of an EOS at its end (SPEC 5)."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where it computes."""

    @abstractmethod
    def encode(self, source: Tensor, language: str | None = None) -> Any:
        """Return the `Memory` of source.

        Args:
            source: (B, S) ids, ended by EOS and padded with PAD.
            language: its code; the model's own source language if not given.
        """

    @abstractmethod
    def start(self, memory: Any, language: str | None = None, length: Tensor | None = None) -> Any:
        """Return the `State` before the first token, with one slot a sentence.

        Args:
            memory: of B sentences.
            language: code of what is translated into, which decides the output ids; the model's own if not given.
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

    def target_mask(self, target: Tensor) -> Tensor:
        """Return which tokens of padded targets, (B, T), are predicted: bool."""
        return target != PAD

    def length_log_probs(self, memory: Any) -> Tensor:
        """Return log-probabilities (B, n) of the lengths 0 to n - 1; of a model that plans them."""
        raise NotImplementedError


class TranslationModel(nn.Module, Searchable):
    """A model of p(target | source)."""

    language_codes: tuple[str, str] = ("", "")
    """Codes of the languages that it translates from and into; empty where they are not known."""

    @property
    def device(self) -> torch.device:
        return next((parameter.device for parameter in self.parameters()), torch.device("cpu"))

    @abstractmethod
    def forward(self, batch: Batch[Tensor], memory: Any = None) -> Tensor:
        """Return the decoder's states where tokens are predicted, see `target_mask`, row by row: (tokens, D).

        Args:
            batch: of sentence pairs.
            memory: of its source, where it is known already.
        """

    @abstractmethod
    def output_table(self, language: str | None = None) -> OutputTable:
        """Return what states are scored by in a language."""

    @abstractmethod
    def output(self, states: Tensor, table: OutputTable | None = None) -> Tensor:
        """Return logits, (..., C), for states, (..., D); with the model's own output table if none is given."""

    @abstractmethod
    def explain(self, states: Tensor) -> dict[str, Tensor]:
        """Return named terms, each (..., C), that add up to the logits of states, (..., D)."""

    @abstractmethod
    def inner_products(self, states: Tensor) -> dict[str, InnerProduct]:
        """Return those of the terms of `explain` that are inner products, by the same names."""

    @property
    @abstractmethod
    def output_ids(self) -> Tensor:
        """(C,) the type of each column of `output`, ascending, in the model's own target language."""

    def output_index(self, types: Tensor) -> Tensor:
        """Return the columns of types among `output_ids`; see `interface.output_index`."""
        return output_index(self.output_ids, types)

    def lexicon(self, source_types: Tensor) -> Tensor | None:
        """Return log-probabilities (n, C) of the translations of source types (n,), each by itself.

        None where the model has no lexicon.
        """
        return None

    @abstractmethod
    def sublayers(self) -> list[Sublayer]:
        """Return the normalised sublayers in order, the closing norms included."""

    @abstractmethod
    def embeddings(self) -> dict[str, Tensor]:
        """Return the embeddings as stored, by use: source, target, output, each (types, D)."""

    def check_languages(self, source: str | None = None, target: str | None = None) -> None:
        """Check that the model translates from and into some languages; those that are not given are its own.

        Raises:
            RunError: it does not.
        """
        for asked, own in zip((source, target), self.language_codes, strict=True):
            if asked and own and asked != own:
                raise RunError(
                    f"language {asked!r}: this model translates {self.language_codes[0]} to {self.language_codes[1]}",
                    "choose another run",
                )
