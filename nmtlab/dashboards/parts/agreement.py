"""How often attention and other methods point at the linked word, over a sample of a text, measured on demand."""

from collections.abc import Iterator, Sequence

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.texts import Text
from nmtlab.analysis.attribution.agreement import AGREEMENT, AGREEMENT_OF, EXPLANATIONS, Explanation
from nmtlab.analysis.attribution.contributions import SLOW
from nmtlab.dashboards.frame.systems import has_quick_gradients
from nmtlab.dashboards.widgets.controls import button, show_if
from nmtlab.dashboards.widgets.note import Answer
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Guarded, Work
from nmtlab.runs.run import Run

_SHARES = {
    "on": "on the aligned word, %",
    "first": "on the first word, %",
    "first_linked": "aligned to the first word, %",
    "error_rate": "AER, %",
}


class Agreement(widgets.VBox):
    """The stored answers in words and in a table, and a button that adds the missing ones."""

    def __init__(self, guarded: Guarded) -> None:
        self._runs: Sequence[Run] = ()
        self._text: Text | None = None
        self.fresh = False
        self.answer = Answer()
        self.table = Table("Target words with a single link, by the source word of highest weight")
        self._work = Work(guarded)
        about = "On a sample of 100 sentences of the chosen text"
        self._button = button("Compute (some minutes)", self._start, guarded, tooltip=about)
        super().__init__([self.answer, self.table, self._button, self._work])

    def show(self, runs: Sequence[Run], text: Text | None) -> None:
        """Show what was measured of some runs on a text; work in progress on the same ones continues."""
        self.fresh = True
        before = self._of()
        self._runs, self._text = runs, text
        if self._of() != before:
            self._work.stop()
        self._draw()

    def clear(self) -> None:
        """Show nothing, and stop measuring."""
        self.show((), None)

    def _draw(self) -> None:
        found = {asked: self._stored(*asked) for asked in self._asked()}
        known = {asked: row for asked, row in found.items() if row is not None}
        rows = [row.assign(run=run.label, method=method) for (run, method), row in known.items()]
        frame = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
        self.answer.say(AGREEMENT.finding(frame))
        none = "Not computed yet." if found else "No text with word links of these runs is here."
        self.table.show(_in_percent(frame) if rows else frame, why=none)
        show_if(len(rows) < len(found), self._button)

    def _of(self) -> tuple[str, ...]:
        return (*(run.name for run in self._runs), self._text.name if self._text else "")

    def _asked(self) -> list[tuple[Run, Explanation]]:
        asked = [(run, method) for run in self._runs if self._text for method in EXPLANATIONS]
        return [(run, method) for run, method in asked if method != SLOW or has_quick_gradients(run)]

    def _stored(self, run: Run, method: Explanation) -> pd.DataFrame | None:
        text = self._text
        return AGREEMENT_OF.stored(run, corpus=text.corpus, part=text.split, method=method) if text else None

    def _start(self) -> None:
        missing = [(run, method) for run, method in self._asked() if self._stored(run, method) is None]
        self._work.start("measuring agreement", len(missing), self._measure(missing), waits=True)

    def _measure(self, missing: Sequence[tuple[Run, Explanation]]) -> Iterator[None]:
        for run, method in missing:
            assert self._text is not None  # without a text, nothing is missing
            AGREEMENT_OF.of(run, corpus=self._text.corpus, part=self._text.split, method=method)
            self._draw()
            yield


def _in_percent(found: pd.DataFrame) -> pd.DataFrame:
    shares = (100 * found[[*_SHARES]]).round().rename(columns=_SHARES)
    return found[["run", "method", "words"]].join(shares)
