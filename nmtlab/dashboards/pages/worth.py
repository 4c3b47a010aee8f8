"""What is it worth? Every technique in pairs of text, from the measured tables."""

from collections import Counter
from collections.abc import Iterable

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.metrics import find_metric
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.widgets.controls import offer
from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.figures.view import View
from nmtlab.thesis.measured import all_measured
from nmtlab.thesis.shown.learning_curves import learning_curve_view
from nmtlab.thesis.shown.prices import Price, learning_curves, price_view, prices
from nmtlab.workspace import Workspace

PAGE = About(
    place=14,
    group="Results",
    title="What is it worth?",
    question="How many more sentence pairs would have bought what a technique gains?",
    name="worth",
)

_FIRST = "gl-en, LibreOffice: BPE"
_TEST_BLEU = "test-bleu"
_NONE = "No table here has a system on two sizes of a text or more: run 'nmtlab reproduce data-size --save'."
_MORE = (
    "A technique has a price if the system without it was measured on two nested texts or more, with the same score. "
    "Nothing is extrapolated beyond the ends of that ruler."
)


class WorthPage(Page):
    """The techniques of the measured tables that have a price: a ruler, a score and a number of pairs choose some."""

    def __init__(self, workspace: Workspace) -> None:
        measured = all_measured(workspace)
        self._found, self._learned = prices(measured), learning_curves(measured)
        wide = {"width": "100%"}
        rulers = list(dict.fromkeys(map(_ruler, self._found)))
        self.ruler = widgets.Dropdown(description="Ruler", options=rulers, layout=wide)
        self.metric = widgets.Dropdown(description="Score", layout=wide)
        self.pairs = widgets.Dropdown(description="Pairs", layout=wide)
        if _FIRST in rulers:
            self.ruler.value = _FIRST
        self.figure = ViewSection(self._view, ("ruler", "metric", "pairs"), "In numbers")
        self.all_sizes = Table("Every number of pairs", height="24em")
        self.curves = ViewSection(self._curves, ("ruler", "metric"), "Scores by the number of pairs")
        sections = [
            Section(("ruler", "metric"), (), self._offer),
            self.figure,
            Section(("ruler", "metric"), (self.all_sizes,), self._show_all),
        ]
        body = [
            self.figure.answer, self.figure.chart, Note(_MORE if rulers else _NONE),
            Fold("curves", "Which system is best with how much text?", self.curves),
            Fold("numbers", "The figure in numbers", self.figure.table),
            Fold("sizes", "What is it worth to more text, or to less?", self.all_sizes),
        ]  # fmt: skip
        state = {"ruler": self.ruler, "metric": self.metric, "pairs": self.pairs}
        super().__init__(PAGE, state, sections, body, [self.ruler, self.metric, self.pairs])

    def _offer(self) -> None:
        """Offer the scores of the chosen ruler, and the numbers of pairs of techniques with the chosen one."""
        of_ruler = [one for one in self._found if _ruler(one) == self.ruler.value]
        offer(self.metric, _named(dict.fromkeys(one.metric for one in of_ruler)), _TEST_BLEU)
        sizes = sorted({one.pairs for one in of_ruler if one.metric == self.metric.value})
        offer(self.pairs, [(f"{size:,}", size) for size in sizes])

    @property
    def _of_score(self) -> list[Price]:
        return [one for one in self._found if (_ruler(one), one.metric) == (self.ruler.value, self.metric.value)]

    def _view(self) -> View | None:
        chosen = [one for one in self._of_score if one.pairs == self.pairs.value]
        return price_view(chosen) if chosen else None

    def _curves(self) -> View | None:
        """Return the learning curves of all systems on the ruler's text."""
        texts = {one.text for one in self._of_score}
        shown = [one for one in self._learned if one.text in texts and one.metric == self.metric.value]
        return learning_curve_view(shown) if shown else None

    def _show_all(self) -> None:
        lines = [
            (one.technique, one.pairs, one.score, one.said(one.worth), one.interval)
            for one in sorted(self._of_score, key=lambda one: (one.technique, one.pairs))
        ]
        self.all_sizes.show(
            pd.DataFrame(lines, columns=["technique", "pairs", "score", "further pairs", "95 %"]).round(2)
        )


def worth_page(workspace: Workspace | None = None) -> WorthPage:
    """Return the page."""
    return WorthPage(workspace or Workspace.find())


def _named(metrics: Iterable[str]) -> list[tuple[str, str]]:
    """Return keys of metrics with their labels, and with the key where two have one label."""
    labels = {key: find_metric(key).label for key in metrics}
    shared = Counter(labels.values())
    return [(f"{label} ({key})" if shared[label] > 1 else label, key) for key, label in labels.items()]


def _ruler(price: Price) -> str:
    return f"{price.text}: {price.ruler}"
