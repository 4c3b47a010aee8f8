"""Figures that are not beside their analysis yet."""

from nmtlab.figures.view import Numbers, View
from nmtlab.plots.budgets import budgets_figure
from nmtlab.plots.cognates import cognate_figure
from nmtlab.plots.comparison import gains_figure, word_accuracy_figure
from nmtlab.plots.dynamics import effect_figure
from nmtlab.plots.languages import child_size_figure, overlap_figure, vocabulary_figure, worth_figure
from nmtlab.plots.many_languages import (
    ablation_figure,
    directions_figure,
    gain_figure,
    gradient_cosine_figure,
    probe_figure,
    similarity_figure,
)
from nmtlab.plots.movement import movement_figure
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
    "directions_figure",
    "effect_figure",
    "gain_figure",
    "gains_figure",
    "gradient_cosine_figure",
    "movement_figure",
    "overlap_figure",
    "probe_figure",
    "similarity_figure",
    "table_figure",
    "trainability_figure",
    "vocabulary_figure",
    "ways_figure",
    "word_accuracy_figure",
    "worth_figure",
]
