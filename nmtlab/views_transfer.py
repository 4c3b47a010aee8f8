"""Figures of a child and its parents (thesis 3.1), drawn from measured runs and tables."""

from nmtlab.analysis.languages.movement import movement_by_kind, movement_of
from nmtlab.plots import View, movement_figure
from nmtlab.runs.run import Run


def movement_view(child: Run) -> View:
    """Show how far the source vectors of a child moved (thesis 3.1.4); its table has medians by frequency.

    Raises:
        RunError: it has no parent, or neither the parent nor a stored answer is here.
    """
    moved = movement_of(child)
    medians = movement_by_kind(moved)
    return View(medians, movement_figure(moved, medians))
