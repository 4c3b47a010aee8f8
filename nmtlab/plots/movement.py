"""How far vectors move while a child learns, drawn."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.marks import with_words
from nmtlab.figures.theme import BELOW, COLOURS, dressed, log_axis, plain, see_through

_KINDS = {
    "shared": ("the parent's vector of the same type", COLOURS[0]),
    "given": ("the parent's vector of another type", COLOURS[4]),
    "new": ("drawn at random", COLOURS[1]),
}
_PANELS = {"angle": "angle to the first vector (degrees)", "growth": "length / first length"}


def movement_figure(moved: pd.DataFrame, medians: pd.DataFrame) -> go.Figure:
    """Draw how far each vector of a child moved over the frequency of its type.

    Args:
        moved: rows of `movement.movement`; the `customdata` of a point is the type, and its counts in the child's and
            the parent's text.
        medians: rows of `movement.movement_by_kind`.
    """
    figure = make_subplots(cols=len(_PANELS), horizontal_spacing=0.12)
    moved = moved.assign(growth=moved["length"] / moved["length_before"])
    for column, (quantity, title) in enumerate(_PANELS.items(), start=1):
        for kind, (name, colour) in _KINDS.items():
            _add_types(figure, moved[moved["kind"] == kind], quantity, colour, column)
            _add_medians(figure, moved, medians[medians["kind"] == kind], (quantity, name, colour), column)
        figure.update_xaxes(title_text="times in the child's training text", **log_axis(moved["count"]), col=column)
        figure.update_yaxes(title_text=title, col=column)
    figure.update_layout(legend=BELOW, margin_b=110)
    return with_words(dressed(figure, "How far a child's source vectors move; lines are medians", 460), "source")


def _add_types(figure: go.Figure, moved: pd.DataFrame, quantity: str, colour: str, column: int) -> None:
    figure.add_scattergl(
        x=moved["count"], y=moved[quantity], mode="markers", showlegend=False,
        marker={"size": 4, "color": see_through(colour, 0.35)}, text=[plain(word) for word in moved["word"]],
        customdata=moved[["word", "count", "parent_count"]],
        hovertemplate="%{text}<br>%{customdata[1]} times in the child's text, %{customdata[2]} in the parent's<br>"
        "%{y:.2f}<extra></extra>", row=1, col=column,
    )  # fmt: skip


def _add_medians(
    figure: go.Figure, moved: pd.DataFrame, medians: pd.DataFrame, drawn: tuple[str, str, str], column: int
) -> None:
    quantity, name, colour = drawn
    lowest = medians["frequency"].str.extract(r"^(\d+)", expand=False).astype(int)
    bounds = [*lowest[1:], float(moved["count"].max())]
    figure.add_scatter(
        x=[(low * max(low, high)) ** 0.5 for low, high in zip(lowest, bounds, strict=False)], y=medians[quantity],
        mode="lines+markers", name=name, legendgroup=name, showlegend=column == 1, line={"color": colour, "width": 3},
        text=[f"{frequency} times: {words} types" for frequency, words in medians[["frequency", "words"]].to_numpy()],
        hovertemplate="%{text}, median %{y:.2f}<extra>" + name + "</extra>", row=1, col=column,
    )  # fmt: skip
