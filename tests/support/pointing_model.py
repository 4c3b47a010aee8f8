"""A model that says what is written down and looks where it is told."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmtlab.models.interface import Searchable, Step
from nmtlab.text.segmentation.vocabulary import EOS, PAD
from support.scripted_model import ScriptedMemory


@dataclass(frozen=True)
class PointingState:
    output_ids: Tensor
    source: Tensor
    position: int
    slots: int = 1

    def select(self, rows: Tensor) -> "PointingState":
        return PointingState(self.output_ids, self.source[rows.amax(1) // self.slots], self.position, rows.shape[1])


class PointingModel(nn.Module, Searchable):
    """At step t it most probably says the t-th scripted token, whatever was said before.

    The attention recorded has two layers of two heads. The last layer's heads differ, and their mean is what is
    scripted; the first layer points elsewhere. A scripted row may be shorter than the source: the rest gets nothing.

    Args:
        types: size of the target vocabulary.
        said: for each source (ids without EOS) the target ids, EOS added.
        weights: for each source and step the weights on its tokens.
    """

    def __init__(
        self,
        types: int,
        said: dict[tuple[int, ...], Sequence[int]],
        weights: dict[tuple[int, ...], Sequence[Sequence[float]]],
    ) -> None:
        super().__init__()
        self.output_ids = torch.arange(2, types)
        self.said, self.weights = said, weights

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def directed(self, source: str, target: str) -> "PointingModel":
        return self

    def encode(self, source: Tensor, language: str | None = None) -> ScriptedMemory:
        return ScriptedMemory(source)

    def start(
        self, memory: ScriptedMemory, language: str | None = None, length: None = None, types: None = None
    ) -> PointingState:
        return PointingState(self.output_ids, memory.source, 0)

    def step(self, state: PointingState, token: Tensor, record: bool = False, attention: None = None) -> Step:
        sources = [tuple(t for t in row if t not in (PAD, EOS)) for row in state.source.tolist()]
        values = torch.stack([self._values(source, state.position) for source in sources])
        values = values.unsqueeze(1).expand(-1, token.shape[1], -1)
        after = PointingState(self.output_ids, state.source, state.position + 1, token.shape[1])
        if not record:
            return Step(values, after, None)
        scripted = torch.stack([self._looks(s, state.position, state.source.shape[1]) for s in sources])
        elsewhere = scripted.flip(-1)
        uneven = 0.5 * torch.minimum(scripted, 1 - scripted)
        last = torch.stack((scripted + uneven, scripted - uneven), dim=1)  # (B, heads, S)
        layers = torch.stack((torch.stack((elsewhere, elsewhere), dim=1), last))
        return Step(values, after, layers.unsqueeze(2).expand(-1, -1, token.shape[1], -1, -1))

    def _values(self, source: tuple[int, ...], position: int) -> Tensor:
        said = [*self.said[source], EOS]
        values = torch.full((len(self.output_ids),), math.log(0.1 / (len(self.output_ids) - 1)))
        values[self.output_ids == said[min(position, len(said) - 1)]] = math.log(0.9)
        return values

    def _looks(self, source: tuple[int, ...], position: int, width: int) -> Tensor:
        rows = self.weights[source]
        weights = torch.zeros(width)
        row = rows[min(position, len(rows) - 1)]
        weights[: len(row)] = torch.tensor(row)
        return weights
