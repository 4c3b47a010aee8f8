"""The trainings behind a number in a table, and their translations."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.sentences import sentences, texts
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.dashboards.links import links_to
from nmtlab.dashboards.page import Note, html
from nmtlab.dashboards.table import Table
from nmtlab.experiments.results.summary import rounded
from nmtlab.runs.listing import list_runs
from nmtlab.runs.naming import labelled
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


class Trainings(widgets.VBox):
    """The trainings of a system, one per seed; for the selected one, links and its translations beside the baseline's.

    `table.value` is the name of the selected run.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._cells, self._baseline = pd.DataFrame(), dict[str, str]()
        self._runs: dict[str, Run] = {}
        self.table = Table("Runs: select one to see its sentences", pick="one")
        self._look, self._hint, self._lines = html(), Note(), Table("Sentences", height="24em")
        super().__init__([self.table, self._look, self._hint, self._lines])

    def offer(self, cells: pd.DataFrame, baseline: pd.DataFrame) -> None:
        """Offer the trainings of a system.

        Args:
            cells: cells of the system, as returned by `experiments.results`.
            baseline: cells of the baseline system; empty if there is none.
        """
        self._runs = {run.name: run for run in list_runs(self._workspace)[0]}
        self._baseline = _same_seed(cells, baseline)
        self.table.show(_facts(cells, self._runs))
        if not self.table.chosen:
            available = [name for name in cells["run"] if name in self._runs]
            self.table.choose([*available, *cells["run"]][:1])

    def look(self) -> None:
        """Show links and translations of the selected training."""
        name = self.table.value
        pair = [self._runs[one] for one in (self._baseline.get(name), name) if one in self._runs]
        links = links_to(pair)
        self._look.value = f"Open with its baseline in: {links}" if links else ""
        self._lines.layout.display = "none"
        if name not in self._runs:
            self._hint.say(f"Run {name} is not in this workspace: train it with 'nmtlab reproduce'." if name else "")
            return
        for text in texts(self._runs[name], self._workspace):
            if stored_translations(self._runs[name], text.corpus, text.split) is not None:
                kept = "" if text.split == "test" else " (test sentences are not stored)"
                self._lines.title = f"Examples from {text.split}{kept}"
                self._lines.show(sentences(labelled(pair), text).reset_index())
                self._lines.layout.display = ""
                self._hint.say("")
                return
        self._hint.say(f"No stored translations for {name}.")


def _same_seed(cells: pd.DataFrame, baseline: pd.DataFrame) -> dict[str, str]:
    """Return the baseline run of the same seed for each run, or the first baseline run if there is none."""
    if baseline.empty:
        return {}
    found = {}
    for seed, run in zip(cells["seed"], cells["run"], strict=True):
        same = baseline.loc[(baseline["seed"] == seed).fillna(False), "run"]
        other = same.iloc[0] if len(same) else baseline["run"].iloc[0]
        found |= {run: other} if other != run else {}
    return found


def _facts(cells: pd.DataFrame, runs: dict[str, Run]) -> pd.DataFrame:
    shown = cells[["seed", "value", "status", "updates", "minutes", "run", "recipe", "machine", "commit"]]
    shown = rounded(shown.round({"minutes": 1})).assign(here=[name in runs for name in cells["run"]])
    return shown.set_index("run", drop=False)
