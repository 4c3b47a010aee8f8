"""Which Transformers learn to translate, by placement, initial weights, depth and rate: beyond Tables 3.12, 3.15."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import SHADES, dressed
from nmtlab.figures.view import View
from nmtlab.figures.words import listed
from nmtlab.grids.trainability import MAP, map_path
from nmtlab.workspace import Workspace

_NAMES = {"post": "PostNorm", "pre": "PreNorm", "xavier": "Xavier", "small": "SmallInit"}


def trainability_view(training: str = "") -> View:
    """Show a map of which Transformers learn to translate; its table has their shares by depth.

    Args:
        training: the training settings that the points of the map share; those of the file's first map if not given.

    Raises:
        NmtlabError: there is no such map.
    """
    path = map_path(Workspace.find())
    maps = MAP.read(path)
    chosen = maps[maps["training"] == (training or maps["training"].head(1).squeeze())]
    if chosen.empty:
        raise NmtlabError(f"{path}: no map of {training or 'trainability'}", "make one with 'nmtlab trainability'")
    converged = chosen["verdict"].eq("converged").astype(float)
    shown = chosen.assign(converged=converged).pivot_table("converged", ["placement", "init", "layers"], "rate")
    shown.columns = [f"{rate:g}" for rate in shown.columns]
    return View(shown.reset_index(), trainability_figure(chosen), finding=_said(chosen))


def _said(outcomes: pd.DataFrame) -> str:
    """Say how many trainings of each kind of Transformer learned, and how deep the deepest of them are."""
    parts = []
    for (placement, init), rows in outcomes.groupby(["placement", "init"]):
        well = rows["verdict"] == "converged"
        deepest = f", up to {rows.loc[well, 'layers'].max()} layers" if well.any() else ""
        parts.append(f"{_NAMES[placement]} with {_NAMES[init]} {well.sum()} of {len(rows)}{deepest}")
    return f"Trainings that learn to translate: {listed(parts, '; ')}."


def trainability_figure(outcomes: pd.DataFrame) -> go.Figure:
    """Draw the share of seeds that converged as heatmaps over learning rate and depth, one per kind of Transformer.

    Args:
        outcomes: rows of `MAP`, one per training run: `placement`, `init`, `layers`,
            `rate`, `seed`, `verdict`, `loss`, `unigram`, `source_gain`.
    """
    kinds = [(placement, init) for placement in ("post", "pre") for init in ("xavier", "small")]
    titles = [f"{_NAMES[placement]}, {_NAMES[init]}" for placement, init in kinds]
    figure = make_subplots(
        rows=2, cols=2, subplot_titles=titles, shared_xaxes=True, shared_yaxes=True,
        horizontal_spacing=0.06, vertical_spacing=0.18,
    )  # fmt: skip
    rates, layers = (sorted(outcomes[axis].unique()) for axis in ("rate", "layers"))
    for place, (placement, init) in enumerate(kinds):
        of_kind = outcomes[(outcomes["placement"] == placement) & (outcomes["init"] == init)]
        if of_kind.empty:
            continue
        shares, counts, summaries = _cells(of_kind, layers, rates)
        figure.add_heatmap(
            z=shares, x=[f"{rate:g}" for rate in rates], y=[str(depth) for depth in layers], customdata=summaries,
            text=counts, texttemplate="%{text}",
            zmin=0, zmax=1, colorscale=SHADES, xgap=2, ygap=2, showscale=not figure.data,
            colorbar={"title": {"text": "share that<br>converges"}},
            hovertemplate="%{y} + %{y} layers, rate %{x}: %{customdata}<extra>" + titles[place] + "</extra>",
            row=place // 2 + 1, col=place % 2 + 1,
        )  # fmt: skip
    figure.update_xaxes(type="category", showgrid=False, showticklabels=True)
    figure.update_yaxes(type="category", showgrid=False)
    figure.update_xaxes(title_text="learning rate, no warm-up", row=2)
    figure.update_yaxes(title_text="layers on each side", col=1)
    return dressed(figure, "Which Transformers learn to translate", 560)


def _cells(
    outcomes: pd.DataFrame, layers: list[int], rates: list[float]
) -> tuple[list[list], list[list[str]], list[list[str]]]:
    """Return the share of converged runs at each depth and rate, their counts as text, and a summary of each cell."""
    shares, counts, summaries = [], [], []
    for depth in layers:
        cells = [outcomes[(outcomes["layers"] == depth) & (outcomes["rate"] == rate)] for rate in rates]
        converged = [cell["verdict"] == "converged" for cell in cells]
        shares.append([some.mean() if len(some) else None for some in converged])
        counts.append([f"{some.sum()} of {len(some)}" if len(some) else "" for some in converged])
        summaries.append([_summary(cell) for cell in cells])
    return shares, counts, summaries


def _summary(cell: pd.DataFrame) -> str:
    if cell.empty:
        return "not trained"
    counts = cell["verdict"].value_counts()
    parts = [", ".join(f"{count} {verdict}" for verdict, count in counts.items())]
    if cell["loss"].notna().any():
        parts.append(f"loss {cell['loss'].mean():.2f} nats, unigram entropy {cell['unigram'].iloc[0]:.2f}")
    if cell["source_gain"].notna().any():
        parts.append(f"exchanged sources cost {cell['source_gain'].mean():.2f} nats")
    return "; ".join(parts)
