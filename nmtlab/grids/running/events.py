"""The events that a grid reports."""

from collections.abc import Callable
from dataclasses import dataclass

from nmtlab.grids.running.cells import Cell
from nmtlab.training.events import Event


@dataclass(frozen=True)
class Opening:
    """The text of a row is being opened, or made if it does not exist."""

    row: str
    corpus: str


@dataclass(frozen=True)
class NoText:
    """The text of a row is not available; its cells are left out."""

    row: str
    problem: str


@dataclass(frozen=True)
class GridPlanned:
    """Before the first training: the cells to make, and the complete ones with the seconds that they took."""

    pending: tuple[Cell, ...]
    made: tuple[tuple[Cell, float], ...]


@dataclass(frozen=True)
class CellEvent:
    """A progress event of a cell's training."""

    cell: Cell
    event: Event


@dataclass(frozen=True)
class CellEnded:
    """Work on a cell has ended: its run finished, stopped or diverged, or a `need` did, or there is a problem."""

    cell: Cell
    status: str
    problem: str = ""
    need: str = ""


GridEvent = Opening | NoText | GridPlanned | CellEvent | CellEnded
OnGridEvent = Callable[[GridEvent], None]


def ignore(event: GridEvent) -> None:
    """Ignore an event."""
