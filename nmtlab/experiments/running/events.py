"""What a grid tells whoever watches it."""

from collections.abc import Callable
from dataclasses import dataclass

from nmtlab.experiments.running.cells import Cell
from nmtlab.training.events import Event


@dataclass(frozen=True)
class Opening:
    """The text of a row is looked for, and made if it is not there."""

    row: str
    corpus: str


@dataclass(frozen=True)
class NoText:
    """The text of a row cannot be had; its cells are left out."""

    row: str
    problem: str


@dataclass(frozen=True)
class Counted:
    """Before the first training: what is to be made, and what is there already, with the seconds that it took."""

    pending: tuple[Cell, ...]
    made: tuple[tuple[Cell, float], ...]


@dataclass(frozen=True)
class Told:
    """What a cell's training tells."""

    cell: Cell
    event: Event


@dataclass(frozen=True)
class Left:
    """A cell is no longer worked on; its run is finished, stopped, has diverged, or there is a problem."""

    cell: Cell
    status: str
    problem: str = ""


GridEvent = Opening | NoText | Counted | Told | Left
OnGridEvent = Callable[[GridEvent], None]


def ignore(event: GridEvent) -> None:
    """Watch nothing."""
