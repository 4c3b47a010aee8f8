"""All attention heads of a Transformer at a glance: a row for each layer, a column for each head."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.marks import Side, with_tokens
from nmtlab.figures.theme import SHADES, dressed, plain

_BARE = {"showticklabels": False, "ticks": "", "showgrid": False, "zeroline": False, "mirror": True}
_NAME = {"xref": "paper", "yref": "paper", "showarrow": False}
_HEIGHT, _ABOVE, _BELOW = 130, 75, 15
"""Pixels of a row of heatmaps, above all of them and below."""
_GAP = 0.12
"""Between heatmaps, as a share of the space of each."""
_SIDES: Mapping[str, tuple[Side, Side]] = {
    "cross-attention": ("target", "source"), "encoder self-attention": ("source", "source"),
    "decoder self-attention": ("target", "target"),
}  # fmt: skip
"""The sides of the token that attends and of the one that is attended to, by kind."""


def heads_figure(weights: pd.DataFrame, title: str) -> go.Figure:
    """Draw a small heatmap for each head, and the mean of the heads of each layer.

    The token that attends is down, the one that is attended to across. `meta` of a heatmap has its layer and head.

    Args:
        weights: rows of `heads.all_heads`, of one kind of attention.
        title: of the figure.
    """
    tokens = ["position", "piece", "attended_position", "attended_piece"]
    means = weights.groupby(["layer", *tokens], as_index=False)["weight"].mean().assign(head=0)
    layers, heads = int(weights["layer"].max()), int(weights["head"].max())
    traces, axes, tokens = [], {}, {}
    sides = _SIDES[weights["kind"].iloc[0]]
    names = [_named(f"head {head}" if head else "mean", column, heads + 1) for head, column in _columns(heads)]
    names += [_named_row(f"layer {layer}", layer - 1, layers) for layer in range(1, layers + 1)]
    places = dict(_columns(heads))
    for number, ((layer, head), matrix) in enumerate(pd.concat((weights, means)).groupby(["layer", "head"]), start=1):
        across, down = _domain(places[head], heads + 1), _domain(layers - layer, layers)
        axes[f"xaxis{number}"] = _BARE | {"domain": across, "anchor": f"y{number}"}
        axes[f"yaxis{number}"] = _BARE | {"domain": down, "anchor": f"x{number}", "autorange": "reversed"}
        x, y = (f"{way}{number if number > 1 else ''}" for way in "xy")
        tokens |= {x: (sides[1], _pieces(matrix, "attended_")), y: (sides[0], _pieces(matrix, ""))}
        traces.append(_heatmap(matrix, layer, head) | {"xaxis": x, "yaxis": y})
    figure = dressed(go.Figure(traces, {**axes, "annotations": names}), title, _ABOVE + _BELOW + _HEIGHT * layers)
    return with_tokens(figure, tokens).update_layout(margin={"t": _ABOVE, "b": _BELOW})


def _pieces(weights: pd.DataFrame, which: str) -> list[str]:
    """Return the tokens that attend, or those `attended_` to, in order."""
    return weights.drop_duplicates(f"{which}position").sort_values(f"{which}position")[f"{which}piece"].tolist()


def _columns(heads: int) -> list[tuple[int, int]]:
    """Return each head and its column; the mean, head 0, has the last column."""
    return [(head % (heads + 1), head - 1) for head in range(1, heads + 2)]


def _domain(place: int, places: int) -> list[float]:
    """Return the extent of a heatmap, as shares of the whole."""
    return [place / places, (place + 1 - _GAP) / places]


def _named(name: str, column: int, columns: int) -> dict[str, object]:
    left, right = _domain(column, columns)
    return _NAME | {"text": name, "x": (left + right) / 2, "y": 1, "xanchor": "center", "yanchor": "bottom"}


def _named_row(name: str, row: int, rows: int) -> dict[str, object]:
    low, high = _domain(rows - 1 - row, rows)
    return _NAME | {"text": name, "x": 0, "y": (low + high) / 2, "xanchor": "right", "yanchor": "middle"}


def _heatmap(weights: pd.DataFrame, layer: int, head: int) -> dict[str, object]:
    grid = weights.pivot(index="position", columns="attended_position", values="weight")
    pieces, attended = _pieces(weights, ""), _pieces(weights, "attended_")
    named = f"layer {layer}, {f'head {head}' if head else 'mean of the heads'}"
    return {
        "type": "heatmap", "z": grid.to_numpy(), "zmin": 0, "zmax": 1, "colorscale": SHADES, "showscale": False,
        "meta": [int(layer), int(head)], "customdata": [[[plain(a), plain(p)] for a in attended] for p in pieces],
        "hovertemplate": f"%{{customdata[1]}} attends to %{{customdata[0]}}: %{{z:.2f}}<extra>{named}</extra>",
    }  # fmt: skip
