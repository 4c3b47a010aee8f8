"""Weights between the tokens of a sentence and its translation as heatmaps, those of several systems side by side."""

import re
from collections.abc import Collection, Mapping, Sequence
from html import unescape
from math import ceil
from typing import Any, NamedTuple
from unicodedata import east_asian_width

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.marks import Side, with_tokens
from nmtlab.figures.theme import COLOURS, dressed, name_in_lines, plain, readable
from nmtlab.text.corpora.links import Link

Links = Collection[Link] | Mapping[str, Collection[Link]]
"""The (source position, target position) of linked tokens; by name of run if runs differ in their tokens."""

# Margins are estimated: plotly's measuring of labels takes half of the drawing time.
_BARE = {"automargin": False, "showgrid": False, "zeroline": False}
_SOURCE = {"tickangle": -60, "tickfont": {"size": 12}, **_BARE}
_TARGET = {"autorange": "reversed", "tickfont": {"size": 12}, **_BARE}
_RUN = {"xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "bottom", "showarrow": False}
_SCALE = {"len": 180, "lenmode": "pixels", "y": 1, "yanchor": "top"}
_MOST = 4
"""Maximum number of heatmaps in a row."""
_WIDTH = 1000
"""Pixels for the heatmaps in a row: a typical page width."""
_CELL, _LETTER, _LINE, _SLANTED = 22, 7, 17, 13
"""Pixels per row of a heatmap, per letter, per line of text, and between two slanted labels."""
_WIDE = 1.8  # letters that a letter of Chinese, Japanese or Korean is wide
_MOST_LEFT = 300  # pixels for the labels of the target
_LOWEST = 160  # pixels of the highest heatmap, at least


class Look(NamedTuple):
    """How the weights of a heatmap look.

    Args:
        low, high: ends of the colour scale.
        hover: what is said of two tokens, `customdata`, and their weight `z`.
        across, down: titles of the axes.
        ring: what the links are called.
    """

    title: str
    unit: str
    low: float
    high: float
    colours: str | tuple[tuple[float, str], ...]
    hover: str
    across: str = "source"
    down: str = "target"
    ring: str = "aligned"


def heatmaps(
    weights: pd.DataFrame, look: Look, links: Links = (), layer: int | None = None, head: int | None = None
) -> go.Figure:
    """Draw a heatmap for each run: source across, target down, as in thesis Figure 3.3.

    Args:
        weights: rows of `weights.attention`, or others of this form, with their `run`.
        links: token pairs to mark with a ring.
        layer, head: as of `shown_weights`.
    """
    runs, rows = zip(*weights.groupby("run", sort=False), strict=True)
    both = [(tokens_in_order(of_run, "source"), tokens_in_order(of_run, "target")) for of_run in rows]
    sources, targets = ([_pieces(tokens) for tokens in side] for side in zip(*both, strict=True))
    grid = _grid(runs, sources, targets)
    tokens: dict[str, tuple[Side, list[str]]] = {}
    traces, layout, names = [], {}, []
    for place, (run, of_run, (source, target)) in enumerate(zip(runs, rows, both, strict=True)):
        linked = sorted(links.get(run, ()) if isinstance(links, Mapping) else links)
        across, down = grid.domains(place)
        x, y = (f"{way}{place + 1 if place else ''}" for way in "xy")
        matrix = shown_weights(of_run, layer, head)
        shown = _heatmap(matrix, source, target, look, not place), _rings(linked, look.ring, not place and bool(linked))
        for trace in (*shown, *_dividers(of_run)):
            traces.append(trace | {"xaxis": x, "yaxis": y})
        first = place % grid.columns == 0
        title = {"title": {"text": look.down}} if first else {"showticklabels": not _alike(targets)}
        below = {"title": {"text": look.across}, "anchor": y, "domain": across}
        layout[f"xaxis{place + 1}"] = _SOURCE | _ticks(sources[place]) | below
        layout[f"yaxis{place + 1}"] = _TARGET | _ticks(targets[place]) | {"anchor": x, "domain": down} | title
        tokens |= {x: ("source", _tokens(source)), y: ("target", _tokens(target))}
        names.append(_RUN | {"text": name_in_lines(run, grid.letters), "x": sum(across) / 2, "y": down[1]})
    frame = _frame(grid)
    figure = go.Figure(traces, {**layout, **frame, "annotations": names})  # `make_subplots` takes longer than decoding
    return dressed(with_tokens(figure, tokens), look.title, frame["height"])


class _Grid(NamedTuple):
    """Rows of heatmaps whose cells are equally high.

    Args:
        columns: number of heatmaps in a row.
        width, gap: of a heatmap and between two in a row, as shares of the row.
        heights: of each heatmap, in pixels.
        above, below, left: space for a name and for labels, in pixels.
    """

    columns: int
    width: float
    gap: float
    heights: list[float]
    above: int
    below: int
    left: int

    @property
    def whole(self) -> int:
        """Pixels from the top of the first row to the bottom of the last."""
        return round(self._above(len(self.heights)) - self.above - self.below)

    def _above(self, place: int) -> float:
        """Return the pixels of all rows above that of a heatmap, with the space between them."""
        rows = range(0, self.columns * -(-place // self.columns), self.columns)
        return sum(max(self.heights[at : at + self.columns]) + self.above + self.below for at in rows)

    @property
    def letters(self) -> int:
        """Number of letters that fit in a line above a heatmap."""
        return _letters(self.width)

    def domains(self, place: int) -> tuple[list[float], list[float]]:
        """Return the horizontal and vertical extent of a heatmap, as shares of the whole."""
        row, column = divmod(place, self.columns)
        left = column * (self.width + self.gap)
        top = 1 - self._above(row * self.columns) / self.whole
        return [left, min(1, left + self.width)], [max(0, top - self.heights[place] / self.whole), top]


def _grid(runs: Sequence[str], sources: list[list[str]], targets: list[list[str]]) -> _Grid:
    """Return a grid with enough space for the names of the runs and the labels of their source and target pieces."""
    gap = 30 if _alike(targets) else min(30 + _LETTER * _longest(targets), 200)
    needed = gap + _SLANTED * max(map(len, sources))
    columns = max(1, min(_MOST, len(runs), (_WIDTH + gap) // needed))
    width = (1 + gap / _WIDTH) / columns - gap / _WIDTH
    lines = max(1 + name_in_lines(run, _letters(width)).count("<br>") for run in runs)
    cell = max(_CELL, _LOWEST / max(map(len, targets)))
    return _Grid(
        columns=columns, width=width, gap=gap / _WIDTH, heights=[cell * len(pieces) for pieces in targets],
        above=_LINE * lines, below=50 + int(0.9 * _LETTER * _longest(sources)),
        left=40 + min(_LETTER * _longest(targets), _MOST_LEFT),
    )  # fmt: skip


def _frame(grid: _Grid) -> dict[str, Any]:
    """Return a layout with space for a title and a legend beside it, at any height."""
    margin = 45 + grid.above
    height = margin + grid.whole + grid.below
    top = {"yref": "container", "y": 1 - 14 / height, "yanchor": "top", "x": 1, "xanchor": "right"}
    sides = {"t": margin, "b": grid.below, "l": grid.left}
    return {"margin": sides, "height": height, "legend": {"orientation": "h", **top}}


def _letters(width: float) -> int:
    return int(width * _WIDTH / _LETTER)


def _heatmap(
    weights: np.ndarray, source: pd.DataFrame, target: pd.DataFrame, look: Look, scale: bool
) -> dict[str, object]:
    """Return the weights of one head between the tokens of both sides as a trace, with or without the colour scale."""
    sources, targets = _facts(source), _facts(target)
    return {
        "type": "heatmap", "z": weights, "x": np.arange(len(source)), "y": np.arange(len(target)),
        "zmin": look.low, "zmax": look.high,
        "customdata": [[[source, target] for source in sources] for target in targets],
        "colorscale": look.colours, "showscale": scale, "colorbar": _SCALE | {"title": {"text": look.unit}},
        "hovertemplate": f"{look.hover}<extra></extra>",
    }  # fmt: skip


def _rings(linked: Sequence[tuple[int, int]], name: str, legend: bool) -> dict[str, object]:
    """Return rings around linked tokens as a trace."""
    return {
        "type": "scatter", "mode": "markers", "name": name, "showlegend": legend, "hoverinfo": "skip",
        "x": [source for source, _ in linked], "y": [target for _, target in linked],
        "marker": {"symbol": "circle-open", "size": 13, "color": COLOURS[1], "line": {"width": 2}},
    }  # fmt: skip


def _dividers(weights: pd.DataFrame) -> list[dict[str, object]]:
    """Return a line between the sources of a heatmap as a trace, if it has several."""
    if "segment" not in weights or weights["segment"].isna().any():
        return []
    starts = sorted(weights.groupby("segment")["source_position"].min())[1:]
    end = weights["target_position"].max() + 0.5
    return [
        {
            "type": "scatter", "mode": "lines", "name": "next source", "showlegend": False, "hoverinfo": "skip",
            "x": [x for start in starts for x in (start - 0.5, start - 0.5, None)],
            "y": [y for _ in starts for y in (-0.5, end, None)],
            "line": {"color": COLOURS[1], "width": 3},
        }
    ]  # fmt: skip


def shown_weights(weights: pd.DataFrame, layer: int | None = None, head: int | None = None) -> np.ndarray:
    """Return the weights of one run that are drawn: (|y|, S).

    Args:
        weights: rows of `weights.attention`, of one run.
        layer: from 1; for a run with fewer layers, and if not given, its last.
        head: from 1; for a run with fewer heads, its last; the mean of all heads if not given.
    """
    layers, heads, target, source, weight = (
        weights[name].to_numpy() for name in ("layer", "head", "target_position", "source_position", "weight")
    )
    drawn = layers == min(layer or layers.max(), layers.max())
    if head is not None:
        drawn &= heads == min(head, heads.max())
    shape = target.max() + 1, source.max() + 1
    places = np.ravel_multi_index((target[drawn], source[drawn]), shape)
    sums, counts = np.bincount(places, weight[drawn], np.prod(shape)), np.bincount(places, minlength=np.prod(shape))
    return (sums / counts).reshape(shape)


def tokens_in_order(weights: pd.DataFrame, side: Side) -> pd.DataFrame:
    """Return the tokens of a side of one run in order: `piece`, `count`, and whether it is `unknown` to the system.

    Args:
        weights: rows of `weights.attention`, of one run.
    """
    first = _first_of_tokens(weights, side)
    return pd.DataFrame({fact: weights[f"{side}_{fact}"].to_numpy()[first] for fact in ("piece", "count", "unknown")})


def pieces_in_order(weights: pd.DataFrame, side: Side) -> list[str]:
    """Return the pieces of `tokens_in_order`."""
    return weights[f"{side}_piece"].to_numpy()[_first_of_tokens(weights, side)].tolist()


def _first_of_tokens(weights: pd.DataFrame, side: Side) -> np.ndarray:
    """Return the first row of each token of a side."""
    return np.unique(weights[f"{side}_position"].to_numpy(), return_index=True)[1]


def _facts(tokens: pd.DataFrame) -> list[str]:
    """Return the pieces with their counts."""
    both = zip(readable(tokens["piece"]), tokens["count"], strict=True)
    return [f"{plain(piece)} ({count:,}×)" for piece, count in both]


def _pieces(tokens: pd.DataFrame) -> list[str]:
    """Return the pieces, those that are UNK to the system in bold."""
    both = zip(readable(tokens["piece"]), tokens["unknown"], strict=True)
    return [f"<b>{plain(piece)}</b>" if unknown else plain(piece) for piece, unknown in both]


def _tokens(tokens: pd.DataFrame) -> list[str]:
    """Return the tokens; one that is compared is `this, not that`."""
    return [piece.partition(", not ")[0] for piece in tokens["piece"]]


def _alike(sides: list[list[str]]) -> bool:
    """Return whether the pieces of all systems are the same, so that those of the first label all."""
    return all(pieces == sides[0] for pieces in sides)


def _longest(sides: list[list[str]]) -> int:
    """Return how many narrow letters wide the longest piece is as displayed."""
    shown = (unescape(re.sub("</?b>", "", piece)) for pieces in sides for piece in pieces)
    return max(ceil(sum(_WIDE if east_asian_width(letter) in "WF" else 1 for letter in piece)) for piece in shown)


def _ticks(pieces: list[str]) -> dict[str, object]:
    return {"tickmode": "array", "tickvals": list(range(len(pieces))), "ticktext": pieces}
