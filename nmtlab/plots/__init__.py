"""Figures of the thesis: tables of `nmtlab.analysis` in, plotly figures out."""

from nmtlab.figures.view import Numbers, View
from nmtlab.plots.attention import attention_figure, contribution_figure
from nmtlab.plots.comparison import gains_figure, word_accuracy_figure
from nmtlab.plots.depth import depth_figure, slopes_figure
from nmtlab.plots.dynamics import dev_figure, gradient_figure, loss_figure
from nmtlab.plots.efficiency import efficiency_figure
from nmtlab.plots.heads import heads_figure
from nmtlab.plots.lexicon import lexicon_figure
from nmtlab.plots.logits import logit_figure
from nmtlab.plots.many_languages import (
    directions_figure,
    gradient_cosine_figure,
    probe_figure,
    similarity_figure,
)
from nmtlab.plots.movement import movement_figure
from nmtlab.plots.norms import norm_figure
from nmtlab.plots.projection import projection_figure
from nmtlab.plots.search import (
    calibration_figure,
    length_models_figure,
    lengths_figure,
    sweep_figure,
)
from nmtlab.plots.search_tree import tree_figure
from nmtlab.plots.shift import agreement_figure, masking_figure, shift_figure
from nmtlab.plots.signals import signals_figure
from nmtlab.plots.tokens import token_figure

__all__ = [
    "Numbers",
    "View",
    "agreement_figure",
    "attention_figure",
    "calibration_figure",
    "contribution_figure",
    "depth_figure",
    "dev_figure",
    "directions_figure",
    "efficiency_figure",
    "gains_figure",
    "gradient_cosine_figure",
    "gradient_figure",
    "heads_figure",
    "length_models_figure",
    "lengths_figure",
    "lexicon_figure",
    "logit_figure",
    "loss_figure",
    "masking_figure",
    "movement_figure",
    "norm_figure",
    "probe_figure",
    "projection_figure",
    "shift_figure",
    "signals_figure",
    "similarity_figure",
    "slopes_figure",
    "sweep_figure",
    "token_figure",
    "tree_figure",
    "word_accuracy_figure",
]
