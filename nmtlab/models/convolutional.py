"""The convolutional model with attention in every layer of the decoder (Gehring et al. 2017, ConvS2S).

Shapes as in `interface`; k kernel width of a convolution. Sums of two vectors are multiplied by the square root of a
half, which keeps their variance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Protocol, Self, TypeVar, cast

import torch
from torch import Tensor, nn

from nmtlab.models.interface import Memory, OutputTable, Step
from nmtlab.models.replacing import overwritten
from nmtlab.models.tied import EncoderDecoder
from nmtlab.nn.autograd import with_gradient_times
from nmtlab.nn.convolution import GatedConvolution, WeightNormLinear, windows
from nmtlab.nn.dropout import Dropout
from nmtlab.nn.global_attention import GlobalAttention
from nmtlab.nn.positions import LearnedPositions
from nmtlab.nn.precision import widened
from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.vocabulary import PAD

ROOT_HALF = math.sqrt(0.5)


@dataclass(frozen=True)
class ConvMemory:
    """The encoder's output.

    Args:
        states: (B, S, D), the keys of attention.
        values: (B, S, D), states and embeddings.
        bias: (B, 1, S), added to the attention scores: -inf at padding, else 0.
    """

    states: Tensor
    values: Tensor
    bias: Tensor
    joint: ClassVar[None] = None

    @property
    def mask(self) -> Tensor:
        return self.bias.squeeze(1) == 0

    @property
    def lengths(self) -> Tensor:
        return self.mask.sum(1) - 1

    def select(self, sentences: Tensor) -> "ConvMemory":
        """Return the memory of some sentences."""
        return ConvMemory(self.states[sentences], self.values[sentences], self.bias[sentences])

    def replace(self, sentences: Tensor, other: "ConvMemory", others: Tensor) -> "ConvMemory":
        """Return the memory with other sentences in place of some, and overwrite this."""
        bias = overwritten(self.bias, sentences, other.bias[others], 2, -math.inf)
        longest = int((bias == 0).sum(-1).max())

        def longer(mine: Tensor, theirs: Tensor) -> Tensor:
            return overwritten(mine, sentences, theirs[others])[:, :longest]

        return ConvMemory(longer(self.states, other.states), longer(self.values, other.values), bias[..., :longest])


class Encoder(nn.Module):
    """Convolutions around each position of the source.

    Args:
        convolutions: the layers, of odd kernels.
        positions: number of positions that have an embedding.
        dropout: of embeddings and of each convolution's input.
        readers: attentions that read its output. Its gradient is divided by twice as many in training, as in fairseq,
            since it is the sum of theirs.
    """

    def __init__(
        self, convolutions: Sequence[GatedConvolution], d_model: int, positions: int, dropout: float, readers: int
    ) -> None:
        super().__init__()
        self.position_embedding = LearnedPositions(positions, d_model)
        self.input = WeightNormLinear(d_model, d_model)
        self.convolutions = cast(Sequence[GatedConvolution], nn.ModuleList(convolutions))
        self.output = WeightNormLinear(d_model, d_model)
        self.dropout = Dropout(dropout)
        self.readers = readers

    def forward(self, embedded: Tensor, padding: Tensor) -> ConvMemory:
        """Return the memory of word vectors, (B, S, D), given which of them are padding, (B, S) bool."""
        where = torch.arange(embedded.shape[1], device=embedded.device)
        embedded = self.dropout(embedded + self.position_embedding(where))
        x = self.input(embedded)
        for convolution in self.convolutions:
            around = convolution.kernel // 2
            kept = self.dropout(x.masked_fill(padding.unsqueeze(2), 0))
            x = (x + convolution(windows(kept, around, around))) * ROOT_HALF
        states = self.output(x)
        if self.training:
            states = with_gradient_times(1 / (2 * self.readers), states)
        bias = torch.zeros_like(padding, dtype=states.dtype).masked_fill_(padding, -math.inf).unsqueeze(1)
        return ConvMemory(states, (states + embedded) * ROOT_HALF, bias)


class DecoderLayer(nn.Module):
    """A convolution of the words so far, then attention to the source."""

    def __init__(self, convolution: GatedConvolution, d_model: int) -> None:
        super().__init__()
        self.convolution = convolution
        self.query = WeightNormLinear(d_model, d_model)
        self.attention = GlobalAttention(d_model, "dot")
        self.context = WeightNormLinear(d_model, d_model)

    def forward(
        self, x: Tensor, embedded: Tensor, memory: ConvMemory, imposed: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return what is added to the layer's input, (B, T, D), and the weights on the source, (B, T, S).

        Args:
            x: windows, (B, T, k, D), of which the last vector is that of the position.
            embedded: the word read at each position, (B, T, D).
            memory: of the source.
            imposed: weights that replace the attention's, broadcastable to (B, T, S).
        """
        x = self.convolution(x)
        query = (self.query(x) + embedded) * ROOT_HALF
        mean, weights = self.attention(query, memory.states, memory.values, memory.bias, imposed)
        # a mean of m vectors has an m-th of their variance if they are independent and of equal weight
        context = mean * memory.mask.sum(1)[:, None, None].sqrt()
        return (self.context(context) + x) * ROOT_HALF, weights


class Decoder(nn.Module):
    """Convolutions of the words so far, each followed by attention.

    Args:
        layers: from below.
        positions, dropout: as of `Encoder`; the output layer's input is dropped, too.
    """

    def __init__(self, layers: Sequence[DecoderLayer], d_model: int, positions: int, dropout: float) -> None:
        super().__init__()
        self.position_embedding = LearnedPositions(positions, d_model)
        self.input = WeightNormLinear(d_model, d_model)
        self.layers = cast(Sequence[DecoderLayer], nn.ModuleList(layers))
        self.output = WeightNormLinear(d_model, d_model)
        self.dropout = Dropout(dropout)

    def embed(self, words: Tensor, where: Tensor) -> Tensor:
        """Return word vectors, (B, T, D), at positions that broadcast to (B, T)."""
        return self.dropout(words + self.position_embedding(where))

    def forward(self, embedded: Tensor, memory: ConvMemory) -> Tensor:
        """Return the output layer's input for all words of the targets, embedded as by `embed`: (B, T, D)."""
        x = self.input(embedded)
        for layer in self.layers:
            seen = windows(self.dropout(x), layer.convolution.kernel - 1, 0)
            x = (x + layer(seen, embedded, memory)[0]) * ROOT_HALF
        return self.dropout(self.output(x))

    def step(
        self, embedded: Tensor, memory: ConvMemory, past: Sequence[Tensor], imposed: Sequence[Tensor | None]
    ) -> tuple[Tensor, list[Tensor], Tensor]:
        """Return the output layer's input for one more word in every slot, (B, K, D).

        Args:
            embedded: the word, embedded as by `embed`, (B, K, D).
            memory: of the source.
            past: the last inputs of each layer, (B, K, k - 1, D).
            imposed: for each layer, as of `DecoderLayer`.

        Returns:
            Also the last inputs after the word, and the weights on the source, (layers, B, K, S).
        """
        x = self.input(embedded)
        after, weights = [], []
        for layer, before, of_layer in zip(self.layers, past, imposed, strict=True):
            seen = torch.cat((before, self.dropout(x).unsqueeze(2)), dim=2)
            more, on_source = layer(seen, embedded, memory, of_layer)
            x = (x + more) * ROOT_HALF
            after.append(seen[:, :, 1:])
            weights.append(on_source)
        return self.dropout(self.output(x)), after, torch.stack(weights)


class Replaceable(Memory, Protocol):
    """A memory in which sentences make way for others."""

    def replace(self, sentences: Tensor, other: Self, others: Tensor) -> Self:
        """Return the memory with other sentences in place of some, and overwrite this; see `interface.State`."""


ReplaceableT = TypeVar("ReplaceableT", bound=Replaceable)


@dataclass(frozen=True)
class ConvState(Generic[ReplaceableT]):
    """The decoder's state.

    Args:
        output: table that scores the next token.
        memory: of the source.
        past: the last inputs of each layer, (B, K, k - 1, D).
        position: of the next word, (B, 1).
    """

    output: OutputTable
    memory: ReplaceableT
    past: list[Tensor]
    position: Tensor

    @property
    def output_ids(self) -> Tensor:
        return self.output.ids

    def select(self, rows: Tensor) -> "ConvState[ReplaceableT]":
        """Return the state of other slots; see `interface.State`."""
        sentences = rows.amax(1) // self.past[0].shape[1]
        same = torch.equal(sentences, torch.arange(len(self.position), device=rows.device))
        memory = self.memory if same else self.memory.select(sentences)
        past = [layer.flatten(0, 1)[rows.clamp_min(0)] for layer in self.past]
        return ConvState(self.output, memory, past, self.position[sentences])

    def replace(self, sentences: Tensor, other: "ConvState[ReplaceableT]", others: Tensor) -> "ConvState[ReplaceableT]":
        """Return the state with other sentences in place of some; see `interface.State`."""
        for mine, theirs in zip((*self.past, self.position), (*other.past, other.position), strict=True):
            mine[sentences] = theirs[others]
        return ConvState(self.output, self.memory.replace(sentences, other.memory, others), self.past, self.position)


class ConvolutionalModel(EncoderDecoder[Encoder, Decoder, ConvMemory, ConvState[ConvMemory]]):
    """An encoder and a decoder of convolutions; assembled in `build`."""

    @property
    def last_attention(self) -> nn.Module | None:
        return self.decoder.layers[-1].attention

    def embed_source(self, source: Tensor, language: str | None = None) -> Tensor:
        return self.source_embedding.table(source)

    def encode(
        self,
        source: Tensor,
        language: str | None = None,
        embedded: Tensor | None = None,
        *,
        more: Sequence[Tensor] = (),
    ) -> ConvMemory:
        self.check_languages(source=language)
        self.check_sources(more)
        return self.encoder(self.embed_source(source) if embedded is None else embedded, source == PAD)

    def forward(self, batch: Batch[Tensor], memory: ConvMemory | None = None) -> Tensor:
        self.check_languages(target=batch.target_language)
        memory = memory or self.encode(batch.source, batch.source_language)
        where = torch.arange(batch.target.shape[1], device=batch.target.device)
        embedded = self.decoder.embed(self.target_embedding.table(batch.target_input), where)
        return self.decoder(embedded, memory)[self.target_mask(batch.target)]

    def start(
        self,
        memory: ConvMemory,
        language: str | None = None,
        length: Tensor | None = None,
        types: Tensor | None = None,
    ) -> ConvState[ConvMemory]:
        sentences, width = len(memory.states), self.target_embedding.width
        if self.attention_temperature != 1:
            memory = replace(memory, states=memory.states / self.attention_temperature)  # scores are linear in them
        past = [
            memory.states.new_zeros(sentences, 1, layer.convolution.kernel - 1, width) for layer in self.decoder.layers
        ]
        position = torch.zeros(sentences, 1, dtype=torch.long, device=memory.states.device)
        return ConvState(self.output_table(language).subset(types), memory, past, position)

    def step(self, state: ConvState, token: Tensor, record: bool = False, attention: Tensor | None = None) -> Step:
        embedded = self.decoder.embed(self.target_embedding.table(token), state.position)
        imposed = _by_layer(attention, len(self.decoder.layers))
        x, past, weights = self.decoder.step(embedded, state.memory, state.past, imposed)
        log_probs = self.next_log_probs(x, state.output)
        after = ConvState(state.output, state.memory, past, state.position + 1)
        return Step(log_probs, after, widened(weights).unsqueeze(3) if record else None)


def _by_layer(attention: Tensor | None, layers: int) -> Sequence[Tensor | None]:
    """Return the attention imposed on each layer, broadcastable to (B, K, S), given (layers, B, K, 1, S)."""
    return [None] * layers if attention is None else list(attention[:, :, :, 0].expand(layers, -1, -1, -1))
