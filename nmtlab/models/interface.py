"""The interface of translation models, on which training, search and analysis rely.

Shapes: B sentences, K slots per sentence (hypotheses of a beam), S source and T target length, D width,
C columns of the output: the types that may be produced.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from nmtlab.errors import RunError
from nmtlab.models.several import Joint
from nmtlab.nn.clipped import ProductInput
from nmtlab.nn.matrix_tree import Heads
from nmtlab.nn.precision import widened
from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.vocabulary import PAD, UNK


def on_device(batch: Batch[np.ndarray], device: torch.device | str = "cpu") -> Batch[Tensor]:
    """Return a batch of arrays as tensors on a device."""
    return batch.map(lambda values: torch.from_numpy(values).to(device))


class Memory(Protocol):
    """The encoded sources of B sentences, for the decoder to attend to.

    A search knows the sources only through it. S are the positions of all sources of a sentence.

    Args:
        lengths: (B,) tokens of each source without EOS; they limit the length of a translation.
        mask: (B, S) bool, which positions can be attended to.
        joint: where the positions come from if there are several sources.
    """

    @property
    def lengths(self) -> Tensor: ...

    @property
    def mask(self) -> Tensor: ...

    @property
    def joint(self) -> Joint | None: ...

    def select(self, sentences: Tensor) -> Self:
        """Return the memory of some sentences, (B',) indices, which may repeat."""


class State(Protocol):
    """The state of a decoder after some tokens, for every slot of every sentence, and what it may generate next.

    Args:
        output_ids: (C,) the type of each output column, ascending.
    """

    @property
    def output_ids(self) -> Tensor: ...

    def select(self, rows: Tensor) -> Self:
        """Return the state of other slots.

        Args:
            rows: (B', K') indices into the B * K present slots; the slots of one sentence continue slots of one
                sentence. A negative index marks a slot that has ended: what the next step returns for it is
                meaningless. Every sentence has a slot that has not.
        """

    def replace(self, sentences: Tensor, other: Self, others: Tensor) -> Self:
        """Return the state with other sentences in place of some, where there is one slot per sentence.

        This state is overwritten, and the memory that it attends to: neither can be used any more.

        Args:
            sentences: (n,) indices of those that make way.
            other: before the first token, of the same model in the same language.
            others: (n,) indices of its sentences.
        """


MemoryT = TypeVar("MemoryT", bound=Memory)
StateT = TypeVar("StateT", bound=State)


def output_index(output_ids: Tensor, types: Tensor) -> Tensor:
    """Return the columns of types, (...), among output ids, (C,); a type without a column is scored as UNK."""
    types = types.contiguous()
    column = torch.searchsorted(output_ids, types).clamp_max(len(output_ids) - 1)
    unknown = torch.searchsorted(output_ids, torch.full_like(types, UNK))
    return torch.where(output_ids[column] == types, column, unknown)


class Step(NamedTuple, Generic[StateT]):
    """One step of a decoder.

    Args:
        log_probs: (B, K, C).
        state: after the step.
        attention: weights on the source, (layers, B, K, heads, S), if requested; no layers without attention.
    """

    log_probs: Tensor
    state: StateT
    attention: Tensor | None = None


class OutputTable(NamedTuple):
    """The parameters that turn decoder states into logits, the same at every step.

    Args:
        ids: (C,) the type of each column, ascending.
        rows: (C, E), whose inner products with the input of the output layer are the logits.
        bias: (C,), added to the logits.
    """

    ids: Tensor
    rows: Tensor
    bias: Tensor

    def subset(self, types: Tensor | None) -> "OutputTable":
        """Return the columns of some types, (n,), as far as they have one; of all if none are given."""
        if types is None:
            return self
        columns = torch.isin(self.ids, types).nonzero().squeeze(1)
        return OutputTable(*(part.index_select(0, columns) for part in self))


def with_mixture(terms: dict[str, Tensor], mixed: Tensor) -> dict[str, Tensor]:
    """Return the terms of logits, and what the mixture with copies adds to their sum, as a term of that name."""
    return {**terms, "mixture": mixed - torch.stack([*terms.values()]).sum(0)}


class InnerProduct(NamedTuple):
    """A term of the logits that is an inner product: vectors (..., E) with a row for each column, (C, E)."""

    vectors: Tensor
    rows: Tensor


WORD_TERMS = ("word", "shared", "private")
"""Names of the inner products with a word's vector: with the whole of it, or with its shared and private units."""


class Sublayer(NamedTuple):
    """A sublayer's position in the model: the names of its norm's parameters begin with `name`."""

    name: str
    side: str  # encoder or decoder
    kind: str  # attention, cross-attention, feed-forward or final
    depth: int  # from 1


LanguageCodes = tuple[Sequence[str], Sequence[str]]
"""Codes of the source languages and of the target languages; empty if not known."""


class SourceModel(ABC, Generic[MemoryT]):
    """What is computed of a source before its translation."""

    plans_length = False
    """Whether the model plans the length of a translation in advance instead of generating EOS."""

    longest: int | None = None
    """Most tokens of a translation that the model can generate, EOS included; None: any number."""

    sources: int = 1
    """Number of sources that are translated together."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """The device of the model."""

    @abstractmethod
    def encode(self, source: Tensor, language: str | None = None, *, more: Sequence[Tensor] = ()) -> MemoryT:
        """Return the memory of source.

        Args:
            source: (B, S) ids, ending in EOS and padded with PAD.
            language: code of the source language; the model's default if not given.
            more: ids of the other sources, if the model reads several; of a missing one, `<NULL>` and EOS.

        Raises:
            RunError: there are not as many sources as the model reads.
        """

    def check_sources(self, more: Sequence[Tensor]) -> None:
        """Raise `RunError` unless there is a source besides the first for each that the model reads."""
        if len(more) + 1 != self.sources:
            reads = f"{self.sources} sources together" if self.sources > 1 else "one source"
            given = f"{len(more) + 1} are" if more else "1 is"
            raise RunError(f"the model reads {reads}, and {given} given", "choose a run that reads as many")

    def length_log_probs(self, memory: MemoryT) -> Tensor:
        """Return log-probabilities (B, n) of the lengths 0 to n - 1.

        Raises:
            RunError: the model plans no lengths.
        """
        raise RunError("the run plans no lengths", "choose a run whose plan_length is true")


SourceIds = Tensor | Sequence[Tensor]
"""Ids of a source, (B, S), or of each of several."""


def encoded(model: SourceModel[MemoryT], sources: SourceIds, language: str | None = None) -> MemoryT:
    """Return the memory of one source or of several; `language` is that of the first."""
    first, *more = [sources] if isinstance(sources, Tensor) else sources
    return model.encode(first, language, more=more) if more else model.encode(first, language)


class Searchable(SourceModel[MemoryT], Generic[MemoryT, StateT]):
    """What a search needs of a model, or of several models that translate as one."""

    training: bool = False
    """Whether the model is in training; one that is not a module never is."""

    attention_temperature: float = 1.0
    """What divides the scores of attention to the source in search; see `tempered`."""

    int8: bool = False
    """Whether what is multiplied is rounded as 8-bit integers would."""

    def eval(self) -> Self:
        """Return the model in evaluation mode."""
        return self

    def train(self, mode: bool = True) -> Self:
        """Return the model in training or evaluation mode."""
        return self

    @abstractmethod
    def start(
        self,
        memory: MemoryT,
        language: str | None = None,
        length: Tensor | None = None,
        types: Tensor | None = None,
    ) -> StateT:
        """Return the state before the first token, with one slot per sentence.

        Args:
            memory: of B sentences.
            language: code of the target language, which decides the output ids; the model's default if not given.
            length: (B, k) planned lengths in tokens, required by a model that plans them: the state is then of B * k
                sentences, each repeated for each of its lengths.
            types: (n,) the only types that may be generated, as far as the language has them; all of them if not given.
        """

    @abstractmethod
    def step(self, state: StateT, token: Tensor, record: bool = False, attention: Tensor | None = None) -> Step[StateT]:
        """Read one token per slot, and score the next one.

        Args:
            state: of the decoder so far.
            token: (B, K) ids.
            record: also return the step's attention.
            attention: weights on the source that replace the model's wherever they are not NaN, broadcastable to those
                of `Step`, (layers, B, K, heads, S).
        """

    @abstractmethod
    def directed(self, source: str, target: str) -> Self:
        """Return the same model, with the same weights, whose default languages are others.

        Raises:
            RunError: the model does not translate from `source`, or not into `target`.
        """

    def tempered(self, temperature: float) -> Self:
        """Return the same model with scores of attention to the source divided by a temperature, above 0, in search.

        Raises:
            RunError: its attention has no scores.
        """
        raise RunError("the model: its attention has no temperature", "set search.attention_temperature to 1")

    def unnormalised(self) -> Self:
        """Return the same model for a search that needs only the best token of each step.

        Its steps may have logits in place of log-probabilities, so that there is no softmax (Hoang et al. 2018).
        """
        return self

    def in_int8(self, rounded: bool = True) -> Self:
        """Return the model with what it multiplies rounded as 8-bit integers would, or not.

        Raises:
            RunError: it does not clip what it multiplies.
        """
        raise RunError("the model: does not clip what it multiplies", "set search.int8 to false")


class Trainable(nn.Module, SourceModel[MemoryT]):
    """What a loss needs of a model, or anything else that follows its gradient."""

    @property
    def device(self) -> torch.device:
        return next((parameter.device for parameter in self.parameters()), torch.device("cpu"))

    @property
    def last_attention(self) -> nn.Module | None:
        """The decoder's last attention to the source, which training can guide; None if it has none."""
        return None

    @abstractmethod
    def embed_source(self, source: Tensor, language: str | None = None) -> Tensor:
        """Return the word vectors that the encoder reads, without positions: (B, S, D); arguments as of `encode`."""

    @abstractmethod
    def encode(
        self,
        source: Tensor,
        language: str | None = None,
        embedded: Tensor | None = None,
        *,
        more: Sequence[Tensor] = (),
    ) -> MemoryT:
        """Return the memory of source.

        Args:
            source, language, more: as of `SourceModel.encode`.
            embedded: (B, S, D), read instead of the word vectors of source; see `embed_source`.
        """

    @abstractmethod
    def forward(self, batch: Batch[Tensor], memory: MemoryT | None = None) -> Tensor:
        """Return the decoder's states where tokens are predicted, see `target_mask`, row by row: (tokens, D).

        Args:
            batch: of sentence pairs.
            memory: of its source, if already computed.
        """

    @abstractmethod
    def output_table(self, language: str | None = None) -> OutputTable:
        """Return the output table of a target language; the model's default if not given."""

    @abstractmethod
    def output(self, states: Tensor, table: OutputTable | None = None) -> Tensor:
        """Return logits, (..., C), for states, (..., D); with the model's default output table if none is given."""

    mixes_experts: bool = False
    """Whether the model is a mixture of experts that learn from their own losses."""

    def experts(self, states: Tensor, table: OutputTable | None = None) -> Sequence[tuple[Tensor, Tensor]]:
        """Return each expert's logits, (..., C), and where it has a source, (...) bool; arguments as of `output`."""
        return []

    def target_mask(self, target: Tensor) -> Tensor:
        """Return which tokens of padded targets, (B, T), are predicted: bool."""
        return target != PAD


class Inspectable(ABC):
    """What an analysis needs of a model besides: its logits in terms, its embeddings and its norms."""

    @property
    @abstractmethod
    def output_ids(self) -> Tensor:
        """(C,) the type of each column of the logits, ascending, in the model's default target language."""

    def output_index(self, types: Tensor) -> Tensor:
        """Return the columns of types among `output_ids`; see `interface.output_index`."""
        return output_index(self.output_ids, types)

    @abstractmethod
    def explain(self, states: Tensor) -> dict[str, Tensor]:
        """Return named terms, each (..., C), that add up to the logits of states, (..., D)."""

    @abstractmethod
    def inner_products(self, states: Tensor) -> dict[str, InnerProduct]:
        """Return the terms of `explain` that are inner products, under the same names."""

    @abstractmethod
    def embeddings(self) -> dict[str, Tensor]:
        """Return the embeddings as stored, by use: source, target, output, each (types, D)."""

    def lexicon(self, source_types: Tensor) -> Tensor | None:
        """Return log-probabilities (n, C) of the translations of source types (n,), each without context.

        None if the model has no lexicon.
        """
        return None

    def generated_share(self, states: Tensor) -> Tensor | None:
        """Return γ, the share of what is generated in the mixture with copies, (...), of states, (..., D).

        None if the model has no copy head.
        """
        return None

    def heads(self, memory: Any) -> Heads | None:
        """Return which source word heads which, of a memory; None if the model selects no heads."""
        return None

    def sublayers(self) -> list[Sublayer]:
        """Return the normalised sublayers in order, the closing norms included."""
        return []


class TranslationModel(Trainable[MemoryT], Searchable[MemoryT, StateT], Inspectable):
    """A model of p(target | source)."""

    language_codes: LanguageCodes = ((), ())
    _default: tuple[str, str] | None = None
    _normalises = True

    @property
    def default_languages(self) -> tuple[str, str]:
        """Codes of the languages that are used where none are given: the first ones at first; empty if not known."""
        sources, targets = (next(iter(codes), "") for codes in self.language_codes)
        return self._default or (sources, targets)

    def next_log_probs(self, states: Tensor, table: OutputTable | None = None) -> Tensor:
        """Return log-probabilities, (..., C), of the next token for states, (..., D); `table` as of `output`.

        Logits if the model is `unnormalised`.
        """
        logits = widened(self.output(states, table))
        return logits.log_softmax(-1) if self._normalises else logits

    def directed(self, source: str, target: str) -> Self:
        self.check_languages(source, target)
        twin = copy.copy(self)
        twin._default = source, target
        return twin

    def tempered(self, temperature: float) -> Self:
        twin = copy.copy(self)
        twin.attention_temperature = temperature
        return twin

    def unnormalised(self) -> Self:
        twin = copy.copy(self)
        twin._normalises = False
        return twin

    def in_int8(self, rounded: bool = True) -> Self:
        twin = copy.deepcopy(self)
        inputs = [module for module in twin.modules() if isinstance(module, ProductInput)]
        if not inputs:
            return super().in_int8()
        for one in inputs:
            one.rounded = rounded
        twin.int8 = rounded
        return twin

    def check_languages(self, source: str | None = None, target: str | None = None) -> None:
        """Check that the model translates from `source` and into `target`, as far as they are given.

        Raises:
            RunError: it does not.
        """
        for code, known in zip((source, target), self.language_codes, strict=True):
            if code and known and code not in known:
                sources, targets = map(", ".join, self.language_codes)
                raise RunError(f"language {code!r}: this model translates {sources} to {targets}", "choose another run")
