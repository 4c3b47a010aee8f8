"""Figures small enough to stand in a row: means with intervals, by text or over sizes, labelled where they are."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.theme import COLOURS, FAINT, SOLID, dressed, plain, styles

HEIGHT = 200
"""Pixels of such a figure."""

_SMALL = 11
"""Size of the letters."""

_APART = 0.26
"""Between two series of one place, of the distance between places."""


def intervals_figure(
    lines: pd.DataFrame,
    axis: str,
    guides: Mapping[float, str],
    thesis: Mapping[str, float] | None = None,
) -> go.Figure:
    """Draw means with 95 % intervals, a line for each place, one below the other for each series.

    Args:
        lines: `place`, `series`, `mean`, `low` and `high`, NaN if not known; from top to bottom.
        axis: what the numbers are.
        guides: what vertical lines are called, by where they are.
        thesis: the thesis' number of a place, if it has one.
    """
    places, names = list(dict.fromkeys(lines["place"])), list(dict.fromkeys(lines["series"]))
    figure, style = go.Figure(), styles(names, SOLID)
    for at, name in guides.items():
        figure.add_vline(at, line={"color": FAINT, "width": 1, "dash": "dot"})
        figure.add_annotation(_text(name, FAINT), x=at, y=1, yref="paper", yanchor="bottom", yshift=-2)
    for number, name in enumerate(names):
        of, colour = lines[lines["series"] == name], style[name]["color"]
        up: float = _APART * ((len(names) - 1) / 2 - number)
        ys = [up - places.index(place) for place in of["place"]]
        figure.add_scatter(
            x=of["mean"], y=ys, mode="markers", marker={"size": 7, "color": colour}, customdata=of[["low", "high"]],
            error_x={
                "type": "data", "symmetric": False, "array": of["high"] - of["mean"],
                "arrayminus": of["mean"] - of["low"], "thickness": 1.5, "width": 0,
            },
            text=of["place"].map(plain), name=plain(name), showlegend=False,
            hovertemplate="%{text}: %{x:.3~g} (%{customdata[0]:.3~g} to %{customdata[1]:.3~g})",
        )  # fmt: skip
        if name:
            _label_line(figure, of.iloc[0], ys[0], plain(name), colour, lines)
    for place, printed in (thesis or {}).items():
        figure.add_scatter(
            x=[printed], y=[-places.index(place)], mode="markers", showlegend=False, name="thesis",
            marker={"size": 9, "symbol": "diamond-open", "color": COLOURS[1], "line": {"width": 1.5}},
            hovertemplate="the thesis, on another text: %{x:+.1f}<extra></extra>",
        )  # fmt: skip
    ticks = {"tickvals": [-place for place in range(len(places))], "ticktext": [plain(place) for place in places]}
    figure.update_yaxes(range=[0.6 - len(places), 0.6], showgrid=False, zeroline=False, ticks="", **ticks)
    figure.update_xaxes(title_text=axis, zeroline=False)
    return _small(figure)


def curves_figure(lines: pd.DataFrame, axes: tuple[str, str], guide: float | None = None) -> go.Figure:
    """Draw means with 95 % intervals over sizes on a logarithmic axis, a curve for each series.

    Args:
        lines: `size`, `series`, `mean`, `low` and `high`, NaN if not known.
        axes: what the sizes and the numbers are.
        guide: where a horizontal line is.
    """
    figure, sizes = go.Figure(), sorted(set(lines["size"]))
    if guide is not None:
        figure.add_hline(guide, line={"color": FAINT, "width": 1, "dash": "dot"})
    names = list(dict.fromkeys(lines["series"]))
    style = styles(names, SOLID)
    for number, name in enumerate(names):
        of, colour = lines[lines["series"] == name].sort_values("size"), style[name]["color"]
        places = [sizes.index(size) + 0.06 * (number - (len(names) - 1) / 2) for size in of["size"]]
        figure.add_scatter(
            x=places, y=of["mean"], mode="lines+markers", line={"color": colour, "width": 2}, marker_size=6,
            error_y={
                "type": "data", "symmetric": False, "array": of["high"] - of["mean"],
                "arrayminus": of["mean"] - of["low"], "thickness": 1.5, "width": 0,
            },
            customdata=of[["low", "high"]], text=of["size"].map("{:,}".format), name=plain(name), showlegend=False,
            hovertemplate="%{text}: %{y:.1f} (%{customdata[0]:.1f} to %{customdata[1]:.1f})",
        )  # fmt: skip
        end = {"x": places[-1], "y": of["mean"].iloc[-1], "xanchor": "left", "xshift": 7}
        figure.add_annotation(_text(plain(name), colour), **end)
    ticks = {"tickvals": list(range(len(sizes))), "ticktext": [f"{size:,}" for size in sizes]}
    figure.update_xaxes(title_text=axes[0], range=[-0.2, len(sizes) - 1 + 0.42 * len(sizes)], zeroline=False, **ticks)
    figure.update_yaxes(title_text=axes[1], zeroline=False)
    return _small(figure)


def _small(figure: go.Figure) -> go.Figure:
    figure.update_xaxes(title_standoff=4, fixedrange=True)
    figure.update_yaxes(title_standoff=4, fixedrange=True)
    figure.update_layout(margin={"l": 8, "r": 10, "t": 14, "b": 8}, dragmode=False)
    return dressed(figure, "", HEIGHT).update_layout(font_size=_SMALL)


def _label_line(figure: go.Figure, line: pd.Series, y: float, name: str, colour: str, lines: pd.DataFrame) -> None:
    """Write the name of a series beside its first interval, on the side with more room."""
    low, high = lines["low"].min(), lines["high"].max()
    right = line["mean"] < (low + high) / 2
    end = {"x": line["high"], "xanchor": "left", "xshift": 5} if right else {"x": line["low"], "xanchor": "right"}
    figure.add_annotation(_text(name, colour), y=y, **{"xshift": -5, **end})


def _text(text: str, colour: str) -> dict[str, object]:
    return {"text": text, "showarrow": False, "font": {"size": _SMALL, "color": colour}}
