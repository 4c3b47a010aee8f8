"""Learned g against depth (thesis Figures 3.6 and 3.7)."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.theme import BELOW, FAINT, dressed, name_in_lines, styles

_SYMBOLS = {"encoder": "circle", "decoder": "square", "decoder-encoder": "diamond", "final": "star"}
_DASHES = {"encoder": "solid", "decoder": "dash", "decoder-encoder": "dot", "final": "solid"}
_PANELS = ("attention", "feed-forward")


def depth_figure(values: pd.DataFrame, fits: pd.DataFrame) -> go.Figure:
    """Draw g of each sublayer over its depth, with a fitted line per group: a colour per run, a symbol per group.

    Args:
        values: rows of `depth.g_by_depth`.
        fits: rows of `depth.g_fits` for these values.
    """
    titles = ["attention sublayers", "feed-forward sublayers and final norms"]
    figure = make_subplots(cols=2, subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.05)
    style, named = styles(values["run"]), set()
    for (panel, run, group), sublayers in values.groupby(["panel", "run", "group"], sort=False):
        name = f"{name_in_lines(run)}: {group}"
        shared = {"legendgroup": name, "name": name, "row": 1, "col": _PANELS.index(panel) + 1}
        colour = style[run]["color"]
        figure.add_scatter(
            x=sublayers["depth"], y=sublayers["g"], mode="markers",
            marker={"symbol": _SYMBOLS[group], "size": 10, "color": colour},
            customdata=sublayers["side"], showlegend=name not in named,
            hovertemplate="%{customdata}, depth %{x}: g = %{y:.3f}<extra>" + name + "</extra>", **shared,
        )  # fmt: skip
        named.add(name)
        for fit in _of(fits, run, panel, group).itertuples():
            ends = [sublayers["depth"].min(), sublayers["depth"].max()]
            figure.add_scatter(
                x=ends, y=[fit.intercept + fit.slope * depth for depth in ends], mode="lines", showlegend=False,
                line={"color": colour, "dash": _DASHES[group]},
                hovertemplate=f"{fit.slope:+.3f} per layer<extra>{name}</extra>", **shared,
            )  # fmt: skip
    figure.update_xaxes(title_text="depth (layers)", dtick=1)
    figure.update_yaxes(title_text="g", col=1)
    figure.update_layout(legend=BELOW)
    return dressed(figure, "Learned g of ScaleNorm against depth", 460)


def slopes_figure(slopes: pd.DataFrame) -> go.Figure:
    """Draw the slope of g over depth at each evaluation: a colour per run, a dash per group.

    Args:
        slopes: rows of `depth.g_slopes`, of one run or several.
    """
    titles = [f"{panel} sublayers" for panel in _PANELS]
    figure = make_subplots(cols=2, subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.05)
    style, named = styles(slopes["run"]), set()
    for (run, group, panel), evaluations in slopes.groupby(["run", "group", "panel"], sort=False):
        name = f"{name_in_lines(run)}: {group}"
        figure.add_scatter(
            x=evaluations["step"], y=evaluations["slope"], mode="lines",
            name=name, legendgroup=name, showlegend=name not in named,
            line={"color": style[run]["color"], "dash": _DASHES[group]}, row=1, col=_PANELS.index(panel) + 1,
            hovertemplate="update %{x:,}: %{y:+.3f} per layer<extra>" + name + "</extra>",
        )  # fmt: skip
        named.add(name)
    figure.add_hline(0, line={"color": FAINT, "width": 1})
    figure.update_xaxes(title_text="updates", rangemode="tozero")
    figure.update_yaxes(title_text="slope of g, per layer", col=1)
    figure.update_layout(legend=BELOW)
    return dressed(figure, "Does g grow with depth? Its slope during training", 460)


def _of(fits: pd.DataFrame, run: str, panel: str, group: str) -> pd.DataFrame:
    return fits[(fits["run"] == run) & (fits["panel"] == panel) & (fits["group"] == group)]
