"""Figures of the thesis: tables of `nmtlab.analysis` in, plotly figures out."""

from nmtlab.figures.view import Numbers, View
from nmtlab.plots.budgets import budgets_figure
from nmtlab.plots.cognates import cognate_figure
from nmtlab.plots.comparison import gains_figure, word_accuracy_figure
from nmtlab.plots.depth import depth_figure, slopes_figure
from nmtlab.plots.dynamics import dev_figure, effect_figure, gradient_figure, loss_figure
from nmtlab.plots.efficiency import efficiency_figure
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
from nmtlab.plots.search import (
    calibration_figure,
    length_models_figure,
    lengths_figure,
    sweep_figure,
    ways_figure,
)
from nmtlab.plots.search_tree import tree_figure
from nmtlab.plots.signals import signals_figure
from nmtlab.plots.tables import table_figure
from nmtlab.plots.trainability import trainability_figure

__all__ = [
    "Numbers",
    "View",
    "ablation_figure",
    "budgets_figure",
    "calibration_figure",
    "child_size_figure",
    "cognate_figure",
    "depth_figure",
    "dev_figure",
    "directions_figure",
    "effect_figure",
    "efficiency_figure",
    "gain_figure",
    "gains_figure",
    "gradient_cosine_figure",
    "gradient_figure",
    "length_models_figure",
    "lengths_figure",
    "loss_figure",
    "movement_figure",
    "overlap_figure",
    "probe_figure",
    "signals_figure",
    "similarity_figure",
    "slopes_figure",
    "sweep_figure",
    "table_figure",
    "trainability_figure",
    "tree_figure",
    "vocabulary_figure",
    "ways_figure",
    "word_accuracy_figure",
    "worth_figure",
]
