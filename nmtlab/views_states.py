"""Vectors of words and states: their projections, and the training sentences with the nearest states."""

from collections.abc import Sequence

import pandas as pd

from nmtlab.analysis.lexical.norms import spearman
from nmtlab.analysis.states.projection import WORD_PROJECTION, Method
from nmtlab.plots import View, projection_figure
from nmtlab.runs.run import Run


def word_projection_view(runs: Sequence[Run], method: Method = "pca") -> View:
    """Show the output vectors of words in the plane, by frequency, system by system.

    Its table has the rank correlation of each axis with frequency; the sign of an axis has no meaning.

    Args:
        runs: neural, with weights.
        method: `pca`, or `umap`, which needs the library umap-learn.

    Raises:
        NmtlabError: umap-learn is not installed.
        RunError: a run is phrase-based, or has no weights.
    """
    points = pd.concat([WORD_PROJECTION.of(run, method=method).assign(panel=run.label) for run in runs])
    return _view(points, "Output vectors of words")


def _view(points: pd.DataFrame, title: str) -> View:
    rows = [
        {
            "run": panel,
            "points": len(drawn),
            "share 1": drawn["x_share"].iloc[0],
            "share 2": drawn["y_share"].iloc[0],
            "spearman 1": spearman(drawn["count"], drawn["x"]),
            "spearman 2": spearman(drawn["count"], drawn["y"]),
        }
        for panel, drawn in points.groupby("panel", sort=False)
    ]
    return View(pd.DataFrame(rows), projection_figure(points, title))
