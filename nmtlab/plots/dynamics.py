"""Effects over the course of training, from stored tables."""

import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.theme import BELOW, FAINT, dressed, plain, see_through, styles


def effect_figure(effects: pd.DataFrame, than: str, about: str) -> go.Figure:
    """Draw how far systems are from another one over the course of training, with 95 % intervals.

    Args:
        effects: rows of `effects.effects_over_training`.
        than: the other system.
        about: the text that all are trained on.
    """
    figure, style = go.Figure(), styles(effects["system"])
    for system, lines in effects.groupby("system", sort=False):
        name, line = plain(str(system)), style[str(system)]
        figure.add_scatter(
            x=[*lines["step"], *lines["step"][::-1]], y=[*lines["high"], *lines["low"][::-1]], mode="lines",
            fill="toself", fillcolor=see_through(line["color"], 0.15), line={"width": 0}, hoverinfo="skip",
            legendgroup=name, showlegend=False,
        )  # fmt: skip
        figure.add_scatter(
            x=lines["step"], y=lines["effect"], mode="lines+markers", name=name, line=line, legendgroup=name,
            customdata=lines[["low", "high", "seeds"]],
            hovertemplate="%{y:+.2f} (%{customdata[0]:+.2f} to %{customdata[1]:+.2f}, %{customdata[2]} seeds) after "
            "%{x:,} updates<extra>" + name + "</extra>",
        )  # fmt: skip
    figure.add_hline(0, line={"color": FAINT, "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text="updates (bands: 95 % over seeds, each update by itself)", rangemode="tozero")
    figure.update_yaxes(title_text=f"best dev BLEU so far, minus that of {plain(than)}")
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, f"Does the effect last? {plain(about)}", 480)
