"""Where the tokens of a search tree are written, so that none covers another: geometry in pixels, without a figure."""

import unicodedata
from typing import NamedTuple

import numpy as np
import pandas as pd

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
        reference: rows of `tree_paths.reference_path`; its prefixes in the tree, if not given.
        marked: rows of `tree_paths.path_to`.

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
    for row, node in enumerate(nodes.itertuples()):
        label = short(node.piece)
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
