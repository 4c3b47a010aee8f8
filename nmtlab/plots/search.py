"""Figures of search over whole texts, from stored tables (thesis 4.1)."""

from html import escape

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.theme import BELOW, dressed, styles

_ASIDE = 0.07
"""Distance between the points of two settings at one beam size, of the distance between beam sizes."""


def ways_figure(lines: pd.DataFrame) -> go.Figure:
    """Draw BLEU by beam size for several search settings, a panel per language pair: means with 95 % intervals.

    Args:
        lines: `row`, the pair; `way`, the setting; `planned`, whether it plans lengths, which is dashed; `beam`;
            `mean` and `margin` of BLEU, in percent.
    """
    pairs, ways = (list(dict.fromkeys(lines[name])) for name in ("row", "way"))
    figure = make_subplots(rows=1, cols=len(pairs), subplot_titles=[escape(pair) for pair in pairs])
    style, beams = styles(ways), sorted(lines["beam"].unique())
    for (way, pair), curve in lines.sort_values("beam").groupby(["way", "row"], sort=False):
        place = pairs.index(pair)
        aside = _ASIDE * (ways.index(way) - (len(ways) - 1) / 2)  # or intervals would hide each other
        figure.add_scatter(
            x=[beams.index(beam) + aside for beam in curve["beam"]], y=curve["mean"], mode="lines+markers",
            error_y={"type": "data", "array": curve["margin"], "thickness": 1.5, "width": 3}, name=escape(way),
            legendgroup=way, showlegend=not place, customdata=curve[["margin", "beam"]],
            line={**style[way], "dash": "dash" if curve["planned"].any() else "solid"},
            hovertemplate="beam %{customdata[1]}: %{y:.2f} ± %{customdata[0]:.2f}<extra>" + escape(way) + "</extra>",
            row=1, col=place + 1,
        )  # fmt: skip
    ticks = {"tickvals": list(range(len(beams))), "ticktext": [f"{beam:g}" for beam in beams]}
    figure.update_xaxes(title_text="beam size", zeroline=False, **ticks)
    figure.update_yaxes(title_text="BLEU (%)", col=1)
    figure.update_layout(legend=BELOW, margin_b=130)
    return dressed(figure, "BLEU by beam size: planned lengths beside other searches", 480)
