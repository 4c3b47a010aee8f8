"""The signals into each normalisation layer of some runs, forward and backward, measured on demand."""

from collections.abc import Iterator, Sequence

import ipywidgets as widgets

from nmtlab.analysis.access.texts import Text, texts
from nmtlab.analysis.dynamics.signals import (
    ENOUGH,
    SIGNALS,
    STORED_SIGNALS,
    is_of_sample,
    measured_updates,
    signals_figure,
)
from nmtlab.dashboards.frame.systems import described_runs, mentioned
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, show_if
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.work import Guarded, Work
from nmtlab.figures.theme import with_subtitle
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


class Signals(widgets.VBox):
    """A figure of stored measurements, and a button that adds the missing ones where possible.

    Args:
        workspace: workspace with the texts to measure on.
    """

    def __init__(self, workspace: Workspace, guarded: Guarded) -> None:
        self._workspace = workspace
        self._runs: Sequence[Run] = ()
        self.fresh = False
        self._answer, self._chart, self._note, self._work = Answer(), Chart(), Note(), Work(guarded)
        about = "On a sample of the dev sentences of each run"
        self._button = button("Measure", self._start, guarded, tooltip=about)
        super().__init__([self._answer, self._chart, self._note, self._button, self._work])

    def show(self, runs: Sequence[Run]) -> None:
        """Show the measurements of the Transformers among some runs; work in progress on the same runs continues."""
        self.fresh = True
        before = [run.folder for run in self._runs]
        self._runs = [run for run in runs if run.recipe.model.self_attention]
        if [run.folder for run in self._runs] != before:
            self._work.stop()
        self._draw()

    def clear(self) -> None:
        """Show nothing, and stop measuring."""
        self.show(())

    def _draw(self) -> None:
        found = STORED_SIGNALS.among(self._runs)
        show_if(len(found), self._chart)
        if len(found):
            self._chart.show(with_subtitle(signals_figure(found), described_runs(self._runs, "dev")))
        self._answer.say(STORED_SIGNALS.finding(found))
        incomplete = [run for run in self._runs if _not_measured(run)]
        show_if(any(self._text(run) for run in incomplete), self._button)
        first = [run for run in self._runs if not all(map(is_of_sample, measured_updates(run).values()))]
        notes = {"Not measured": incomplete, "Measured on the first dev sentences (not a random sample)": first}
        said = (f"{note}: {mentioned(some)}." for note, some in notes.items() if some)
        self._note.say(" ".join(said))

    def _text(self, run: Run) -> Text | None:
        """Return the dev text to measure a run on; None if its text or its weights are missing."""
        available = texts(run, self._workspace) if run.checkpoints.has_weights() else []
        return next((text for text in available if (text.split, text.corpus.direction) == ("dev", run.direction)), None)

    def _start(self) -> None:
        wanted = [
            (run, text, update) for run in self._runs if (text := self._text(run)) for update in _not_measured(run)
        ]
        self._work.start("measuring signals", len(wanted), self._measure(wanted), waits=True)

    def _measure(self, wanted: Sequence[tuple[Run, Text, int]]) -> Iterator[None]:
        for run, text, update in wanted:
            SIGNALS.of(run, corpus=text.corpus, split=text.split, update=update, sample=ENOUGH)
            yield
        self._draw()


def _not_measured(run: Run) -> list[int]:
    """Return which of update 0 and the latest available checkpoint have not been measured."""
    latest = run.checkpoints.last_step if run.checkpoints.has_weights("last") else run.checkpoints.best_step
    wanted = [0] if latest is None else [0, latest]
    measured = measured_updates(run)
    if not run.checkpoints.has_weights() and measured:
        return []
    return [update for update in wanted if update not in measured]
