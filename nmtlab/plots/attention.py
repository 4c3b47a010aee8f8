"""Attention of several systems side by side (thesis Figure 3.3)."""

from collections.abc import Collection, Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from nmtlab.plots.theme import COLOURS, SHADES, dressed, plain

_LEGEND = {"orientation": "h", "y": 1.08, "yanchor": "bottom", "x": 1, "xanchor": "right"}
_BARE = {"showgrid": False, "zeroline": False}
_SOURCE = {"title": {"text": "source"}, "tickangle": -60, **_BARE}
_TARGET = {"autorange": "reversed", **_BARE}
_RUN = {"xref": "paper", "yref": "paper", "y": 1, "xanchor": "center", "yanchor": "bottom", "showarrow": False}
_GAP = 0.08  # between two heatmaps, of the whole figure's width


def attention_figure(
    weights: pd.DataFrame,
    links: Mapping[str, Collection[tuple[int, int]]] | None = None,
    layer: int = 1,
    head: int = 1,
) -> go.Figure:
    """Draw a heatmap for each run: source across, target down, as in the thesis.

    Args:
        weights: rows of `attention.attention`.
        links: by the name of a run (source position, target position) of tokens that are marked with a ring.
        layer: from 1; of a run that has fewer, its last.
        head: from 1; likewise.
    """
    runs = list(dict.fromkeys(weights["run"]))
    width = (1 + _GAP) / max(len(runs), 1) - _GAP
    traces, layout, rows = [], {"legend": _LEGEND, "annotations": []}, 0
    for place, run in enumerate(runs, start=1):
        own = _head(weights[weights["run"] == run], layer, head)
        linked = sorted((links or {}).get(run, ()))
        sources, targets = (_pieces(own, side) for side in ("source", "target"))
        rows = max(rows, len(targets))
        left = (place - 1) * (width + _GAP)
        axes = {"xaxis": f"x{place}", "yaxis": f"y{place}"}
        traces += [_heatmap(own, place == len(runs)) | axes, _rings(linked, place == 1 and bool(linked)) | axes]
        layout[f"xaxis{place}"] = _SOURCE | _ticks(sources) | {"anchor": f"y{place}", "domain": [left, left + width]}
        layout[f"yaxis{place}"] = _TARGET | _ticks(targets) | {"anchor": f"x{place}"}
        layout["annotations"].append(_RUN | {"text": plain(run), "x": left + width / 2})
    figure = go.Figure(traces, layout)  # `make_subplots` takes longer than the systems' decoding
    figure.update_yaxes(title_text="target", selector=0)
    return dressed(figure, "Attention: where each system looks for each target word", max(220 + 22 * rows, 380))


def _heatmap(own: pd.DataFrame, scale: bool) -> dict[str, object]:
    """Return the weights of one head as a trace, with or without the colours' scale."""
    grid = own.pivot(index="target_position", columns="source_position", values="weight")
    sources, targets = (_facts(own, side) for side in ("source", "target"))
    return {
        "type": "heatmap", "z": grid.to_numpy(), "x": grid.columns, "y": grid.index, "zmin": 0, "zmax": 1,
        "customdata": [[[source, target] for source in sources] for target in targets],
        "colorscale": SHADES, "showscale": scale, "colorbar": {"title": {"text": "weight"}},
        "hovertemplate": "%{customdata[1]} looks at %{customdata[0]}: %{z:.3f}<extra></extra>",
    }  # fmt: skip


def _rings(linked: Sequence[tuple[int, int]], legend: bool) -> dict[str, object]:
    """Return rings around linked tokens as a trace."""
    return {
        "type": "scatter", "mode": "markers", "name": "aligned", "showlegend": legend, "hoverinfo": "skip",
        "x": [source for source, _ in linked], "y": [target for _, target in linked],
        "marker": {"symbol": "circle-open", "size": 13, "color": COLOURS[1], "line": {"width": 2}},
    }  # fmt: skip


def _head(weights: pd.DataFrame, layer: int, head: int) -> pd.DataFrame:
    """Return the weights of one head of one run."""
    layer, head = min(layer, weights["layer"].max()), min(head, weights["head"].max())
    return weights[(weights["layer"] == layer) & (weights["head"] == head)]


def _facts(weights: pd.DataFrame, side: str) -> list[str]:
    """Return the pieces of a side with their counts."""
    pieces = weights.drop_duplicates(f"{side}_position").sort_values(f"{side}_position")
    both = zip(pieces[f"{side}_piece"], pieces[f"{side}_count"], strict=True)
    return [f"{plain(piece)} ({count:,}×)" for piece, count in both]


def _pieces(weights: pd.DataFrame, side: str) -> list[str]:
    """Return the pieces of a side in their order, those that the system cannot say in bold."""
    pieces = weights.drop_duplicates(f"{side}_position").sort_values(f"{side}_position")
    both = zip(pieces[f"{side}_piece"], pieces[f"{side}_unknown"], strict=True)
    return [f"<b>{plain(piece)}</b>" if unknown else plain(piece) for piece, unknown in both]


def _ticks(pieces: list[str]) -> dict[str, object]:
    return {"tickmode": "array", "tickvals": list(range(len(pieces))), "ticktext": pieces}
