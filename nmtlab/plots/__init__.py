"""Figures that are not beside their analysis yet."""

from nmtlab.figures.view import Numbers, View
from nmtlab.plots.budgets import budgets_figure
from nmtlab.plots.cognates import cognate_figure
from nmtlab.plots.dynamics import effect_figure
from nmtlab.plots.languages import child_size_figure, vocabulary_figure, worth_figure
from nmtlab.plots.many_languages import ablation_figure, gain_figure
from nmtlab.plots.search import ways_figure
from nmtlab.plots.tables import table_figure
from nmtlab.plots.trainability import trainability_figure

__all__ = [
    "Numbers",
    "View",
    "ablation_figure",
    "budgets_figure",
    "child_size_figure",
    "cognate_figure",
    "effect_figure",
    "gain_figure",
    "table_figure",
    "trainability_figure",
    "vocabulary_figure",
    "ways_figure",
    "worth_figure",
]
