"""Related languages: what a child has from its parent, and what becomes of it (thesis 3.1)."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.languages.source_neighbours import source_neighbours
from nmtlab.dashboards.about import LANGUAGES
from nmtlab.dashboards.chart import Chart
from nmtlab.dashboards.columns import columns
from nmtlab.dashboards.page import Note, Page, heading
from nmtlab.dashboards.runs import RunChooser
from nmtlab.dashboards.systems import can_decode, has_parent, system_of
from nmtlab.dashboards.table import Table
from nmtlab.runs.run import Run
from nmtlab.training.inheritance import Inheritance
from nmtlab.views import movement_view
from nmtlab.workspace import Workspace

FIRST = ("child-gl-en.4000.transfer-bpe.related-parent.s1",)
_NEIGHBOURS = 15


class LanguagesPage(Page):
    """A child: what it took over from its parent, how its vectors moved, and which of them are neighbours."""

    def __init__(self, workspace: Workspace) -> None:
        self.runs = RunChooser(workspace, accepts=has_parent, first=FIRST, many=False, title="Children")
        self.hint, self.taken = Note(), Table("What the child took over", height="12em")
        self.moved, self.medians = Chart(), Table("Median movement, by how often the type occurs")
        self.word = widgets.Text(description="Subword", continuous_update=False, placeholder="or click a point")
        self.neighbours = Table("Nearest source types", height="22em")
        self.moved.on_click(lambda point: setattr(self.word, "value", point["customdata"][0]))
        state = {"runs": self.runs.table, "word": self.word}
        parts = {
            **dict.fromkeys((self.taken, self.moved, self.medians), ("runs",)),
            **dict.fromkeys((self.hint, self.neighbours), state),
        }
        body = [
            self.runs, self.hint, self.taken,
            heading("How far do the vectors move while the child learns?"),
            self.moved, columns(self.medians, widgets.VBox([self.word, self.neighbours])),
        ]  # fmt: skip
        super().__init__(LANGUAGES, state, self._answer, body, self.runs.refresh, parts)

    def _answer(self, changed: set[str]) -> None:
        if not self.runs.chosen:
            self.hint.say("No run here has a parent: train one with 'nmtlab train CHILD --parent RUN'.")
            return
        run = self.runs.chosen[0]
        inheritance = Inheritance.of(run.inheritance)
        self.hint.say(f"{inheritance.summary().capitalize()}.")
        if "runs" in changed:
            self.taken.show(_taken(inheritance))
            view = movement_view(run)
            self.moved.show(view.figure)
            self.medians.show(view.frame.round(2))
        self._show_neighbours(run)

    def _show_neighbours(self, run: Run) -> None:
        word = self.word.value.strip()
        self.neighbours.title = f"Source types nearest to {word}" if word else "Nearest source types: type or click one"
        if not can_decode(run):
            self.neighbours.title = "Nearest source types: this run has no weights here"
            word = ""
        found = source_neighbours(system_of(run), word, _NEIGHBOURS) if word else pd.DataFrame()
        self.neighbours.show(found.round(3).rename(columns={"count": "times in the child's text"}))


def languages_page(workspace: Workspace | None = None) -> LanguagesPage:
    """Return the page."""
    return LanguagesPage(workspace or Workspace.find())


def _taken(inheritance: Inheritance) -> pd.DataFrame:
    """Return what became of each part of the parent."""
    uses = {"tune": "copied, trained further", "freeze": "copied, frozen", "reset": "drawn anew"}
    rows = {}
    for one in inheritance.parameters:
        of_part = {"part": one.part.replace("_", " "), "parent's weights": uses[one.use]}
        kept = one.kept if one.types is not None and one.use != "reset" else None
        rows.setdefault(one.part, {**of_part, "types": one.types, "types from the parent": kept})
    return pd.DataFrame(rows.values()).astype({"types": "Int64", "types from the parent": "Int64"})
