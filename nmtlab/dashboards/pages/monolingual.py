"""Monolingual text: what back-translations and other made text add to a few pairs (Sennrich et al. 2016)."""

from collections.abc import Callable
from contextlib import suppress

import ipywidgets as widgets

from nmtlab.analysis.metrics import find_metrics
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.parts.selected import selection_view, selections, share_kept
from nmtlab.dashboards.widgets.controls import offer
from nmtlab.dashboards.widgets.note import Note, html
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.figures.view import View
from nmtlab.thesis.shown.made import made_pairs, made_qualities
from nmtlab.thesis.shown.monolingual import monolingual_view, quality_view
from nmtlab.thesis.shown.rounds import rounds_view
from nmtlab.thesis.tables.monolingual import MONOLINGUAL
from nmtlab.workspace import Workspace

PAGE = About(
    place=99,
    group="Why",
    title="Monolingual text",
    question="How much of the gain of more sentence pairs does untranslated text give?",
    name="monolingual",
)

_NOT_MEASURED = f"No runs yet: 'nmtlab reproduce {MONOLINGUAL.name} --save' trains the systems of this page."
_NO_TEXTS = f"No text that a run of the table has made is here: 'nmtlab reproduce {MONOLINGUAL.name}' makes some."
_NO_SELECTION = "No selected text is here: 'nmtlab corpus select' makes some, by a domain or by two runs."
_SYSTEMS = (
    "All systems of a panel make as many updates and are tested on the same text. 4:1 is four lines of monolingual "
    "text to each pair: of further pairs, one side is kept and the other made. Back-translated: the target side is "
    "kept, and a run on the same pairs in the other direction writes the sources, with a beam; sampled: it draws them; "
    "copied: the sources are copies of the targets. Forward-translated: the source side is kept. The upper bound has "
    "the real pairs."
)

_QUALITIES = {
    "pairs": "pairs read", "chrf": "chrF against the real side", "words": "different words, for 100 of the real side",
    "among": "chrF among the translations of a line",
}  # fmt: skip


class MonolingualPage(Page):
    """The measured scores; gains over the quality of back-translations; rounds; made pairs, and selected lines."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        options = {metric.label: metric.key for metric in find_metrics(MONOLINGUAL.metrics)}
        self.metric = widgets.Dropdown(description="Score", options=options, layout={"width": "100%"})
        self.gains = ViewSection(lambda: self._view(self.gains, monolingual_view), ("metric",), "In numbers")
        self.quality = ViewSection(lambda: self._view(self.quality, quality_view), ("metric",), "In numbers")
        # Rounds and made text have the same numbers with every score, which takes long to compute.
        self.rounds = ViewSection(rounds_view, ("selection",), "In numbers")
        self.none, self.pairs = Note(), Table("The first pairs of each text, by their lines", height="24em")
        self.made = Table("How good and how diverse made text is", height="18em")
        self.selection = widgets.Dropdown(description="Selection", options=[], layout={"width": "100%"})
        self.share = widgets.FloatSlider(
            description="Keep", value=0.5, min=0.001, max=1, step=0.001, readout_format=".1%"
        )
        self.selected = ViewSection(self._selected, ("selection", "keep"), "Lines beside the cut")
        self._selections = selections(workspace)
        self.selection.observe(lambda _: self._begin_at_its_share(), "value")
        offer(self.selection, tuple(self._selections))
        made = Section(("selection",), (self.none, self.pairs, self.made), self._show_made)
        self.measured = widgets.VBox([self.gains.answer, self.gains.chart])
        body = [
            self.measured, html(_SYSTEMS, "nmtlab-note"),
            Fold("quality", "Does the quality of back-translations decide?", self.quality),
            Fold("rounds", "What do further rounds gain?", self.rounds),
            Fold("pairs", "What do made pairs look like, over the rounds and drawn?", made),
            Fold("numbers", "The scores in numbers", self.gains.table),
            Fold("selected", "Which lines does a selection keep?", self.selection, self.share, self.selected),
        ]  # fmt: skip
        state = {"metric": self.metric, "selection": self.selection, "keep": self.share}
        super().__init__(PAGE, state, [self.gains], body, [self.metric])

    def _view(self, section: ViewSection, view: Callable[[str], View]) -> View | None:
        with suppress(NmtlabError):
            return view(self.metric.value)
        section.answer.say(_NOT_MEASURED)
        return None

    def _begin_at_its_share(self) -> None:
        with suppress(NmtlabError):  # damaged, which the section says
            if folder := self._selections.get(self.selection.value or ""):
                self.share.value = share_kept(folder)

    def _selected(self) -> View | None:
        if folder := self._selections.get(self.selection.value or ""):
            return selection_view(folder, self.share.value, self._workspace)
        self.selected.answer.say(_NO_SELECTION)
        return None

    def _show_made(self) -> None:
        found = made_pairs(self._workspace)
        if found.empty:
            self.none.say(_NO_TEXTS)
        else:
            self.pairs.show(found)
            self.made.show(made_qualities(self._workspace).rename(columns=_QUALITIES).round(1))


def monolingual_page(workspace: Workspace | None = None) -> MonolingualPage:
    """Return the page."""
    return MonolingualPage(workspace or Workspace.find())
