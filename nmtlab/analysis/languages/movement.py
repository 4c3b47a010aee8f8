"""How far do word vectors move while a child learns, if its parent has the word and if not? (thesis 3.1.4)"""

from itertools import pairwise
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import NEURAL, PARENT, WEIGHTS, parent_of
from nmtlab.analysis.access.opened import opened
from nmtlab.figures.marks import with_words
from nmtlab.figures.theme import BELOW, COLOURS, dressed, log_axis, plain, see_through
from nmtlab.figures.words import listed
from nmtlab.runs.run import Run
from nmtlab.training.transfer import child_at_start, parent_rows, shared_rows

SHARED, GIVEN, NEW = "shared", "given", "new"
"""A vector that the parent learned for the same type, for another type, or that was drawn."""

_KINDS = {
    SHARED: ("the parent's vector of the same type", COLOURS[6]),
    GIVEN: ("the parent's vector of another type", COLOURS[5]),
    NEW: ("drawn at random", COLOURS[4]),
}
_SHORT = {SHARED: "inherited types", GIVEN: "given another type's vector", NEW: "new types"}
_PANELS = {"angle": "angle to the first vector (degrees)", "growth": "growth of length (factor)"}


def movement(child: Run, parent: Run, side: Literal["source", "target"] = "source") -> pd.DataFrame:
    """Return how far each vector of a child moved from where its training began.

    The beginning is computed again from the parent's weights and the child's seed.

    Args:
        child: a run that started from a parent.
        parent: that parent.
        side: whose vectors; a joint vocabulary has vectors for each side.

    Returns:
        A row for each type of the child's training text on that side: `word`; `count` in it and `parent_count` in the
        parent's; `kind`, `shared` (the vector was the parent's for this type), `given` (for another type) or `new` (it
        was drawn); `length_before` and `length`; `angle` between both vectors, 0 to 180 degrees; `distance` between
        them, in lengths of the first.

    Raises:
        RunError: `parent` is not the child's parent, or one of them has no weights.
    """
    after = opened(child).model
    before = child_at_start(child, parent)
    with torch.inference_mode():
        first, last = (model.embeddings()[side].double().cpu().numpy() for model in (before, after))
    ours, theirs = (getattr(run.pipeline, side).vocabulary for run in (child, parent))
    settings = child.recipe.transfer
    rows = parent_rows(after, child.pipeline, parent.pipeline, settings, child.recipe.training.seed)[side]
    same = shared_rows(ours, theirs)
    used = np.flatnonzero((ours.counts > 0) & ours.is_text)
    copied = (rows >= 0) & (getattr(settings, f"{side}_embedding") != "reset")
    at_random = side == "source" and settings.source_types == "random"
    table = pd.DataFrame(
        {
            "word": [ours.types[number] for number in used],
            "count": ours.counts[used],
            "parent_count": np.where(same >= 0, theirs.counts[np.maximum(same, 0)], 0)[used],
            "kind": np.where(copied, GIVEN if at_random else SHARED, NEW)[used],
            **moved_between(first[used], last[used]),
        }
    )
    return table.sort_values("count", ascending=False, kind="stable", ignore_index=True)


def movement_by_kind(moved: pd.DataFrame, edges: tuple[int, ...] = (1, 10, 100)) -> pd.DataFrame:
    """Return the median movement of shared, given and new vectors, by frequency: a vector moves when its word occurs.

    Args:
        moved: rows of `movement`.
        edges: lower edges of the classes of frequency.

    Returns:
        A row for each kind and class with words: `kind`; `frequency`, such as `10-99`; `words`; medians of `angle`,
        `distance`, and of the `growth` of the length, as a factor.
    """
    bounds = [*edges, np.inf]
    names = [f"{low}-{high - 1}" for low, high in pairwise(edges)] + [f"{edges[-1]}+"]
    frequency = pd.cut(moved["count"], bounds, right=False, labels=names)
    growth = moved["length"] / moved["length_before"]
    grouped = moved.assign(frequency=frequency, growth=growth).groupby(["kind", "frequency"], observed=True)
    table = grouped.agg(
        words=("word", "size"), angle=("angle", "median"), distance=("distance", "median"), growth=("growth", "median")
    )
    return table.reset_index().astype({"frequency": str})


def movement_figure(moved: pd.DataFrame) -> go.Figure:
    """Draw how far each vector of a child moved over the frequency of its type.

    Args:
        moved: rows of `movement`; the `customdata` of a point is the type, and its counts in the child's and
            the parent's text.
    """
    medians = movement_by_kind(moved)
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


def movement_finding(moved: pd.DataFrame) -> str:
    """Return how far vectors of each kind turned, from rows of `movement` with a column `run`."""
    found = []
    for run, of_run in moved.groupby("run", sort=False):
        middle = of_run.groupby("kind", sort=False)["angle"].median()
        said = [f"{_SHORT[kind]} {middle[kind]:.0f}°" for kind in _KINDS if kind in middle]
        found.append(f"{run}: {', '.join(said)}")
    return f"Vectors turn, in the median: {listed(found, '; ')}." if found else ""


MOVEMENT = Analysis(
    "How far did each vector of a child move from where its training began?",
    movement,
    source="thesis 3.1.4",
    needs=(NEURAL, WEIGHTS, PARENT),
    version=1,
    columns=("word", "count", "parent_count", "kind", "length_before", "length", "angle", "distance"),
    table=movement_by_kind,
    figure=movement_figure,
    finding=movement_finding,
    follows=(("parent", parent_of),),
)


def moved_between(first: np.ndarray, last: np.ndarray) -> dict[str, np.ndarray]:
    """Return how far vectors, (types, D), moved: the columns `length_before` to `distance` of `movement`."""
    lengths = np.linalg.norm(first, axis=1), np.linalg.norm(last, axis=1)
    one, other = (
        some / np.maximum(length, 1e-12)[:, None] for some, length in zip((first, last), lengths, strict=True)
    )
    halves = np.linalg.norm(one - other, axis=1), np.linalg.norm(one + other, axis=1)
    return {
        "length_before": lengths[0],
        "length": lengths[1],
        "angle": np.degrees(2 * np.arctan2(*halves)),  # exact where they are the same
        "distance": np.linalg.norm(last - first, axis=1) / np.maximum(lengths[0], 1e-12),
    }
