"""What was measured over seeds about related and many languages: figures that no single run is behind."""

from collections.abc import Callable, Mapping

import ipywidgets as widgets

from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import row
from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.experiments.shown.children import child_size_view, vocabulary_view
from nmtlab.experiments.shown.cognates import cognate_view
from nmtlab.experiments.shown.many_languages import ablation_view, gain_view
from nmtlab.experiments.shown.overlap import overlap_view
from nmtlab.experiments.shown.worth import worth_view
from nmtlab.experiments.tables.related_text import RELATED
from nmtlab.figures.view import View

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
        self._chart, self._numbers = Chart(), Table("Numbers")
        self.state = {"figure": self.figure}
        self.section = Section(self.state, (self._chart, self._numbers), self._show)
        missing = "" if available else "Nothing measured yet: run 'nmtlab reproduce child-size --save'."
        super().__init__([row(self.figure), Note(missing), self._chart, self._numbers])

    def _show(self) -> None:
        if self.figure.value:
            view = _VIEWS[self.figure.value]()
            self._chart.show(view.figure)
            numbers = view.frame.round(3).rename(columns=lambda name: name.replace("_", " "))
            self._numbers.show(numbers.reset_index(drop=True))


def _is_measured(view: Callable[[], View]) -> bool:
    try:
        view()
    except NmtlabError:
        return False
    return True
