"""Noise in training text: what each kind costs, and what it does to translations (Khayrallah and Koehn 2018)."""

from contextlib import suppress

import ipywidgets as widgets

from nmtlab.analysis.languages.noise import NOISE_EFFECTS
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.views import ViewSection, view_of
from nmtlab.dashboards.widgets.note import html
from nmtlab.errors import NmtlabError, RunError
from nmtlab.figures.view import View
from nmtlab.runs.listing import open_run
from nmtlab.runs.naming import labelled
from nmtlab.runs.run import Run
from nmtlab.thesis.measured import measured_cells
from nmtlab.thesis.shown.noise import SYSTEMS, copies_view, noise_view
from nmtlab.thesis.tables.noise import NOISE
from nmtlab.workspace import Workspace

PAGE = About(
    place=98,
    group="Why",
    title="Noise",
    question="What do bad pairs in the training text cost, and what do they do to translations?",
    name="noise",
)

_BOTH = "neural and phrase-based"
_UPDATES = "Systems measured here read the clean pairs equally often: with 100 % of noise, they make twice the updates."
_NO_RUNS = f"No run behind the table is here: 'nmtlab reproduce {NOISE.name}' trains them."


class NoisePage(Page):
    """The measured and published cost of noise; copies over its share; the translations of single runs."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        options = {_BOTH: "", **{name: name for name in SYSTEMS}}
        self.system = widgets.Dropdown(description="Systems", options=options, layout={"width": "100%"})
        inputs = ("system",)
        self.cost = ViewSection(lambda: noise_view(self.system.value), inputs, "In points of BLEU above the clean text")
        self.copies = ViewSection(_copies, inputs, "Translations that are their source, in percent")
        self.effects = ViewSection(self._effects, inputs, "Shares of the translations, in percent")
        self.measured = widgets.VBox([self.cost.answer, self.cost.chart])
        body = [
            self.measured, html(_UPDATES, "nmtlab-note"),
            Fold("copies", "How much do systems copy that were trained on copies?", self.copies),
            Fold("effects", "What do the translations of single runs look like?", self.effects),
            Fold("numbers", "The cost in numbers", self.cost.table),
        ]  # fmt: skip
        super().__init__(PAGE, {"system": self.system}, [self.cost], body, [self.system])

    def _effects(self) -> View | None:
        """Return the stored answers of the runs of the first seed behind the measured table."""
        runs = self._runs()
        if not runs:
            self.effects.answer.say(_NO_RUNS)
            return None
        return view_of(NOISE_EFFECTS, labelled(runs), "test")

    def _runs(self) -> list[Run]:
        try:
            cells = measured_cells(NOISE.name, "small", "source-copies")
        except NmtlabError:
            return []
        first = cells[(cells["seed"] == 1) & cells["value"].notna()]
        runs = []
        for name in first["run"].unique():
            with suppress(RunError):  # a saved table may be all that is here
                runs.append(open_run(name, self._workspace))
        return [run for run in runs if NOISE_EFFECTS.any_stored(run) is not None]


def _copies() -> View | None:
    try:
        return copies_view()
    except NmtlabError:
        return None


def noise_page(workspace: Workspace | None = None) -> NoisePage:
    """Return the page."""
    return NoisePage(workspace or Workspace.find())
