"""The trainings that a number of a table stands for, and what they have made of their sentences."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.sentences import sentences, texts
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.dashboards.links import links_to
from nmtlab.dashboards.page import Note, html
from nmtlab.dashboards.table import Table
from nmtlab.experiments.results.summary import rounded
from nmtlab.runs.listing import list_runs
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


class Trainings(widgets.VBox):
    """The trainings of a system, one a seed; of the picked one, links to it and its sentences beside the baseline's.

    `table.value` is the name of the picked training's run.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._cells, self._baseline = pd.DataFrame(), dict[str, str]()
        self._runs: dict[str, Run] = {}
        self.table = Table("Runs: select one for its sentences", pick="one")
        self._look, self._hint, self._lines = html(), Note(), Table("Sentences", height="24em")
        super().__init__([self.table, self._look, self._hint, self._lines])

    def offer(self, cells: pd.DataFrame, baseline: pd.DataFrame) -> None:
        """Offer the trainings of a system.

        Args:
            cells: its cells, as `experiments.results` gives them.
            baseline: those of the system that it is compared with, none if there is no such system.
        """
        self._runs = {run.name: run for run in list_runs(self._workspace)[0]}
        self._baseline = _same_seed(cells, baseline)
        self.table.show(_facts(cells, self._runs))
        if not self.table.chosen:
            here = [name for name in cells["run"] if name in self._runs]
            self.table.choose([*here, *cells["run"]][:1])

    def look(self) -> None:
        """Show what there is of the picked training."""
        name = self.table.value
        pair = [self._runs[one] for one in (self._baseline.get(name), name) if one in self._runs]
        links = links_to(pair)
        self._look.value = f"Open beside its baseline in: {links}" if links else ""
        self._lines.layout.display = "none"
        if name not in self._runs:
            self._hint.say(f"{name} is not here: 'nmtlab reproduce' makes it." if name else "")
            return
        for text in texts(self._runs[name], self._workspace):
            if stored_translations(self._runs[name], text.corpus, text.split) is not None:
                kept = "" if text.split == "test" else " (test sentences are not kept)"
                self._lines.title = f"Examples from {text.split}{kept}"
                self._lines.show(sentences(pair, text).reset_index())
                self._lines.layout.display = ""
                self._hint.say("")
                return
        self._hint.say(f"No stored translations for {name}.")


def _same_seed(cells: pd.DataFrame, baseline: pd.DataFrame) -> dict[str, str]:
    """Return the run of the baseline that each run is compared with; any, if one of both has no seeds."""
    if baseline.empty:
        return {}
    found = {}
    for seed, run in zip(cells["seed"], cells["run"], strict=True):
        same = baseline.loc[(baseline["seed"] == seed).fillna(False), "run"]
        other = same.iloc[0] if len(same) else baseline["run"].iloc[0]
        found |= {run: other} if other != run else {}
    return found


def _facts(cells: pd.DataFrame, runs: dict[str, Run]) -> pd.DataFrame:
    shown = cells[["seed", "value", "p", "status", "updates", "minutes", "run", "recipe", "machine", "commit"]]
    shown = rounded(shown.round({"minutes": 1})).assign(here=[name in runs for name in cells["run"]])
    return shown.set_index("run", drop=False)
