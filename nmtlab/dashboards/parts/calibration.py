"""How well the probabilities of some runs are calibrated on a text, computed as soon as it is looked at."""

from collections.abc import Iterator, Sequence

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import unmet
from nmtlab.analysis.access.texts import Text
from nmtlab.analysis.search.calibration import CALIBRATION, PREDICTED, calibration_errors, reliability_figure
from nmtlab.dashboards.frame.systems import described_runs, left_out, of_one_pair
from nmtlab.dashboards.parts.text_menu import TextMenu
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import show_if
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Guarded, Work
from nmtlab.figures.theme import with_subtitle
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

_SAMPLE = 500
_NONE = "No text of these runs with weights is here: open a workspace with their corpus, or choose other runs."
_READ = (
    f"The references of {_SAMPLE} sentences at most are forced. Below the diagonal, predictions are right less often "
    "than their probability says: the model is overconfident. The more tokens, the larger a point, on a logarithmic "
    "scale."
)
_NAMES = {
    "run": "run", "of": "predicted", "tokens": "tokens", "ece": "calibration error (points)",
    "confidence": "mean probability, %", "accuracy": "right, %",
}  # fmt: skip


class Calibration(widgets.VBox):
    """What was found in words, a figure and a table, for the runs that translate the chosen `text`.

    Args:
        workspace: with the texts.
    """

    def __init__(self, workspace: Workspace, guarded: Guarded) -> None:
        self.fresh = False
        self.text = TextMenu(workspace)
        self.answer, self.chart, self.note, self._work = Answer(), Chart(), Note(), Work(guarded)
        self.table = Table("The expected calibration error of each prediction")
        super().__init__([self.text, self._work, self.answer, self.chart, self.note, self.table])

    def offer(self, runs: Sequence[Run]) -> None:
        """Offer the texts of those runs that can be forced to produce them."""
        self.text.fill(of_one_pair(_able(runs)))
        show_if(self.text.options, self.text)

    def show(self, runs: Sequence[Run]) -> None:
        """Show what is stored of some runs, and compute the rest in the background."""
        self.clear()
        self.fresh = True
        text = self.text.text
        if text is None:
            self.note.say(_NONE if runs else "")
            return
        shown = of_one_pair(_able(runs), text.corpus.direction)
        self.note.say(f"{left_out(runs, shown)} {_READ}".strip())
        missing = [run for run in shown if self._stored(run, text) is None]
        self._draw(shown, text)
        if missing:
            self.answer.say("Being computed: the references are forced.")
            self._work.start("forcing references", len(missing), self._compute(missing, shown, text), waits=True)

    def clear(self) -> None:
        """Show nothing, and stop computing."""
        for part in (self._work, self.answer, self.chart, self.note, self.table):
            part.clear()

    def _compute(self, missing: Sequence[Run], shown: Sequence[Run], text: Text) -> Iterator[None]:
        for run in missing:
            CALIBRATION.of(run, corpus=text.corpus, split=text.split, sample=_SAMPLE)
            self._draw(shown, text)
            yield

    def _stored(self, run: Run, text: Text) -> pd.DataFrame | None:
        return CALIBRATION.stored(run, corpus=text.corpus, split=text.split, sample=_SAMPLE)

    def _draw(self, shown: Sequence[Run], text: Text) -> None:
        stored = [(run, found) for run in shown if (found := self._stored(run, text)) is not None and len(found)]
        if stored:
            found = pd.concat([one.assign(run=run.label) for run, one in stored], ignore_index=True)
            self.answer.say(CALIBRATION.finding(found))
            subtitle = described_runs([run for run, _ in stored], str(self.text.value))
            self.chart.show(with_subtitle(reliability_figure(found), subtitle))
            self.table.show(errors_in_words(calibration_errors(found).round(2)))


def errors_in_words(errors: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `calibration_errors` for a reader."""
    return errors.assign(of=errors["of"].map(PREDICTED)).rename(columns=_NAMES)


def _able(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if unmet(run, CALIBRATION.needs) is None]
