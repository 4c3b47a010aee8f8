"""Differences between systems after a short training and at its end."""

from html import escape

import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed

_LINE, _AROUND = 46, 150
"""Pixels of a claim's line, and above and below all of them."""

_BUDGETS = {"short": ("short", "circle-open", COLOURS[1], 0.17), "long": ("trained out", "circle", COLOURS[0], -0.17)}
"""Name, symbol, colour and offset of each budget."""


def budgets_figure(both: pd.DataFrame, title: str) -> go.Figure:
    """Draw the effect that each claim is about at both budgets, with 95 % intervals.

    Args:
        both: as of `nmtlab.experiments.claims.budgets.at_two_budgets`, of one text or of one metric.
        title: what it shows.
    """
    figure = go.Figure()
    places = [*range(len(both))][::-1]
    for budget, (name, symbol, colour, offset) in _BUDGETS.items():
        effect, low, high = (both[f"{part}_{budget}"] for part in ("effect", "low", "high"))
        figure.add_scatter(
            x=effect, y=[place + offset for place in places], mode="markers", name=name,
            marker={"size": 9, "symbol": symbol, "color": colour, "line": {"width": 2}},
            error_x={"symmetric": False, "array": high - effect, "arrayminus": effect - low, "width": 3},
            customdata=both[[f"verdict_{budget}", f"seeds_{budget}", f"budget_{budget}"]],
            hovertemplate=f"{name}: %{{x:+.2f}}, %{{customdata[0]}}, %{{customdata[1]}} seeds<br>%{{customdata[2]}}"
            "<extra></extra>",
        )  # fmt: skip
    metrics = both["metric"].unique()
    compared = both["direction"].str.split(", expected").str[0].map(escape)
    if both["text"].nunique() == len(metrics) == 1:
        names = compared.str.replace(" − ", "<br>− ")
    else:
        names = compared + "<br>" + both["text" if len(metrics) == 1 else "metric"].map(escape)
    figure.update_yaxes(tickvals=places, ticktext=names, range=[-0.6, len(both) - 0.4], showgrid=False, zeroline=False)
    of_bleu = " in BLEU" if all("BLEU" in metric for metric in metrics) else ""
    difference = f" in {escape(metrics[0])}" if len(metrics) == 1 else of_bleu
    figure.update_xaxes(title_text=f"difference{difference}", zeroline=True, zerolinecolor=FAINT)
    figure.update_layout(legend=BELOW, margin_b=90)
    return dressed(figure, escape(title), _LINE * max(1, len(both)) + _AROUND)
