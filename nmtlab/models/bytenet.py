"""ByteNet: dilated convolutions, with the decoder stacked on the encoder (Kalchbrenner et al. 2016).

The encoder turns a source of |s| tokens into a |s| + b columns. The decoder reads, at each position, the word before
and the column at the same place; past the last column it reads zeros, and goes on until EOS (dynamic unfolding).
Nothing is attended to.

Shapes as in `interface`; L columns, d = D / 2 units of a convolution, k kernel width, r dilation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.models.convolutional import ConvState
from nmtlab.models.interface import Step
from nmtlab.models.replacing import overwritten
from nmtlab.models.tied import EncoderDecoder
from nmtlab.nn.convolution import windows
from nmtlab.nn.dropout import Dropout
from nmtlab.nn.linear import Linear
from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.vocabulary import PAD


@dataclass(frozen=True)
class ByteNetMemory:
    """The encoder's columns.

    Args:
        states: (B, L, D); zeros after the columns of a sentence.
        mask: (B, S) bool, which tokens of the source are not padding.
    """

    states: Tensor
    mask: Tensor
    joint: ClassVar[None] = None

    @property
    def lengths(self) -> Tensor:
        return self.mask.sum(1) - 1

    def select(self, sentences: Tensor) -> "ByteNetMemory":
        """Return the memory of some sentences."""
        return ByteNetMemory(self.states[sentences], self.mask[sentences])

    def replace(self, sentences: Tensor, other: "ByteNetMemory", others: Tensor) -> "ByteNetMemory":
        """Return the memory with other sentences in place of some, and overwrite this."""
        states = overwritten(self.states, sentences, other.states[others])
        return ByteNetMemory(states, overwritten(self.mask, sentences, other.mask[others]))

    def at(self, position: Tensor) -> Tensor:
        """Return the columns at positions, (B, T): (B, T, D); zeros past the last."""
        there = position.clamp_max(self.states.shape[1] - 1).unsqueeze(2).expand(-1, -1, self.states.shape[2])
        return self.states.gather(1, there) * (position < self.states.shape[1]).unsqueeze(2)


class Block(nn.Module):
    """A residual block: `x + W_3 f(conv(f(W_1 f(x))))`, with `f` = ReLU of layer normalisation.

    Args:
        d_model: width D; the convolution has half as many units.
        kernel: k.
        dilation: r, the distance of the positions that it reads.
        dropout: of what is added.
    """

    def __init__(self, d_model: int, kernel: int, dilation: int, dropout: float) -> None:
        super().__init__()
        inner = d_model // 2
        self.kernel, self.dilation = kernel, dilation
        self.norms = nn.ModuleList(nn.LayerNorm(width) for width in (d_model, inner, inner))
        self.narrow = Linear(d_model, inner)
        self.convolution = Linear(kernel * inner, inner)
        self.widen = Linear(inner, d_model)
        self.dropout = Dropout(dropout)

    @property
    def remembered(self) -> int:
        """Positions before a position that its convolution reaches, if that is the last that it reads."""
        return (self.kernel - 1) * self.dilation

    def read(self, x: Tensor) -> Tensor:
        """Return what is convolved, (..., d), of the block's input, (..., D)."""
        return self.norms[1](self.narrow(self.norms[0](x).relu())).relu()

    def add(self, x: Tensor, seen: Tensor) -> Tensor:
        """Return the block's output, (..., D), given its input and the windows that it reads, (..., k, d)."""
        return x + self.dropout(self.widen(self.norms[2](self.convolution(seen.flatten(-2))).relu()))


class Encoder(nn.Module):
    """Blocks around each column of the source.

    Args:
        blocks: of odd kernels.
        factor, extra: a and b, which say how many columns there are.
        dropout: of embeddings.
    """

    def __init__(self, blocks: Sequence[Block], d_model: int, factor: float, extra: int, dropout: float) -> None:
        super().__init__()
        self.blocks = cast(Sequence[Block], nn.ModuleList(blocks))
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)
        self.factor, self.extra = factor, extra

    def columns(self, tokens: Tensor) -> Tensor:
        """Return the number of columns, a |s| + b rounded up, of sources of so many tokens, EOS included."""
        # less what rounding adds: 25 times 1.2 are 30 columns, not 31
        return (tokens.double() * self.factor - 1e-9).ceil().long() + self.extra

    def forward(self, embedded: Tensor, mask: Tensor) -> ByteNetMemory:
        """Return the memory of word vectors, (B, S, D), given which of them are not padding, (B, S) bool."""
        columns = self.columns(mask.sum(1))
        length = int(columns.max())
        inside = (torch.arange(length, device=mask.device) < columns.unsqueeze(1)).unsqueeze(2)
        kept = self.dropout(embedded) * mask.unsqueeze(2)
        x = F.pad(kept, (0, 0, 0, length - embedded.shape[1]))
        for block in self.blocks:
            around = block.kernel // 2
            x = block.add(x, windows(block.read(x) * inside, around, around, block.dilation))
        return ByteNetMemory(self.norm(x) * inside, mask)


class Decoder(nn.Module):
    """Blocks over the words so far and the columns at their places.

    Args:
        layers: from below.
        dropout: of embeddings, and of the output layer's input.
    """

    def __init__(self, layers: Sequence[Block], d_model: int, dropout: float) -> None:
        super().__init__()
        self.layers = cast(Sequence[Block], nn.ModuleList(layers))
        self.norm = nn.LayerNorm(d_model)
        self.output = Linear(d_model, d_model)
        self.dropout = Dropout(dropout)

    def forward(self, embedded: Tensor, columns: Tensor) -> Tensor:
        """Return the output layer's input, (B, T, D), given word vectors and the columns at their places."""
        x = self.dropout(embedded) + columns
        for layer in self.layers:
            x = layer.add(x, windows(layer.read(x), layer.kernel - 1, 0, layer.dilation))
        return self._closed(x)

    def step(self, embedded: Tensor, columns: Tensor, past: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Return the output layer's input for one more word in every slot, (B, K, D), and the past after it.

        Args:
            embedded: the word, (B, K, D).
            columns: at its place, (B, 1, D).
            past: what each layer has read, (B, K, (k - 1) r, d).
        """
        x, after = self.dropout(embedded) + columns, []
        for layer, before in zip(self.layers, past, strict=True):
            seen = torch.cat((before, layer.read(x).unsqueeze(2)), dim=2)
            x = layer.add(x, seen[:, :, :: layer.dilation])
            after.append(seen[:, :, 1:])
        return self._closed(x), after

    def _closed(self, x: Tensor) -> Tensor:
        return self.dropout(self.output(self.norm(x).relu()))


class ByteNet(EncoderDecoder[Encoder, Decoder, ByteNetMemory, ConvState[ByteNetMemory]]):
    """An encoder and a decoder of blocks; assembled in `build`."""

    def embed_source(self, source: Tensor, language: str | None = None) -> Tensor:
        return self.source_embedding(source)

    def encode(
        self,
        source: Tensor,
        language: str | None = None,
        embedded: Tensor | None = None,
        *,
        more: Sequence[Tensor] = (),
    ) -> ByteNetMemory:
        self.check_languages(source=language)
        self.check_sources(more)
        return self.encoder(self.embed_source(source) if embedded is None else embedded, source != PAD)

    def forward(self, batch: Batch[Tensor], memory: ByteNetMemory | None = None) -> Tensor:
        self.check_languages(target=batch.target_language)
        memory = memory or self.encode(batch.source, batch.source_language)
        where = torch.arange(batch.target.shape[1], device=batch.target.device).expand_as(batch.target)
        embedded = self.target_embedding(batch.target_input)
        return self.decoder(embedded, memory.at(where))[self.target_mask(batch.target)]

    def start(
        self,
        memory: ByteNetMemory,
        language: str | None = None,
        length: Tensor | None = None,
        types: Tensor | None = None,
    ) -> ConvState[ByteNetMemory]:
        columns = memory.states
        inner = columns.shape[2] // 2
        past = [columns.new_zeros(len(columns), 1, layer.remembered, inner) for layer in self.decoder.layers]
        position = torch.zeros(len(columns), 1, dtype=torch.long, device=columns.device)
        return ConvState(self.output_table(language).subset(types), memory, past, position)

    def step(
        self,
        state: ConvState[ByteNetMemory],
        token: Tensor,
        record: bool = False,
        attention: Tensor | None = None,
    ) -> Step[ConvState[ByteNetMemory]]:
        columns = state.memory.at(state.position)
        x, past = self.decoder.step(self.target_embedding(token), columns, state.past)
        after = ConvState(state.output, state.memory, past, state.position + 1)
        nothing = x.new_empty(0, *token.shape, 1, state.memory.mask.shape[1]) if record else None
        return Step(self.next_log_probs(x, state.output), after, nothing)
