"""Which Transformers learn, by placement, initial weights, depth and learning rate: Tables 3.12 and 3.15 and beyond."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.plots.theme import SHADES, dressed

_NAMES = {"post": "PostNorm", "pre": "PreNorm", "xavier": "Xavier", "small": "SmallInit"}


def trainability_figure(outcomes: pd.DataFrame) -> go.Figure:
    """Draw the share of seeds that learned as heatmaps over learning rate and depth, one for each kind of Transformer.

    Args:
        outcomes: rows of `experiments.trainability.read_map`, of one training: `placement`, `init`, `layers`, `rate`,
            `seed`, `verdict`, `loss`, `unigram`.
    """
    kinds = [(placement, init) for placement in ("post", "pre") for init in ("xavier", "small")]
    titles = [f"{_NAMES[placement]}, {_NAMES[init]}" for placement, init in kinds]
    figure = make_subplots(
        rows=2, cols=2, subplot_titles=titles, shared_xaxes=True, shared_yaxes=True,
        horizontal_spacing=0.06, vertical_spacing=0.18,
    )  # fmt: skip
    rates, layers = (sorted(outcomes[axis].unique()) for axis in ("rate", "layers"))
    for place, (placement, init) in enumerate(kinds):
        own = outcomes[(outcomes["placement"] == placement) & (outcomes["init"] == init)]
        if own.empty:
            continue
        alive, counted, told = _cells(own, layers, rates)
        figure.add_heatmap(
            z=alive, x=[f"{rate:g}" for rate in rates], y=[str(depth) for depth in layers], customdata=told,
            text=counted, texttemplate="%{text}",
            zmin=0, zmax=1, colorscale=SHADES, xgap=2, ygap=2, showscale=not figure.data,
            colorbar={"title": {"text": "share<br>that learns"}},
            hovertemplate="%{y} + %{y} layers, rate %{x}: %{customdata}<extra>" + titles[place] + "</extra>",
            row=place // 2 + 1, col=place % 2 + 1,
        )  # fmt: skip
    figure.update_xaxes(type="category", showgrid=False, showticklabels=True)
    figure.update_yaxes(type="category", showgrid=False)
    figure.update_xaxes(title_text="learning rate, no warm-up", row=2)
    figure.update_yaxes(title_text="layers on each side", col=1)
    return dressed(figure, "Which Transformers learn at all", 560)


def _cells(
    own: pd.DataFrame, layers: list[int], rates: list[float]
) -> tuple[list[list], list[list[str]], list[list[str]]]:
    """Return the share of living trainings of each depth and rate, their number, and what is to be said of them."""
    shares, counted, told = [], [], []
    for depth in layers:
        cells = [own[(own["layers"] == depth) & (own["rate"] == rate)] for rate in rates]
        alive = [cell["verdict"] == "alive" for cell in cells]
        shares.append([some.mean() if len(some) else None for some in alive])
        counted.append([f"{some.sum()} of {len(some)}" if len(some) else "" for some in alive])
        told.append([_told(cell) for cell in cells])
    return shares, counted, told


def _told(cell: pd.DataFrame) -> str:
    if cell.empty:
        return "not trained"
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in cell["verdict"].value_counts().items())
    if cell["loss"].isna().all():
        return verdicts
    return f"{verdicts}; loss {cell['loss'].mean():.2f} nats, of the words' frequencies {cell['unigram'].iloc[0]:.2f}"
