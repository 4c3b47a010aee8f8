"""Recurrent cells, and layers that run them over a whole sentence (thesis 1.1; slides on dropout and layer norm).

Shapes: B sentences, S positions, D width; a state is a tuple of tensors (..., D), whose first is the output h.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmtlab.nn.dropout import Dropout
from nmtlab.nn.linear import Linear

CellState = tuple[Tensor, ...]
CellKind = Literal["lstm", "gru", "rnn"]


class LstmCell(nn.Module):
    """One step of an LSTM (Hochreiter and Schmidhuber 1997): state (h, c).

    Args:
        input_size: width of the input.
        d_model: width of the state.
        layer_norm: normalise both parts of the pre-activations, and c at the output gate (Ba et al. 2016, eq 20-22).
    """

    tensors = 2

    def __init__(self, input_size: int, d_model: int, layer_norm: bool = False) -> None:
        super().__init__()
        self.input = Linear(input_size, 4 * d_model)
        self.recurrent = Linear(d_model, 4 * d_model)
        self.input_norm = nn.LayerNorm(4 * d_model) if layer_norm else nn.Identity()
        self.recurrent_norm = nn.LayerNorm(4 * d_model) if layer_norm else nn.Identity()
        self.memory_norm = nn.LayerNorm(d_model) if layer_norm else nn.Identity()

    def project(self, x: Tensor) -> Tensor:
        """Return the input's part of the pre-activations, (..., 4 D), for all positions at once if they are known."""
        return self.input(x)

    def forward(self, projected: Tensor, state: CellState, recurrent_mask: Tensor | None = None) -> CellState:
        """Return the next state.

        Args:
            projected: as from `project`, (..., 4 D).
            state: h and c.
            recurrent_mask: h is multiplied by it before entering the pre-activations (variational dropout).
        """
        h, c = state
        h = h if recurrent_mask is None else h * recurrent_mask
        sums = self.input_norm(projected) + self.recurrent_norm(self.recurrent(h))
        input_gate, forget_gate, new, output_gate = sums.chunk(4, dim=-1)
        c = forget_gate.sigmoid() * c + input_gate.sigmoid() * new.tanh()
        return output_gate.sigmoid() * self.memory_norm(c).tanh(), c


class GruCell(nn.Module):
    """One step of a gated recurrent unit (Cho et al. 2014, as in torch): state (h,); arguments as of `LstmCell`."""

    tensors = 1

    def __init__(self, input_size: int, d_model: int, layer_norm: bool = False) -> None:
        super().__init__()
        self.input = Linear(input_size, 3 * d_model)
        self.recurrent = Linear(d_model, 3 * d_model)
        self.input_norm = nn.LayerNorm(3 * d_model) if layer_norm else nn.Identity()
        self.recurrent_norm = nn.LayerNorm(3 * d_model) if layer_norm else nn.Identity()

    def project(self, x: Tensor) -> Tensor:
        """Return the input's part of the pre-activations, (..., 3 D)."""
        return self.input(x)

    def forward(self, projected: Tensor, state: CellState, recurrent_mask: Tensor | None = None) -> CellState:
        """Return the next state; see `LstmCell`."""
        (h,) = state
        dropped = h if recurrent_mask is None else h * recurrent_mask
        return (_gated(self.input_norm(projected), self.recurrent_norm(self.recurrent(dropped)), h),)


class RnnCell(nn.Module):
    """One step of Elman's network (1990), h' = tanh(W x + U h + b): state (h,); arguments as of `LstmCell`."""

    tensors = 1

    def __init__(self, input_size: int, d_model: int, layer_norm: bool = False) -> None:
        super().__init__()
        self.input = Linear(input_size, d_model)
        self.recurrent = Linear(d_model, d_model)
        self.input_norm = nn.LayerNorm(d_model) if layer_norm else nn.Identity()
        self.recurrent_norm = nn.LayerNorm(d_model) if layer_norm else nn.Identity()

    def project(self, x: Tensor) -> Tensor:
        """Return the input's part of the pre-activations, (..., D)."""
        return self.input(x)

    def forward(self, projected: Tensor, state: CellState, recurrent_mask: Tensor | None = None) -> CellState:
        """Return the next state; see `LstmCell`."""
        (h,) = state
        dropped = h if recurrent_mask is None else h * recurrent_mask
        return ((self.input_norm(projected) + self.recurrent_norm(self.recurrent(dropped))).tanh(),)


class Transition(nn.Module):
    """A gated recurrent unit whose input is 0, of which only the bias is left: h -> h.

    Args:
        d_model: width of h.
        layer_norm: normalise h's part of the pre-activations.
    """

    def __init__(self, d_model: int, layer_norm: bool) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(3 * d_model))
        self.recurrent = Linear(d_model, 3 * d_model)
        self.recurrent_norm = nn.LayerNorm(3 * d_model) if layer_norm else nn.Identity()

    def forward(self, h: Tensor, recurrent_mask: Tensor | None = None) -> Tensor:
        """Return the next h, (..., D); `recurrent_mask` as of `LstmCell`."""
        dropped = h if recurrent_mask is None else h * recurrent_mask
        return _gated(self.bias, self.recurrent_norm(self.recurrent(dropped)), h)


class TransitionGruCell(GruCell):
    """A step through several gated recurrent units, of which the first reads the input (Miceli Barone et al. 2017).

    Args:
        input_size, d_model, layer_norm: as of `LstmCell`.
        transitions: number of units in a step, at least 2.
    """

    def __init__(self, input_size: int, d_model: int, layer_norm: bool, transitions: int) -> None:
        super().__init__(input_size, d_model, layer_norm)
        self.transitions = nn.ModuleList(Transition(d_model, layer_norm) for _ in range(transitions - 1))

    def forward(self, projected: Tensor, state: CellState, recurrent_mask: Tensor | None = None) -> CellState:
        """Return the next state; see `LstmCell`. The mask is the same for all units."""
        (h,) = super().forward(projected, state, recurrent_mask)
        for transition in self.transitions:
            h = transition(h, recurrent_mask)
        return (h,)


def _gated(sums: Tensor, sums_h: Tensor, h: Tensor) -> Tensor:
    """Return the next h, given the parts of the pre-activations that the input and h have, (..., 3 D) each."""
    (reset, update, new), (reset_h, update_h, new_h) = sums.chunk(3, dim=-1), sums_h.chunk(3, dim=-1)
    new = (new + (reset + reset_h).sigmoid() * new_h).tanh()
    return torch.lerp(new, h.to(new.dtype), (update + update_h).sigmoid())


Cell = LstmCell | GruCell | RnnCell
CELLS: dict[CellKind, type[LstmCell] | type[GruCell] | type[RnnCell]] = {
    "lstm": LstmCell,
    "gru": GruCell,
    "rnn": RnnCell,
}
_LOOPS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}


class FusedLayer(nn.Module):
    """A recurrent layer of width `d_model` that uses torch's fused loop."""

    def __init__(self, kind: CellKind, d_model: int) -> None:
        super().__init__()
        self.loop = _LOOPS[kind](d_model, d_model, batch_first=True)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, CellState]:
        """Read sentences from left to right.

        Args:
            x: (B, S, D).
            lengths: (B,) number of positions that are not padding, at least 1.

        Returns:
            (B, S, D) outputs, arbitrary at padding, and the state after each sentence's last position, each (B, D).
        """
        shortest, longest = lengths.aminmax()
        if shortest == longest == x.shape[1]:
            outputs, last = self.loop(x)
        else:
            packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
            outputs, last = self.loop(packed)
            outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
        return outputs, tuple(state[0] for state in (last if isinstance(last, tuple) else (last,)))


class SteppedLayer(nn.Module):
    """A recurrent layer that runs step by step, for what torch's fused loop cannot do.

    Args:
        cell: computes one step.
        recurrent_dropout: share of h dropped between positions, the same units throughout a sentence.
    """

    def __init__(self, cell: Cell, recurrent_dropout: float) -> None:
        super().__init__()
        self.cell = cell
        self.dropout = Dropout(recurrent_dropout)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, CellState]:
        """Read sentences from left to right; see `FusedLayer`."""
        zeros = torch.zeros_like(x[:, 0])
        mask = self.dropout.mask(zeros)
        state: CellState = (zeros,) * self.cell.tensors
        outputs = []
        for position, projected in enumerate(self.cell.project(x).unbind(1)):
            inside = (position < lengths).unsqueeze(1)
            after = self.cell(projected, state, mask)
            state = tuple(torch.where(inside, new, old) for new, old in zip(after, state, strict=True))
            outputs.append(state[0])
        return torch.stack(outputs, dim=1), state


class Stack(nn.Module):
    """A stack of layers that read a whole sentence.

    Args:
        layers: from the bottom up.
        dropout: applied to each layer's output.
        residual: add each layer's input to its output, from the second layer on.
    """

    def __init__(self, layers: list[FusedLayer | SteppedLayer], dropout: "SequenceDropout", residual: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.dropout = dropout
        self.residual = residual

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, list[CellState]]:
        """Return the top layer's outputs, (B, S, D), and every layer's last state; see `FusedLayer`."""
        states = []
        for number, layer in enumerate(self.layers):
            outputs, state = layer(x, lengths)
            states.append(state)
            x = self.dropout(outputs + x if self.residual and number else outputs)
        return x, states


class SequenceDropout(nn.Module):
    """Dropout on a sequence, with a new mask at every position or, `variational`, one mask for all (Gal 2015)."""

    def __init__(self, p: float, variational: bool) -> None:
        super().__init__()
        self.dropout = Dropout(p)
        self.variational = variational

    def forward(self, x: Tensor) -> Tensor:
        """Return x, (B, S, D), with units dropped in training."""
        if not self.variational:
            return self.dropout(x)
        mask = self.dropout.mask(x[:, 0])
        return x if mask is None else x * mask.unsqueeze(1)

    def recurrent_mask(self, like: Tensor) -> Tensor | None:
        """Return the mask for h, shaped as `like`, between one position and the next; None if nothing is dropped."""
        return self.dropout.mask(like) if self.variational else None

    def masks(self, like: Tensor, positions: int) -> list[Tensor | None]:
        """Return a mask for each position, each (B, D) as `like`, or None if nothing is dropped."""
        if self.variational:
            return [self.dropout.mask(like)] * positions
        mask = self.dropout.mask(like.new_empty(positions, *like.shape))
        return [None] * positions if mask is None else list(mask.unbind(0))
