"""What a training would cost, before it is started."""

from collections.abc import Iterator

import ipywidgets as widgets

from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.work import Guarded, Work
from nmtlab.errors import NmtlabError
from nmtlab.recipe import Recipe
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.cost import CostEstimate, estimate_cost


class Plan(widgets.VBox):
    """The estimated cost of a training, computed in the background."""

    def __init__(self, guarded: Guarded) -> None:
        self._note, self._work = Note(), Work(guarded)
        self.fresh = False
        super().__init__([self._note, self._work])

    def estimate(self, recipe: Recipe, corpus: ParallelCorpus) -> None:
        """Estimate the cost of training a recipe on a corpus."""
        self.fresh = True
        self._note.say("Estimating the cost …")
        self._work.start("Estimating the cost", 1, self._steps(recipe, corpus), waits=True)

    def say(self, text: str) -> None:
        """Show a text instead of an estimate."""
        self.clear()
        self._note.say(text)
        self.fresh = True

    def clear(self) -> None:
        """Show nothing."""
        self._work.stop()
        self._note.clear()

    def _steps(self, recipe: Recipe, corpus: ParallelCorpus) -> Iterator[None]:
        try:
            self._note.say(_described(estimate_cost(recipe, corpus)))
        except NmtlabError as error:
            self._note.say(f"No estimate: {error}")
        yield


def _described(cost: CostEstimate) -> str:
    least, most = _duration(cost.minutes / 2), _duration(2 * cost.minutes)
    return (
        f"Plan: {cost.pairs:,} pairs, {_short(cost.parameters)} parameters; at most {cost.updates:,} updates "
        f"({cost.epochs:,.0f} epochs) in {least} to {most} at the machine's present load; less if dev stops improving "
        f"before. {_size(cost.memory.total)} of memory, {_size(cost.disk_mib)} of disk."
    )


def _short(number: int) -> str:
    return f"{number / 1e6:,.1f} M" if number >= 100_000 else f"{number:,}"


def _duration(minutes: float) -> str:
    return f"{minutes / 60:,.1f} hours" if minutes >= 120 else f"{max(minutes, 1):,.0f} min"


def _size(mib: float) -> str:
    return f"{mib / 1024:,.1f} GiB" if mib >= 1024 else f"{mib:,.0f} MiB"
