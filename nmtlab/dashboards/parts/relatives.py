"""What was measured over seeds about related and many languages: figures that no single run is behind."""

from collections.abc import Callable, Mapping

import ipywidgets as widgets
import pandas as pd

from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.widgets.controls import row
from nmtlab.dashboards.widgets.note import Note
from nmtlab.errors import NmtlabError
from nmtlab.figures.view import View
from nmtlab.thesis.shown.children import child_size_view, vocabulary_view
from nmtlab.thesis.shown.cognates import cognate_view
from nmtlab.thesis.shown.many_languages import ablation_view, gain_view
from nmtlab.thesis.shown.overlap import overlap_view
from nmtlab.thesis.shown.worth import worth_view
from nmtlab.thesis.tables.related_text import RELATED

_VIEWS: Mapping[str, Callable[[], View]] = {
    "what a relative is worth: BLEU over the child's text": child_size_view,
    "pairs that a parent replaces": worth_view,
    "BLEU over the vocabulary (Figure 3.1)": vocabulary_view,
    "words with and without a cognate (artificial, 500 pairs)": cognate_view,
    "words with and without a cognate (artificial, 10,000 pairs)": lambda: cognate_view("qab-en (10,000)"),
    "words with and without a cognate (Transformer, 500 pairs)": lambda: cognate_view(
        "qab-en (500)", "transfer-transformer", RELATED
    ),
    "many languages: gains over separate models (Iberian)": gain_view,
    "many languages: gains over separate models (artificial)": lambda: gain_view("artificial"),
    "many languages: shared and private (Iberian)": lambda: ablation_view("iberian"),
    "many languages: shared and private (artificial)": ablation_view,
    "shared words": overlap_view,
    "shared subwords": lambda: overlap_view("bpe 8000"),
}


class Measured(widgets.VBox):
    """One of the measured figures; `figure` selects it.

    `state` holds the widget that an address stores, and `section` shows the figure.
    """

    def __init__(self) -> None:
        available = [name for name, view in _VIEWS.items() if _is_measured(view)]
        self.figure = widgets.Dropdown(description="Figure", options=available, layout={"width": "36em"})
        self.state = {"figure": self.figure}
        self.section = ViewSection(self._view, self.state, "Numbers", digits=3, shown=_named)
        missing = "" if available else "Nothing measured yet: run 'nmtlab reproduce child-size --save'."
        super().__init__([row(self.figure), Note(missing), self.section.chart, self.section.table])

    def _view(self) -> View | None:
        return _VIEWS[self.figure.value]() if self.figure.value else None


def _named(numbers: pd.DataFrame) -> pd.DataFrame:
    return numbers.rename(columns=lambda name: name.replace("_", " "))


def _is_measured(view: Callable[[], View]) -> bool:
    try:
        view()
    except NmtlabError:
        return False
    return True
