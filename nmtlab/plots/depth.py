"""Learned g against depth (thesis Figures 3.6 and 3.7)."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.plots.theme import BELOW, dressed, plain, styles

_SYMBOLS = {"encoder": "circle", "decoder": "square", "decoder-encoder": "diamond", "final": "star"}
_DASHES = {"encoder": "solid", "decoder": "dash", "decoder-encoder": "dot", "final": "solid"}
_PANELS = ("attention", "feed-forward")


def depth_figure(values: pd.DataFrame, fits: pd.DataFrame) -> go.Figure:
    """Draw g of each sublayer over its depth with a line through each group: a colour a run, a symbol a group.

    Args:
        values: rows of `depth.g_by_depth`.
        fits: rows of `depth.g_fits` of them.
    """
    titles = ["attention sublayers", "feed-forward sublayers and final norms"]
    figure = make_subplots(cols=2, subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.05)
    style, named = styles(values["run"]), set()
    for (panel, run, group), own in values.groupby(["panel", "run", "group"], sort=False):
        name = f"{plain(str(run))}: {group}"
        shared = {"legendgroup": name, "name": name, "row": 1, "col": _PANELS.index(panel) + 1}
        colour = style[run]["color"]
        figure.add_scatter(
            x=own["depth"], y=own["g"], mode="markers", marker={"symbol": _SYMBOLS[group], "size": 10, "color": colour},
            customdata=own["side"], showlegend=name not in named,
            hovertemplate="%{customdata}, depth %{x}: g = %{y:.3f}<extra>" + name + "</extra>", **shared,
        )  # fmt: skip
        named.add(name)
        for fit in _of(fits, run, panel, group).itertuples():
            ends = [own["depth"].min(), own["depth"].max()]
            figure.add_scatter(
                x=ends, y=[fit.intercept + fit.slope * depth for depth in ends], mode="lines", showlegend=False,
                line={"color": colour, "dash": _DASHES[group]},
                hovertemplate=f"{fit.slope:+.3f} a layer<extra>{name}</extra>", **shared,
            )  # fmt: skip
    figure.update_xaxes(title_text="depth (layers)", dtick=1)
    figure.update_yaxes(title_text="g", col=1)
    figure.update_layout(legend=BELOW)
    return dressed(figure, "Learned g of ScaleNorm against depth", 460)


def _of(fits: pd.DataFrame, run: str, panel: str, group: str) -> pd.DataFrame:
    return fits[(fits["run"] == run) & (fits["panel"] == panel) & (fits["group"] == group)]
