"""The trainings behind a number in a table, and their translations."""

from typing import NamedTuple

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.texts import MOST, Text, by_title, sentences, side_by_side, texts
from nmtlab.analysis.access.translations import source_digest, stored_translations, text_digest
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.links import links_to
from nmtlab.dashboards.frame.selection import Line, Selection
from nmtlab.dashboards.widgets.note import Note, html
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import CorpusError
from nmtlab.grids.results.scored import Scored
from nmtlab.grids.results.summary import rounded
from nmtlab.runs.listing import list_runs, open_run_of
from nmtlab.runs.naming import labelled
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


class _Examples(NamedTuple):
    """Sentences with their translations.

    Args:
        title: what they are.
        table: as returned by `sentences`; of a text that is not here, only translations by line.
        origin: their text as other pages offer it, with its title there; None if they do not.
    """

    title: str
    table: pd.DataFrame
    origin: tuple[str, Text] | None


class Trainings(widgets.VBox):
    """The trainings of a system, one per seed; for the selected one, links and its translations beside the baseline's.

    `table.value` is the name of the selected run, `lines.value` the number of the selected sentence.

    Args:
        workspace: workspace with the runs.
        page: that shows them.
    """

    def __init__(self, workspace: Workspace, page: About) -> None:
        self._workspace = workspace
        self._scored: Scored | None = None
        self._measured: dict[str, Run | None] = {}
        self._baseline = dict[str, str]()
        self._runs: dict[str, Run] = {}
        self.table = Table("Runs: select one to see its sentences", pick="one")
        self.lines = Table("Sentences", pick="one", height="24em")
        self.selection = Selection(page, (), (self.lines,))
        self._look, self._hint = html(), Note()
        self._examples: _Examples | None = None
        self._lacking = ""
        super().__init__([self.table, self._look, self._hint, self.lines, self.selection])

    def offer(self, cells: pd.DataFrame, baseline: pd.DataFrame, scored: Scored | None) -> None:
        """Offer the trainings of a system.

        Args:
            cells: cells of the system, lines of `CELLS`.
            baseline: cells of the baseline system; empty if there is none.
            scored: the sentences that the number is of, if there are any.
        """
        self._runs = {run.name: run for run in list_runs(self._workspace)[0]}
        self._scored, self._baseline = scored, _same_seed(cells, baseline)
        made = pd.concat([baseline, cells])[["run", "machine"]].drop_duplicates()
        self._measured = {name: open_run_of(name, machine, self._workspace) for name, machine in made.to_numpy()}
        self.table.show(_facts(cells, self._runs))
        if not self.table.chosen:
            available = [name for name in cells["run"] if name in self._runs]
            self.table.choose([*available, *cells["run"]][:1])

    def look(self) -> None:
        """Show links and translations of the selected training."""
        name = self.table.value
        links = links_to(self._pair)
        self._look.value = f"Open with its baseline in: {links}" if links else ""
        self._examples, self._lacking = None, "they are of another text than the one of its name here"
        if name:
            self._examples = (
                self._behind_the_number(name, self._scored)
                or self._stored_with_run(name)
                or self._behind_the_number(name, self._made())
                or self._alone(name)
            )
        if self._examples:
            self.lines.title = f"{self._examples.title}: select one"
            self.lines.show(self._examples.table.reset_index().set_index("line", drop=False))
        self._hint.say(self._what_lacks(name) if name else "")

    def look_closer(self) -> None:
        """Show the tokens of the selected sentence."""
        pair = labelled(self._pair)
        examples = self._examples
        if examples is None or "source" not in examples.table:
            return
        if self.lines.value is None or self.table.value not in self._runs:
            return
        row, pipeline = self.lines.frame.loc[self.lines.value], pair[-1].pipeline
        targets = {"reference": row["reference"]} | {run.label: row[run.label] for run in pair if run.label in row}
        lines = [Line(name, "target", pipeline.target.tokenizer.split(line)) for name, line in targets.items()]
        title, text = examples.origin or (None, None)
        number = int(row["line"]) if text else None
        where = Sentence(row["source"], title, number, text, pair[-1].direction)
        self.selection.offer(pair, where, [Line("source", "source", pipeline.source_pieces(row["source"])), *lines])

    @property
    def _pair(self) -> list[Run]:
        """The baseline's run and the selected one, if they are here."""
        name = self.table.value
        return [self._runs[one] for one in (self._baseline.get(name), name) if one in self._runs]

    def _label(self, name: str) -> str:
        """Return how a training of the pair is called beside the other."""
        return next((run.label for run in labelled(self._pair) if run.name == name), name)

    def _made(self) -> Scored | None:
        """Return what the number is of with its text made for the moment; None if that cannot be done."""
        try:
            return self._scored.made(self._workspace) if self._scored else None
        except CorpusError as error:
            self._lacking = str(error)
            return None

    def _behind_the_number(self, name: str, scored: Scored | None) -> _Examples | None:
        """Return the sentences that the number is of, if a run's translations of them are stored."""
        names = [one for one in (self._baseline.get(name), name) if one]
        text = scored.sentences(self._measured[name]) if scored else None
        if scored is None or text is None:
            return None
        stored = {one: scored.translations(self._measured[one]) for one in names}
        if stored[name] is None:
            return None
        found = {self._label(one): lines for one, lines in stored.items() if lines is not None}
        table = side_by_side(text.sources, text.references[0], found)
        return _Examples(scored.title, table, self._offered(name, scored.score.split, text.sources))

    def _offered(self, name: str, split: str, sources: list[str]) -> tuple[str, Text] | None:
        """Return a run's text that consists of exactly these sentences, with its title; None if it has none."""
        found = by_title(texts(self._runs[name], self._workspace)) if name in self._runs else {}
        same = (
            (title, text)
            for title, text in found.items()
            if text.split == split and source_digest(text.corpus, split) == text_digest(sources)
        )
        return next(same, None)

    def _stored_with_run(self, name: str) -> _Examples | None:
        """Return the sentences of the first text of which a run has stored translations."""
        found = by_title(texts(self._runs[name], self._workspace)).items() if name in self._runs else ()
        for title, text in found:
            if stored_translations(self._runs[name], text.corpus, text.split) is not None:
                kept = "" if text.split == "test" else " (test sentences are not stored)"
                table = sentences(labelled(self._pair), text)
                return _Examples(f"Examples from {text.split}{kept}", table, (title, text))
        return None

    def _alone(self, name: str) -> _Examples | None:
        """Return the translations that the number is of, if a run's are stored but their text is not here."""
        scored, names = self._scored, [one for one in (self._baseline.get(name), name) if one]
        if scored is None or scored.corpus:
            return None
        stored = {one: scored.translations_alone(self._measured[one]) for one in names}
        if not stored[name]:
            return None
        table = pd.DataFrame({self._label(one): pd.Series(lines[:MOST]) for one, lines in stored.items() if lines})
        return _Examples(scored.title, table.set_axis(table.index.rename("line") + 1), None)

    def _what_lacks(self, name: str) -> str:
        """Return why the translations of a run cannot be shown, or not beside their sources; empty if they can."""
        if self._examples:
            known = "source" in self._examples.table
            return "" if known else f"These translations are shown without source and reference: {self._lacking}."
        if name not in self._runs:
            return f"Run {name} is not in this workspace: train it with 'nmtlab reproduce'."
        if self._runs[name].notes.translations():
            return f"{name} has stored translations, but the text that they are of is not in this workspace."
        return f"No stored translations for {name}."


def _same_seed(cells: pd.DataFrame, baseline: pd.DataFrame) -> dict[str, str]:
    """Return the baseline run of the same seed for each run, or the first baseline run if there is none."""
    if baseline.empty:
        return {}
    found: dict[str, str] = {}
    for seed, run in zip(cells["seed"], cells["run"], strict=True):
        same = baseline.loc[(baseline["seed"] == seed).fillna(False), "run"]
        other = same.iloc[0] if len(same) else baseline["run"].iloc[0]
        found |= {run: other} if other != run else {}
    return found


def _facts(cells: pd.DataFrame, runs: dict[str, Run]) -> pd.DataFrame:
    shown = cells[["seed", "value", "status", "updates", "minutes", "run", "recipe", "machine", "commit"]]
    shown = rounded(shown.round({"minutes": 1})).assign(here=[name in runs for name in cells["run"]])
    return shown.set_index("run", drop=False)
