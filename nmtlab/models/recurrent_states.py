"""What a recurrent encoder and decoder hand on: the memory, what is attended to, and the state of the decoder.

Shapes as in `interface` and `recurrent`.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nmtlab.models.interface import OutputTable
from nmtlab.models.replacing import overwritten
from nmtlab.models.several import Joint
from nmtlab.nn.recurrent import CellState


@dataclass(frozen=True)
class RecurrentMemory:
    """The encoder's output.

    Args:
        states: (B, S, D).
        last: every layer's last state, those that read backwards first, each tensor (B, D).
        bias: (B, 1, S), added to the attention scores: -inf at padding and at EOS, else 0.
        mask: (B, S) bool, which positions are neither padding nor EOS.
        lengths: (B,) tokens, without EOS.
        source: (B, S) ids.
        embedded: (B, S, D) source embeddings as the lexical module reads them.
        joint: of several sources, where the positions come from; `bias` is then as of `Joint.bias`.
    """

    states: Tensor
    last: list[CellState]
    bias: Tensor
    mask: Tensor
    lengths: Tensor
    source: Tensor
    embedded: Tensor
    joint: Joint | None = None

    def select(self, sentences: Tensor) -> "RecurrentMemory":
        """Return the memory of some sentences."""
        chosen = {name: value[sentences] for name, value in vars(self).items() if isinstance(value, Tensor)}
        last = [tuple(tensor[sentences] for tensor in state) for state in self.last]
        joint = None if self.joint is None else self.joint.select(sentences)
        return replace(self, last=last, joint=joint, **chosen)

    def without(self, hidden: Tensor) -> "RecurrentMemory":
        """Return the memory with some positions, (B, S) bool, hidden from attention; each sentence must keep one."""
        return replace(self, bias=self.bias.masked_fill(hidden.unsqueeze(1), -math.inf))


@dataclass(frozen=True)
class Attended:
    """What the decoder attends to.

    Args:
        keys, values: (B, S, D); with `HeadSelection`, values are (B, S, 2 D), whose second half are annotations.
        bias: as of `RecurrentMemory`, or (B, M, S) with an attention to each of M sources.
        lexical: (B, S, D) embeddings for the lexical module, or (B, S, C) rows of a translation table; None without a
            lexicon.
        temperature: divides the scores.
        columns: (B, S) output column of each source type, for a copy head; None without.
    """

    keys: Tensor
    values: Tensor
    bias: Tensor
    lexical: Tensor | None
    temperature: float = 1.0
    columns: Tensor | None = None

    def select(self, sentences: Tensor) -> "Attended":
        """Return the same for some sentences."""
        lexical = None if self.lexical is None else self.lexical[sentences]
        columns = None if self.columns is None else self.columns[sentences]
        keys, values, bias = (tensor[sentences] for tensor in (self.keys, self.values, self.bias))
        return replace(self, keys=keys, values=values, bias=bias, lexical=lexical, columns=columns)

    def replace(self, sentences: Tensor, other: "Attended", others: Tensor) -> "Attended":
        """Return the same with other sentences in place of some, and overwrite this."""
        bias = overwritten(self.bias, sentences, other.bias[others], 2, -math.inf)
        longest = int((bias == 0).any(1).sum(-1).max())

        def longer(mine: Tensor, theirs: Tensor) -> Tensor:
            return overwritten(mine, sentences, theirs[others])[:, :longest]

        def longer_if_any(mine: Tensor | None, theirs: Tensor | None) -> Tensor | None:
            return None if mine is None or theirs is None else longer(mine, theirs)

        return replace(
            self,
            keys=longer(self.keys, other.keys),
            values=longer(self.values, other.values),
            bias=bias[..., :longest],
            lexical=longer_if_any(self.lexical, other.lexical),
            columns=longer_if_any(self.columns, other.columns),
        )


@dataclass(frozen=True)
class RecurrentState:
    """The decoder's state.

    Args:
        output: table that scores the next token; None if all positions of a target are scored together.
        attended: what the decoder attends to.
        layers: each layer's state, each tensor (B, K, D).
        h_tilde: (B, K, D).
    """

    output: OutputTable | None
    attended: Attended
    layers: list[CellState]
    h_tilde: Tensor

    @property
    def output_ids(self) -> Tensor:
        assert self.output is not None
        return self.output.ids

    def select(self, rows: Tensor) -> "RecurrentState":
        """Return the state of other slots; see `interface.State`."""
        sentences = rows.amax(1) // self.h_tilde.shape[1]
        rows = rows.clamp_min(0)
        same = torch.equal(sentences, torch.arange(self.h_tilde.shape[0], device=rows.device))
        attended = self.attended if same else self.attended.select(sentences)
        layers = [tuple(tensor.flatten(0, 1)[rows] for tensor in layer) for layer in self.layers]
        return RecurrentState(self.output, attended, layers, self.h_tilde.flatten(0, 1)[rows])

    def replace(self, sentences: Tensor, other: "RecurrentState", others: Tensor) -> "RecurrentState":
        """Return the state with other sentences in place of some; see `interface.State`."""
        attended = self.attended.replace(sentences, other.attended, others)
        for mine, theirs in zip((*self.layers, (self.h_tilde,)), (*other.layers, (other.h_tilde,)), strict=True):
            for x, y in zip(mine, theirs, strict=True):
                x[sentences] = y[others]
        return RecurrentState(self.output, attended, self.layers, self.h_tilde)
