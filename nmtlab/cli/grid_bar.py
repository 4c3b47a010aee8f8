"""Progress of a grid in the terminal."""

import math
import time
from dataclasses import dataclass, field
from typing import TextIO

from tqdm.auto import tqdm

from nmtlab.grids.running.cells import Cell
from nmtlab.grids.running.estimate import seconds_left
from nmtlab.grids.running.events import CellEnded, CellEvent, GridEvent, GridPlanned, NoText, Opening
from nmtlab.training.events import Preparing, Progress, Validated


@dataclass
class _Running:
    """A cell that is being made."""

    cell: Cell
    began: float = field(default_factory=time.perf_counter)
    doing: str = ""
    share: float = 0.0
    left: float = 0.0
    best: float = -math.inf

    def score(self, form: str, otherwise: str = "") -> str:
        """Format the best dev BLEU, or return `otherwise` before the first evaluation."""
        return form.format(self.best) if self.best > -math.inf else otherwise


class GridBar:
    """Draws one bar for all cells with the time left, and prints a line for each cell that ends.

    Args:
        label: name of the grid.
        workers: number of cells made at once.
        out: where the lines go.

    Attributes:
        left_out: why the text of a row is not available, by row.
    """

    def __init__(self, label: str, workers: int = 1, out: TextIO | None = None) -> None:
        self.label, self.workers, self.out = label, workers, out
        self.left_out: dict[str, str] = {}
        self.waiting: dict[str, Cell] = {}
        self.running: dict[str, _Running] = {}
        self.known: list[tuple[Cell, float]] = []
        self.bar: tqdm | None = None

    def __call__(self, event: GridEvent) -> None:
        if isinstance(event, GridPlanned):
            self._count(event)
        elif isinstance(event, CellEnded):
            self._leave(event)
        elif isinstance(event, CellEvent):
            self._update(event)
        elif isinstance(event, Opening):
            tqdm.write(f"{event.row}: opening corpus {event.corpus} ...", self.out)
        elif isinstance(event, NoText):
            self.left_out[event.row] = event.problem
            tqdm.write(f"{event.row}: left out, {event.problem}", self.out)

    def close(self) -> None:
        """Close the bar."""
        if self.bar is not None:
            self.bar.close()

    def _count(self, event: GridPlanned) -> None:
        self.close()
        self.waiting = {cell.run: cell for cell in event.pending}
        self.known = list(event.made)
        cells = len(event.pending) + len(event.made)
        tqdm.write(f"{self.label}: {cells} cells, {len(event.made)} of them already made", self.out)
        layout = "{desc}{percentage:3.0f}%|{bar:12}| {postfix}"
        self.bar = tqdm(total=cells, bar_format=layout, dynamic_ncols=True, mininterval=0.5, disable=None)

    def _update(self, progress: CellEvent) -> None:
        name, event = progress.cell.run, progress.event
        self.waiting.pop(name, None)
        running = self.running.setdefault(name, _Running(progress.cell))
        if isinstance(event, Preparing):
            running.doing = event.what
        elif isinstance(event, Progress):
            running.share, running.left = event.step / event.updates, event.seconds_left
            running.doing = f"{min(running.share, 1.0):.0%}" + running.score(" BLEU {:.1f}")
        elif isinstance(event, Validated):
            running.best = event.best
        self._draw()

    def _leave(self, left: CellEnded) -> None:
        self.waiting.pop(left.cell.run, None)
        running = self.running.pop(left.cell.run, _Running(left.cell))
        seconds = time.perf_counter() - running.began
        if left.status in ("finished", "diverged"):
            self.known.append((left.cell, seconds))
        score = running.score("best dev BLEU {:.2f}", "no evaluation yet")
        ended = f"needs {left.need}, which diverged" if left.need else f"{left.status} after {_clock(seconds)}, {score}"
        outcome = left.problem or ended
        rest = len(self.waiting) + len(self.running)
        cells = f"{rest} cell{'s' if rest > 1 else ''}"
        tqdm.write(f"{left.cell.run}: {outcome}" + (f"; {cells}, {self._time_left()} left" if rest else ""), self.out)
        self._draw()

    def _draw(self) -> None:
        if self.bar is None:
            return
        doing = ", ".join(f"{name} {running.doing}" for name, running in self.running.items())
        self.bar.n = len(self.known) + min(sum(min(r.share, 1.0) for r in self.running.values()), len(self.running))
        self.bar.set_description_str(f"{self.label} {len(self.known)}/{self.bar.total} ", refresh=False)
        self.bar.set_postfix_str(f"{self._time_left()} left; {doing}", refresh=False)
        self.bar.update(0)

    def _time_left(self) -> str:
        running = self.running.values()
        begun = [(r.cell, time.perf_counter() - r.began + r.left) for r in running if r.share]
        seconds = seconds_left(
            self.waiting.values(), {r.cell.run: r.left for r in running}, [*self.known, *begun], self.workers
        )
        return "?" if seconds is None else _clock(seconds)


def _clock(seconds: float) -> str:
    return tqdm.format_interval(seconds)
