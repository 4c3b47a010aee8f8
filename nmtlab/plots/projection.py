"""Vectors in the plane, coloured by the frequency of their words."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.marks import Side, some_words, with_words
from nmtlab.figures.theme import COLOURS, dressed, plain

_MAX_POINTS = 1500  # per panel

_SCALE = ((0, COLOURS[0]), (1, COLOURS[4]))
"""From rare to frequent; both ends stand out from a white and from a dark page."""


def projection_figure(points: pd.DataFrame, title: str, side: Side = "target", also: str = "") -> go.Figure:
    """Draw vectors in the plane: a panel for each of several systems, a colour for each frequency.

    Args:
        points: rows of `analysis.states.projection`, the most frequent words first, with a column `panel`; of many,
            every n-th is drawn. The `customdata` of a point is the word and its count, the `meta` of a trace its panel.
        title: of the figure.
        side: of the words.
        also: a word that is drawn in any case.
    """
    panels = list(dict.fromkeys(points["panel"]))
    figure = make_subplots(cols=len(panels), subplot_titles=[plain(panel) for panel in panels], horizontal_spacing=0.08)
    for column, panel in enumerate(panels, start=1):
        of_panel = points[points["panel"] == panel]
        drawn = some_words(of_panel, _MAX_POINTS, also)
        figure.add_scatter(
            x=drawn["x"], y=drawn["y"], mode="markers", meta=panel, showlegend=False,
            text=[plain(word) for word in drawn["word"]], customdata=drawn[["word", "count"]],
            marker={
                "size": 5, "opacity": 0.7, "coloraxis": "coloraxis", "color": np.log10(drawn["count"].clip(lower=1)),
            },
            hovertemplate="%{text}<br>%{customdata[1]} times in training<extra></extra>", row=1, col=column,
        )  # fmt: skip
        shares = of_panel[["x_share", "y_share"]].iloc[0]
        for update, axis, share in zip((figure.update_xaxes, figure.update_yaxes), (1, 2), shares, strict=True):
            update(title_text=_axis(axis, share), zeroline=False, col=column)
    figure.update_layout(coloraxis={"colorscale": _SCALE, "colorbar": _bar(points["count"])})
    return dressed(with_words(figure, side), title, 480)


def _axis(number: int, share: float) -> str:
    """Return the title of an axis; those of UMAP have no share of the variance."""
    return f"UMAP {number}" if math.isnan(share) else f"PC {number} ({share:.1%} of the variance)"


def _bar(counts: pd.Series) -> dict[str, object]:
    """Return a colour bar of frequencies at powers of ten."""
    powers = list(range(math.floor(math.log10(max(counts.max(), 1))) + 1))
    return {"title": "times in training", "tickvals": powers, "ticktext": [f"{10**power:,}" for power in powers]}
