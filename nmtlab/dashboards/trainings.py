"""The trainings behind a number in a table, and their translations."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.sentences import Text, by_title, sentences, texts
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.dashboards.about import TABLES
from nmtlab.dashboards.links import Sentence, links_to
from nmtlab.dashboards.page import Note, html
from nmtlab.dashboards.selection import Line, Selection
from nmtlab.dashboards.table import Table
from nmtlab.experiments.results.summary import rounded
from nmtlab.runs.listing import list_runs
from nmtlab.runs.naming import labelled
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


class Trainings(widgets.VBox):
    """The trainings of a system, one per seed; for the selected one, links and its translations beside the baseline's.

    `table.value` is the name of the selected run, `lines.value` the number of the selected sentence.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._cells, self._baseline = pd.DataFrame(), dict[str, str]()
        self._runs: dict[str, Run] = {}
        self.table = Table("Runs: select one to see its sentences", pick="one")
        self.lines = Table("Sentences", pick="one", height="24em")
        self.selection = Selection(TABLES, (), (self.lines,))
        self._look, self._hint = html(), Note()
        self._text: tuple[str, Text] | None = None
        super().__init__([self.table, self._look, self._hint, self.lines, self.selection])

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
        name, pair = self.table.value, self._pair
        links = links_to(pair)
        self._look.value = f"Open with its baseline in: {links}" if links else ""
        self._text = _translated(self._runs[name], self._workspace) if name in self._runs else None
        self.lines.layout.display = "" if self._text else "none"
        if name and name not in self._runs:
            self._hint.say(f"Run {name} is not in this workspace: train it with 'nmtlab reproduce'.")
        elif self._text is None:
            self._hint.say(_why_none(self._runs[name]) if name else "")
        else:
            _, text = self._text
            kept = "" if text.split == "test" else " (test sentences are not stored)"
            self.lines.title = f"Examples from {text.split}{kept}: select one"
            self.lines.show(sentences(labelled(pair), text).reset_index().set_index("line", drop=False))
            self._hint.say("")
        self.look_closer()

    def look_closer(self) -> None:
        """Show the tokens of the selected sentence."""
        if self._text is None or self.lines.value is None:
            self.selection.clear()
            return
        pair, row = labelled(self._pair), self.lines.frame.loc[self.lines.value]
        (title, text), pipeline = self._text, pair[-1].pipeline
        targets = {"reference": row["reference"]} | {run.label: row[run.label] for run in pair if run.label in row}
        lines = [Line(name, "target", pipeline.target.tokenizer.split(line)) for name, line in targets.items()]
        where = Sentence(row["source"], title, int(row["line"]), text, pair[-1].direction)
        self.selection.offer(pair, where, [Line("source", "source", pipeline.source_pieces(row["source"])), *lines])

    @property
    def _pair(self) -> list[Run]:
        """The baseline's run and the selected one, if they are here."""
        name = self.table.value
        return [self._runs[one] for one in (self._baseline.get(name), name) if one in self._runs]


def _translated(run: Run, workspace: Workspace) -> tuple[str, Text] | None:
    """Return the first text of which a run has stored translations, with its title."""
    found = by_title(texts(run, workspace)).items()
    return next((one for one in found if stored_translations(run, one[1].corpus, one[1].split) is not None), None)


def _why_none(run: Run) -> str:
    """Return why no translations of a run can be shown."""
    if run.translations():
        return f"{run.name} has stored translations, but the text that they are of is not in this workspace."
    return f"No stored translations for {run.name}."


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
