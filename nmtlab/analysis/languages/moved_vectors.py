"""Which words' vectors and neighbours moved most as a run went on from another?"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import CONTINUED, NEURAL, WEIGHTS, check_same_types, continued_from
from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.languages.movement import moved_between
from nmtlab.analysis.lexical.embedding_norms import NEVER, frequency_axis
from nmtlab.figures.marks import some_words, with_words
from nmtlab.figures.theme import BELOW, SOLID, dressed, name_in_lines, plain, see_through, styles
from nmtlab.figures.words import number, quoted
from nmtlab.runs.run import Run

_SHOWN = 20
_NAMED = 5
_MAX_WORDS = 2000
_USES = {"source": "source", "target": "output"}


def moved_vectors(
    run: Run, parent: Run, side: Literal["source", "target"] = "source", k: int = 10, most: int = 100
) -> pd.DataFrame:
    """Return how far each word's vector is from that in the run that a run went on from, the farthest first.

    Args:
        run: one that went on from another.
        parent: that run.
        side: source vectors, or those of the output.
        k: number of neighbours, by cosine.
        most: number of types whose neighbours are compared.

    Returns:
        A row for each type of both, but special ones and those that cannot be produced: `word`; `count` in the text
        that the run went on with; `length_before` and `length`; `angle` between both vectors, 0 to 180 degrees;
        `distance` between them, in lengths of the first. Of the `most` that moved farthest, `kept`, the share (0 to 1)
        of the k nearest types that still are; and `neighbours_before` and `neighbours`, the five nearest; NaN and empty
        for the others.

    Raises:
        RunError: the runs have different vocabularies, or one has no weights.
    """
    check_same_types(run, parent)
    of_side = getattr(run.pipeline, side)
    types = np.flatnonzero(getattr(parent.pipeline, side).vocabulary.is_text)
    if side == "target":
        types = types[run.pipeline.target_allowed[types]]
    with torch.inference_mode():
        before = parent.directed(*run.direction) if parent.translates(*run.direction) else parent  # it lacks a tag
        models = (opened(one).model for one in (before, run))
        first, last = (model.embeddings()[_USES[side]].double().cpu().numpy()[types] for model in models)
    words = of_side.vocabulary.tokens(types)
    table = pd.DataFrame({"word": words, "count": of_side.counts[types], **moved_between(first, last)})
    order = table.sort_values(["distance", "count"], ascending=False, kind="stable").index
    nearest = [_nearest(vectors, order[:most].to_numpy(), k) for vectors in (first, last)]
    kept = [len({*before} & {*after}) / len(before) for before, after in zip(*nearest, strict=True)]
    named = [[", ".join(words[place] for place in places[:_NAMED]) for places in some] for some in nearest]
    near = pd.DataFrame(
        {"kept": kept, "neighbours_before": named[0], "neighbours": named[1]}, index=order[:most]
    ).reindex(order)
    found = table.loc[order].join(near).fillna({"neighbours_before": "", "neighbours": ""})
    return found.reset_index(drop=True)


def farthest(found: pd.DataFrame) -> pd.DataFrame:
    """Return the types of each run that moved farthest, from rows of `moved_vectors` with a column `run`."""
    columns = ["run", "word", "count", "angle", "distance", "kept", "neighbours_before", "neighbours"]
    return found.groupby("run", sort=False).head(_SHOWN)[columns].reset_index(drop=True)


def moved_figure(found: pd.DataFrame, side: Literal["source", "target"] = "source") -> go.Figure:
    """Draw how far each vector turned over the frequency of its type; of many types, every n-th.

    Args:
        found: rows of `moved_vectors` with a column `run`; the `customdata` of a point is the type, its count and its
            neighbours before and after.
        side: whose vectors.
    """
    figure, style = go.Figure(), styles(found["run"], SOLID)
    for run, of_run in found.groupby("run", sort=False):
        drawn = pd.concat([of_run.head(_SHOWN), some_words(of_run.iloc[_SHOWN:], _MAX_WORDS, "")])
        figure.add_scatter(
            x=drawn["count"].clip(lower=NEVER), y=drawn["angle"], mode="markers", name=name_in_lines(run),
            marker={"size": 5, "color": see_through(style[str(run)]["color"], 0.5)},
            text=[plain(word) for word in drawn["word"]],
            customdata=drawn[["word", "count", "distance"]],
            hovertemplate="%{text}<br>%{customdata[1]} times in the text<br>%{y:.1f}°, moved by %{customdata[2]:.2f} "
            "of its length<extra></extra>",
        )  # fmt: skip
    title = "times in the text that the run went on with"
    figure.update_xaxes(title_text=title, **frequency_axis(found["count"]))
    figure.update_yaxes(title_text="angle to the vector before (degrees)", rangemode="tozero")
    figure.update_layout(legend=BELOW, margin_b=110, showlegend=len(figure.data) > 1)
    return with_words(dressed(figure, f"How far {side} vectors turned, by frequency", 460), side)


def moved_finding(found: pd.DataFrame) -> str:
    """Return how far vectors moved and which moved most, from rows of `moved_vectors` with a column `run`."""
    return " ".join(f"{run}: {_said(of_run)}." for run, of_run in found.groupby("run", sort=False))


def _said(found: pd.DataFrame) -> str:
    farthest_one = found.iloc[0]
    if farthest_one["distance"] == 0:
        return "no vector moved"
    seen = found[found["count"] > 0]
    return (
        f"vectors of words of the text turned by {number(seen['angle'].median(), 1)}° in the median; "
        f"{quoted(farthest_one['word'])} moved most ({number(farthest_one['angle'], 1)}°), and keeps "
        f"{number(100 * farthest_one['kept'], 0)} % of its nearest neighbours"
    )


MOVED_VECTORS = Analysis(
    "Which words' vectors and neighbours moved most from the run that it went on from?",
    moved_vectors,
    needs=(NEURAL, WEIGHTS, CONTINUED),
    version=1,
    columns=("word", "count", "length_before", "length", "angle", "distance", "kept"),
    table=farthest,
    figure=moved_figure,
    finding=moved_finding,
    follows=(("parent", continued_from),),
)


def _nearest(vectors: np.ndarray, places: Sequence[int] | np.ndarray, k: int) -> list[list[int]]:
    """Return the places of the k vectors nearest to some of all, by cosine, nearest first, without themselves."""
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosines = units[places] @ units.T
    cosines[np.arange(len(places)), places] = -np.inf
    return np.argsort(-cosines, axis=1, kind="stable")[:, : min(k, len(vectors) - 1)].tolist()
