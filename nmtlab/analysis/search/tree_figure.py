"""The search tree of one sentence, with its tokens (thesis Figure 4.1).

Labels are placed by geometry in pixels, so that none covers another.
"""

import unicodedata
from html import escape
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.marks import with_nodes
from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed, plain, readable, see_through
from nmtlab.figures.words import number

APART = 2
"""Least number of pixels between two labels, across or down."""

FONT_SIZE = 11
_LINE = 16  # pixels that a label is high
_NARROW, _WIDE = 6.6, 11.5  # pixels per letter at this font size
_PADDING = 4
_NODE = 4  # radius of a node that no label covers
_LEVELS = 6  # distances from the node that are tried, above and below
_MAX_LETTERS = 12

KINDS = ("marked", "best", "reference", "branch")
"""Why a node is labelled, the most important first."""


class Scale(NamedTuple):
    """How data turn into pixels.

    Args:
        step: pixels per step.
        log_prob: pixels per nat.
        low: the log-probability at the lower edge.
        above: pixels above log-probability 0.
    """

    step: float
    log_prob: float
    low: float
    above: float = 0


class Place(NamedTuple):
    """Where a label is, in pixels right of its node and down from it."""

    right: float
    down: float


class Box(NamedTuple):
    """The edges of a label or a node, in pixels."""

    left: float
    top: float
    right: float
    bottom: float


def labelled_nodes(
    tree: pd.DataFrame, reference: pd.DataFrame | None = None, marked: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the nodes of a tree whose tokens are written, the most important first.

    These are the marked path, the path of the translation returned, that of the reference, and where hypotheses part:
    the continuations of a hypothesis that has several, without those dropped at once, the longest-lived first.

    Args:
        tree: rows of `search_tree`.
        reference: rows of `reference_path`; its prefixes in the tree, if not given.
        marked: rows of `path_to`.

    Returns:
        `step`, `slot` (0 outside the beam), `piece`, `log_prob`, `kind`, one of `KINDS`; a node once.
    """
    grown = tree[tree["piece"] != ""]
    lasting = grown.assign(life=_lives(tree)[grown.index])
    shared = grown.groupby(["step", "parent"])["slot"].transform("size") > 1
    branches = lasting[shared & ~grown["dropped"]].sort_values(["life", "log_prob"], ascending=False, kind="stable")
    groups = (marked, grown[grown["best"]], grown[grown["reference"]] if reference is None else reference, branches)
    columns = ["step", "slot", "piece", "log_prob"]
    found = [group[columns].assign(kind=kind) for kind, group in zip(KINDS, groups, strict=True) if group is not None]
    return pd.concat(found).drop_duplicates(["step", "slot"], ignore_index=True)


def placed_labels(nodes: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return where labels are written: beside their nodes, at least `APART` from each other and off labelled paths.

    A figure that is wider than the scale says only moves them further apart.

    Args:
        nodes: rows of `labelled_nodes`; a node without room near it stays without a label.
        scale: of the narrowest figure.

    Returns:
        The rows with a label, with `label`, its text, and `right` and `down`, pixels from its node's centre to its own.
    """
    x = nodes["step"].to_numpy(float) * scale.step
    y = -nodes["log_prob"].to_numpy(float) * scale.log_prob
    edge = -scale.low * scale.log_prob
    taken = [_box(x[row], y[row], _NODE, _NODE) for row in np.flatnonzero(nodes["kind"] != "branch")]
    found = []
    labels = map(short, readable(nodes["piece"]))
    for row, (node, label) in enumerate(zip(nodes.itertuples(), labels, strict=True)):
        width = _width(label)
        for place in _places(node.kind, width):
            box = _box(x[row] + place.right, y[row] + place.down, width / 2, _LINE / 2)
            if box.top >= -scale.above and box.bottom <= edge and _is_free(box, taken):
                taken.append(box)
                found.append({**node._asdict(), "label": label, **place._asdict()})
                break
    return pd.DataFrame(found, columns=[*nodes.columns, "label", *Place._fields])


def short(piece: str) -> str:
    """Return a token as a label writes it."""
    return piece if len(piece) <= _MAX_LETTERS else piece[: _MAX_LETTERS - 1] + "…"


def _width(label: str) -> float:
    """Return about how many pixels a label is wide."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in label)
    return _WIDE * wide + _NARROW * (len(label) - wide) + _PADDING


def _box(x: float, y: float, half_width: float, half_height: float) -> Box:
    return Box(x - half_width, y - half_height, x + half_width, y + half_height)


def _places(kind: str, width: float) -> list[Place]:
    """Return the places that are tried, the nearest first.

    A path's tokens are above or below their nodes; a branch's is beside its node, and never so far that it might
    belong to another.
    """
    nearest = _LINE / 2 + _NODE + APART
    if kind == "branch":
        beside = width / 2 + _NODE + APART
        return [*(Place(beside, down) for down in (0, -_LINE / 2, _LINE / 2)), Place(0, nearest), Place(0, -nearest)]
    levels = [nearest + level * (_LINE + APART) for level in range(_LEVELS)]
    sides = (1, -1) if kind == "reference" else (-1, 1)
    return [Place(0, side * level) for level in levels for side in sides]


def _is_free(box: Box, taken: list[Box]) -> bool:
    if not taken:
        return True
    left, top, right, bottom = np.array(taken).T
    across = (left - box.right >= APART) | (box.left - right >= APART)
    down = (top - box.bottom >= APART) | (box.top - bottom >= APART)
    return bool((across | down).all())


def _lives(tree: pd.DataFrame) -> pd.Series:
    """Return the last step that a continuation of each row reaches."""
    last = dict(zip(zip(tree["step"], tree["slot"], strict=True), tree["step"], strict=True))
    for row in tree.sort_values("step", ascending=False).itertuples():
        above = row.step - 1, row.parent
        if above in last:
            last[above] = max(last[above], last[row.step, row.slot])
    return pd.Series([last[place] for place in zip(tree["step"], tree["slot"], strict=True)], index=tree.index)


_BEST, _EMPTY, _REFERENCE, _MARKED = COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[6]
_TEXT = {"best": _BEST, "reference": _REFERENCE, "marked": _MARKED, "branch": "#444444"}
_HEIGHT, _TOP, _BOTTOM = 680, 45, 110
_ABOVE = 22  # pixels above log-probability 0, for a label
_NARROWEST = 810
"""Pixels between the axes on a page of 1280 pixels."""
_DEEPER = 2.0
"""How far below the beam's least probable hypothesis, in multiples of its log-probability, a reference is drawn."""
_OUTSIDE = {"color": _EMPTY, "width": 2, "dash": "dot"}
_BESIDE = {"font": {"color": _EMPTY}, "x": 1, "xanchor": "right", "yanchor": "bottom"}
"""Line and label of the empty translation outside the beam."""
_CROWDED = 300  # hypotheses that would make a grey plane
_NEAR = 16  # pixels between a node and a label beside it; a line leads to one further away


def tree_figure(
    tree: pd.DataFrame,
    until: int | None = None,
    title: str = "Beam search tree",
    beyond: pd.DataFrame | None = None,
    marked: pd.DataFrame | None = None,
    empty: float | None = None,
) -> go.Figure:
    """Draw the hypotheses of a search, by step and log-probability, with lines from each to its continuations.

    Tokens are written along the translation returned, the reference and the marked path, and where hypotheses part, as
    far as there is room. The empty translation is a horizontal line: when scored by log-probability, no hypothesis
    below it can win any more. The `customdata` of a node are its step and slot.

    Args:
        tree: rows of `search_tree`.
        until: draw only the steps up to this one; all if not given.
        beyond: rows of `reference_path`, to draw the reference where the beam does not hold it: its nodes
            there have slot 0.
        marked: rows of `path_to`, to be marked.
        empty: log-probability of the empty translation, to draw it where the beam never holds it.
    """
    if until is not None and until >= tree["step"].max():
        until = None  # with the rest of a longer reference
    scale, steps = _scale(tree, beyond)
    figure = go.Figure(_hypotheses(tree, until))
    if beyond is not None:
        figure.add_traces(_outside(_until(beyond, until)))
    if marked is not None:
        figure.add_trace(_path(marked))
    labels = _until(placed_labels(labelled_nodes(tree, beyond, marked), scale), until)
    # one by one, plotly copies all earlier ones each time
    written = labels[["step", "log_prob", "kind", "label", "right", "down"]].itertuples(index=False)
    figure.update_layout(annotations=[_written(*label) for label in written])
    if empty is not None and not _empty(tree).any():
        figure.add_hline(empty, line=_OUTSIDE, annotation={**_BESIDE, "text": f"empty translation, {number(empty)}"})
    shown = [_until(rows, until) for rows in (tree, beyond) if rows is not None]
    nodes = pd.concat(shown)[["step", "log_prob", "piece"]]
    with_nodes(figure, nodes[nodes["piece"] != ""].drop_duplicates().itertuples(index=False, name=None))
    figure.update_xaxes(title_text="tokens so far", range=[-0.5, steps + 1], dtick=1 if steps <= 30 else None)
    figure.update_yaxes(title_text="log-probability so far", range=[scale.low, _ABOVE / scale.log_prob])
    zoomed = f"{tree['text'].iloc[-1]} {len(tree)}"  # a reader's zoom stays as long as the tree is the same
    figure.update_layout(legend=BELOW, margin={"t": _TOP, "b": _BOTTOM}, uirevision=zoomed)
    return dressed(figure, escape(title), _HEIGHT)


def _until(rows: pd.DataFrame, step: int | None) -> pd.DataFrame:
    return rows if step is None else rows[rows["step"] <= step]


def _empty(tree: pd.DataFrame) -> pd.Series:
    return tree["ended"] & (tree["scored_length"] == 1)


def _hypotheses(tree: pd.DataFrame, until: int | None) -> list[go.Scatter]:
    """Return lines and nodes of the hypotheses, the important ones on top."""
    shown = _until(tree, until)
    places = {(row.step, row.slot): row.log_prob for row in tree.itertuples()} | {(0, 0): 0.0}
    grey = FAINT if len(tree) < _CROWDED else see_through(FAINT, 0.3)
    kinds = [
        ("other hypotheses", grey, ~(shown["best"] | shown["reference"] | _empty(shown)), 1),
        ("the reference", _REFERENCE, shown["reference"] & ~shown["best"], 2),
        ("the translation returned", _BEST, shown["best"] & ~_empty(shown), 3),
        ("the empty translation", _EMPTY, _empty(shown), 3),
    ]
    traces = []
    for name, colour, of_kind, width in kinds:
        if of_kind.any():
            traces += _drawn(shown[of_kind], places, name, colour, width)
    lost = shown[shown["dropped"]]
    if len(lost):
        marker = {"symbol": "x", "size": 5, "color": grey}
        traces.append(
            go.Scatter(
                x=lost["step"], y=lost["log_prob"], mode="markers", name="dropped here", marker=marker, hoverinfo="skip"
            )
        )
    return traces


def _scale(tree: pd.DataFrame, reference: pd.DataFrame | None) -> tuple[Scale, int]:
    """Return the scale of the narrowest figure and its steps: the whole beam, and of the reference what is near it."""
    lowest, steps = min(tree["log_prob"].min(), -0.1), int(tree["step"].max())
    if reference is not None:
        lowest = min(lowest, max(reference["log_prob"].min(), _DEEPER * lowest))
        steps = max([steps, *reference.loc[reference["log_prob"] >= lowest, "step"]])
    low = 1.08 * lowest
    down = (_HEIGHT - _TOP - _BOTTOM - _ABOVE) / -low
    return Scale(_NARROWEST / (steps + 1.5), down, low, _ABOVE), steps


def _drawn(
    tree: pd.DataFrame, places: dict[tuple[int, int], float], name: str, colour: str, width: int
) -> list[go.Scatter]:
    """Return the lines to each hypothesis from its parent, with gaps between them, and the nodes at their ends."""
    xs, ys = [], []
    for row in tree.itertuples():
        xs += [row.step - 1, row.step, None]
        ys += [places[row.step - 1, row.parent], row.log_prob, None]
    lines = go.Scatter(
        x=xs, y=ys, mode="lines", name=name, legendgroup=name, connectgaps=False, hoverinfo="skip",
        line={"color": colour, "width": width},
    )  # fmt: skip
    return [lines, _nodes(tree, name, colour, 4 + width)]


def _nodes(rows: pd.DataFrame, group: str, colour: str, size: int, symbol: str = "circle") -> go.Scatter:
    described = rows[["slot", "ended", "text", "log_prob", "score"]].itertuples(index=False)
    return go.Scatter(
        x=rows["step"], y=rows["log_prob"], mode="markers", legendgroup=group, showlegend=False,
        text=[_described(*row) for row in described], customdata=rows[["step", "slot"]].to_numpy().tolist(),
        marker={"size": size, "color": colour, "symbol": symbol}, hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def _described(slot: int, ended: bool, text: str, log_prob: float, score: float) -> str:
    where = f"slot {slot}" if slot else "outside the beam"
    end = " ■" if ended else ""
    return f"{plain(text)}{end}<br>{where}, log p {log_prob:.2f}, score {score:.3f}"


def _outside(reference: pd.DataFrame) -> list[go.Scatter]:
    """Return the reference where the beam does not hold it, from the last prefix that it holds."""
    outside = reference[reference["slot"] == 0]
    if outside.empty:
        return []
    before = reference["log_prob"].shift(fill_value=0.0)[outside.index]
    xs, ys = [], []
    for step, begin, end in zip(outside["step"], before, outside["log_prob"], strict=True):
        xs += [step - 1, step, None]
        ys += [begin, end, None]
    name = "the reference, outside the beam"
    lines = go.Scatter(
        x=xs, y=ys, mode="lines", name=name, legendgroup=name, connectgaps=False, hoverinfo="skip",
        line={"color": _REFERENCE, "width": 2, "dash": "dot"},
    )  # fmt: skip
    return [lines, _nodes(outside, name, _REFERENCE, 6, "circle-open")]


def _path(marked: pd.DataFrame) -> go.Scatter:
    return go.Scatter(
        x=[0, *marked["step"]], y=[0.0, *marked["log_prob"]], mode="lines+markers", name="the selected prefix",
        line={"color": _MARKED, "width": 2}, hoverinfo="skip",
        marker={"size": [0] * len(marked) + [13], "color": "rgba(0,0,0,0)", "line": {"color": _MARKED, "width": 2}},
    )  # fmt: skip


def _written(step: int, log_prob: float, kind: str, label: str, right: float, down: float) -> dict[str, object]:
    leader = see_through(FAINT, 0.8) if abs(down) > _NEAR else "rgba(0,0,0,0)"
    return {
        "x": step, "y": log_prob, "ax": right, "ay": down, "text": plain(label),
        "font": {"size": FONT_SIZE, "color": _TEXT[kind]}, "bgcolor": "rgba(255,255,255,0.7)",
        "borderpad": 0, "borderwidth": 0, "showarrow": True, "arrowhead": 0, "arrowwidth": 0.6, "arrowcolor": leader,
        "standoff": 4,
    }  # fmt: skip
