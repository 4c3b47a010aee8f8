"""Activations and gradients before each normalisation, from the embeddings to the output (thesis 3.3.2.1)."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.theme import BELOW, dressed, log_axis, name_in_lines, styles

_SIDES = ("encoder", "decoder")
_QUANTITIES = {"activation": "norm of the inputs", "gradient": "norm of their gradients"}
_FACTS = "before %{customdata[0]}, layer %{customdata[1]}: %{y:.3g}"


def signals_figure(signals: pd.DataFrame) -> go.Figure:
    """Draw norms of inputs and gradients: a panel per side and quantity, a colour per run, dotted for initial weights.

    Args:
        signals: rows of `analysis.signals.signals`, of one run or several, at one update or several.
    """
    figure = make_subplots(
        rows=2, cols=2, subplot_titles=["encoder", "decoder"], shared_xaxes=True, horizontal_spacing=0.08,
        vertical_spacing=0.08,
    )  # fmt: skip
    style, named = styles(signals["run"]), set()
    for (run, update), rows in signals.groupby(["run", "update"], sort=False):
        when = f"update {update:,}" if update else "at the start"
        name = f"{name_in_lines(run)}, {when}"
        line = {"color": style[run]["color"], "dash": "solid" if update else "dot"}
        for row, quantity in enumerate(_QUANTITIES, start=1):
            for column, side in enumerate(_SIDES, start=1):
                some = rows[rows["side"] == side]
                figure.add_scatter(
                    x=some["place"], y=some[quantity], mode="lines+markers", name=name, legendgroup=name,
                    showlegend=name not in named, line=line,
                    customdata=some[["kind", "depth"]],
                    hovertemplate=_FACTS + "<extra>" + name + "</extra>",
                    row=row, col=column,
                )  # fmt: skip
                named.add(name)
    figure.update_xaxes(title_text="normalisation, from the embeddings up", row=2)
    for row, (quantity, title) in enumerate(_QUANTITIES.items(), start=1):
        figure.update_yaxes(title_text=title, row=row, col=1)
        for column, side in enumerate(_SIDES, start=1):
            sizes = signals.loc[signals["side"] == side, quantity]
            figure.update_yaxes(**log_axis(sizes), row=row, col=column)
    figure.update_layout(legend=BELOW)
    return dressed(figure, "Inputs of each normalisation and their gradients", 640)
