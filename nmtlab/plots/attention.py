"""Attention of several systems side by side (thesis Figure 3.3)."""

from collections.abc import Collection, Mapping

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.plots.theme import COLOURS, SHADES, dressed, plain


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
    figure = make_subplots(cols=max(len(runs), 1), subplot_titles=[plain(run) for run in runs], horizontal_spacing=0.08)
    rows = 0
    for column, run in enumerate(runs, start=1):
        own, linked = _head(weights[weights["run"] == run], layer, head), sorted((links or {}).get(run, ()))
        grid = own.pivot(index="target_position", columns="source_position", values="weight")
        sources, targets = (_pieces(own, side) for side in ("source", "target"))
        facts = [[[source, target] for source in _facts(own, "source")] for target in _facts(own, "target")]
        rows = max(rows, len(targets))
        figure.add_heatmap(
            z=grid.to_numpy(), x=grid.columns, y=grid.index, customdata=facts, zmin=0, zmax=1, colorscale=SHADES,
            showscale=column == len(runs), colorbar={"title": {"text": "weight"}},
            hovertemplate="%{customdata[1]} looks at %{customdata[0]}: %{z:.3f}<extra></extra>", row=1, col=column,
        )  # fmt: skip
        figure.add_scatter(
            x=[source for source, _ in linked], y=[target for _, target in linked], mode="markers", name="aligned",
            marker={"symbol": "circle-open", "size": 13, "color": COLOURS[1], "line": {"width": 2}},
            showlegend=bool(linked) and column == 1, hoverinfo="skip", row=1, col=column,
        )  # fmt: skip
        figure.update_xaxes(
            title_text="source", **_ticks(sources), tickangle=-60, showgrid=False, zeroline=False, col=column
        )
        figure.update_yaxes(**_ticks(targets), autorange="reversed", showgrid=False, zeroline=False, col=column)
    figure.update_yaxes(title_text="target", col=1)
    figure.update_layout(legend={"orientation": "h", "y": 1.08, "yanchor": "bottom", "x": 1, "xanchor": "right"})
    return dressed(figure, "Attention: where each system looks for each target word", max(220 + 22 * rows, 380))


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
