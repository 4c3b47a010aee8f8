"""Figures of the thesis: tables of `nmtlab.analysis` in, plotly figures out."""

from nmtlab.figures.view import Numbers, View
from nmtlab.plots.attention import attention_figure, contribution_figure
from nmtlab.plots.budgets import budgets_figure
from nmtlab.plots.cognates import cognate_figure
from nmtlab.plots.depth import depth_figure, slopes_figure
from nmtlab.plots.dynamics import dev_figure, effect_figure, gradient_figure, loss_figure
from nmtlab.plots.efficiency import efficiency_figure
from nmtlab.plots.heads import heads_figure
from nmtlab.plots.languages import child_size_figure, vocabulary_figure, worth_figure
from nmtlab.plots.lexicon import lexicon_figure
from nmtlab.plots.logits import logit_figure
from nmtlab.plots.many_languages import (
    ablation_figure,
    gain_figure,
)
from nmtlab.plots.norms import norm_figure
from nmtlab.plots.projection import projection_figure
from nmtlab.plots.search import (
    calibration_figure,
    length_models_figure,
    lengths_figure,
    sweep_figure,
    ways_figure,
)
from nmtlab.plots.search_tree import tree_figure
from nmtlab.plots.shift import agreement_figure, masking_figure, shift_figure
from nmtlab.plots.signals import signals_figure
from nmtlab.plots.tables import table_figure
from nmtlab.plots.tokens import token_figure
from nmtlab.plots.trainability import trainability_figure

__all__ = [
    "Numbers",
    "View",
    "ablation_figure",
    "agreement_figure",
    "attention_figure",
    "budgets_figure",
    "calibration_figure",
    "child_size_figure",
    "cognate_figure",
    "contribution_figure",
    "depth_figure",
    "dev_figure",
    "effect_figure",
    "efficiency_figure",
    "gain_figure",
    "gradient_figure",
    "heads_figure",
    "length_models_figure",
    "lengths_figure",
    "lexicon_figure",
    "logit_figure",
    "loss_figure",
    "masking_figure",
    "norm_figure",
    "projection_figure",
    "shift_figure",
    "signals_figure",
    "slopes_figure",
    "sweep_figure",
    "table_figure",
    "token_figure",
    "trainability_figure",
    "tree_figure",
    "vocabulary_figure",
    "ways_figure",
    "worth_figure",
]
