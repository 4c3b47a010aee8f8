"""What was measured over seeds about related and many languages: figures that no single run is behind."""

from collections.abc import Callable, Collection, Mapping

import ipywidgets as widgets
import pandas as pd

from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.figures.view import View
from nmtlab.thesis.shown.children import child_size_view, vocabulary_view
from nmtlab.thesis.shown.cognates import cognate_view
from nmtlab.thesis.shown.forgetting import forgetting_view
from nmtlab.thesis.shown.many_languages import ablation_view, gain_view
from nmtlab.thesis.shown.overlap import overlap_view
from nmtlab.thesis.tables.related_text import RELATED

Views = Mapping[str, Callable[[], View]]
"""Figures by the names under which they are offered."""

OF_A_PARENT: Views = {
    "what a relative is worth: BLEU over the child's text": child_size_view,
    "BLEU over the vocabulary (Figure 3.1)": vocabulary_view,
    "words with and without a cognate (artificial, 500 pairs)": cognate_view,
    "words with and without a cognate (artificial, 10,000 pairs)": lambda: cognate_view("qab-en (10,000)"),
    "words with and without a cognate (Transformer, 500 pairs)": lambda: cognate_view(
        "qab-en (500)", "transfer-transformer", RELATED
    ),
    "continued training: gained on the child's text, forgotten of the parent's": forgetting_view,
    "shared words": overlap_view,
    "shared subwords": lambda: overlap_view("bpe 8000"),
}
OF_MANY_LANGUAGES: Views = {
    "gains over separate models (Iberian)": gain_view,
    "gains over separate models (artificial)": lambda: gain_view("artificial"),
    "shared and private (Iberian)": lambda: ablation_view("iberian"),
    "shared and private (artificial)": ablation_view,
}


class Measured(widgets.VBox):
    """One of some measured figures and what it says; its numbers are `section.table`.

    Args:
        views: to choose from.
        name: returns that of the figure that is shown; with another name than those of the views, none is.
        inputs: names of the page's state that this depends on.
    """

    def __init__(self, views: Views, name: Callable[[], str], inputs: Collection[str]) -> None:
        self.section = ViewSection(
            lambda: views[name()]() if name() in views else None, inputs, "Numbers", digits=3, shown=_named
        )
        super().__init__([self.section.answer, self.section.chart])


def _named(numbers: pd.DataFrame) -> pd.DataFrame:
    return numbers.rename(columns=lambda name: name.replace("_", " "))
