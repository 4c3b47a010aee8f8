"""Noise in training text: what each kind costs, and what it does to translations (Khayrallah and Koehn 2018)."""

from contextlib import suppress

import ipywidgets as widgets

from nmtlab.analysis.languages.noise import NOISE_EFFECTS
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.widgets.note import html
from nmtlab.errors import NmtlabError, RunError
from nmtlab.figures.theme import with_subtitle
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
_UPDATES = "All systems measured on a text make as many updates: with 100 % of noise, half of what they read is clean."
_NO_RUNS = f"No run behind the table is here: 'nmtlab reproduce {NOISE.name}' trains them."
_NO_ANSWERS = "The runs behind the table are here, but what their translations are like has not been measured."


class NoisePage(Page):
    """The measured and published cost of noise; copies over its share; the translations of single runs."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        options = {_BOTH: "", **{name: name for name in SYSTEMS}}
        self.system = widgets.Dropdown(description="Systems", options=options, layout={"width": "100%"})
        inputs = ("system",)
        self.cost = ViewSection(lambda: noise_view(self.system.value), inputs, "In points of BLEU above the clean text")
        self.copies = ViewSection(self._copies, inputs, "Translations that are their source, in percent")
        self.effects = ViewSection(self._effects, inputs, "Shares of the translations, in percent")
        self.measured = widgets.VBox([self.cost.answer, self.cost.chart])
        body = [
            self.measured, html(_UPDATES, "nmtlab-note"),
            Fold("copies", "How much do systems trained on copies copy?", self.copies),
            Fold("effects", "What do the translations of single runs look like?", self.effects),
            Fold("numbers", "The cost in numbers", self.cost.table),
        ]  # fmt: skip
        super().__init__(PAGE, {"system": self.system}, [self.cost], body, [self.system])

    def _copies(self) -> View | None:
        with suppress(NmtlabError):  # not measured
            return copies_view(self.system.value)
        return None

    def _effects(self) -> View | None:
        """Return the stored answers of the runs of the first seed behind the measured tables."""
        runs = self._runs()
        measured = [run for run in runs if NOISE_EFFECTS.any_stored(run) is not None]
        if not measured:
            self.effects.answer.say(_NO_ANSWERS if runs else _NO_RUNS)
            return None
        view = NOISE_EFFECTS.view(labelled(measured))
        with_subtitle(view.figure, "each on its clean test text; the first seed")
        return view

    def _runs(self) -> list[Run]:
        names: list[str] = []
        for system in [self.system.value] if self.system.value else SYSTEMS:
            with suppress(NmtlabError):  # not measured
                cells = measured_cells(SYSTEMS[system].name, "small", "source-copies").dropna(subset="value")
                names += cells.loc[cells["seed"].fillna(1) == 1, "run"].unique().tolist()
        runs = []
        for name in names:
            with suppress(RunError):  # a saved table may be all that is here
                runs.append(open_run(name, self._workspace))
        return runs


def noise_page(workspace: Workspace | None = None) -> NoisePage:
    """Return the page."""
    return NoisePage(workspace or Workspace.find())
