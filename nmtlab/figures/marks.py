"""The tokens that a figure shows: which one is clicked, and where a selected one is marked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self, cast, get_args

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.theme import COLOURS, plain, readable
from nmtlab.text.corpora.lines import SPACE

Side = Literal["source", "target"]

_LINE = {"color": COLOURS[6], "width": 2}
_RING = "M-8,0 C-8,-4.4 -4.4,-8 0,-8 C4.4,-8 8,-4.4 8,0 C8,4.4 4.4,8 0,8 C-4.4,8 -8,4.4 -8,0 Z"
"""A circle in pixels; plotly loses negative pixels of its own circles on logarithmic axes."""


class Token(NamedTuple):
    """A token of a sentence, or a word wherever it stands; `str` has the form `source:3:evi`.

    Args:
        side: source or target.
        position: in its sentence, from 1; None for a word of the vocabulary.
        word: as the system's vocabulary writes it.
    """

    side: Side
    position: int | None
    word: str

    def __str__(self) -> str:
        return f"{self.side}:{self.position or ''}:{self.word}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return a token from its text, or None if that is not a token's."""
        side, position, word = [*text.split(":", 2), "", ""][:3]
        if side not in get_args(Side) or not word:
            return None
        found = cls(cast("Side", side), int(position) if position.isdecimal() else None, word)
        return found if str(found) == text else None

    @property
    def bare(self) -> str:
        """The word without SentencePiece's marker."""
        return bare(self.word)

    def places(self, side: str, tokens: Sequence[str]) -> list[int]:
        """Return where the token is in a sentence as some system segments it, from 0; several if that splits it.

        Of several same tokens it is the nearest to the position; without a position, it is all.
        """
        if side != self.side:
            return []
        written = [bare(token) for token in tokens]
        same = [[place] for place, one in enumerate(written) if one == self.bare] or list(_split(self.bare, written))
        position = self.position
        if position is None or not same:
            return [place for places in same for place in places]
        return min(same, key=lambda places: abs(places[0] + 1 - position))


def bare(piece: str) -> str:
    """Return a piece without SentencePiece's marker, unless it is nothing else."""
    return piece.replace(SPACE, "") or piece


def with_tokens(figure: go.Figure, axes: Mapping[str, tuple[Side, Sequence[str]]], types: bool = False) -> go.Figure:
    """Return a figure that knows the tokens at the whole numbers of some of its axes.

    Args:
        axes: the tokens by the name of an axis, such as `x2`; the axis across it is `y2`.
        types: whether they are words in any order, not the tokens of a sentence.
    """
    known = {axis: {"side": side, "tokens": list(tokens), "types": types} for axis, (side, tokens) in axes.items()}
    return figure.update_layout(meta={"axes": known})


def with_words(figure: go.Figure, side: Side) -> go.Figure:
    """Return a figure, changed in place, that knows that the first of the `customdata` of its points is a word."""
    return figure.update_layout(meta={"words": side})


def with_nodes(figure: go.Figure, nodes: Iterable[tuple[float, float, str]]) -> go.Figure:
    """Return a figure, changed in place, that knows its nodes: x, the position of a target token; y; the token."""
    return figure.update_layout(meta={"nodes": [list(node) for node in nodes]})


def some_words(words: pd.DataFrame, most: int, also: str) -> pd.DataFrame:
    """Return every n-th row, as many as can be drawn, and those of one word.

    Args:
        words: with a column `word`.
        most: maximum number of rows that are not of the word.
    """
    kept = np.arange(len(words)) % max(1, -(-len(words) // most)) == 0
    return words[kept | (words["word"] == also).to_numpy()]


def token_at(figure: go.Figure, click: Mapping[str, Any]) -> Token | None:
    """Return the token that was clicked, if any: of a cell, that of its row.

    Args:
        figure: with its tokens.
        click: a point, as `x`, `y`, `xaxis` and `yaxis`, with `customdata`; or a label, as `axis` and `value`.
    """
    meta = figure.layout.meta or {}
    axes = meta.get("axes", {})
    points = [(click.get("axis"), click.get("value"))] + [(click.get(f"{way}axis"), click.get(way)) for way in "yx"]
    for axis, value in points:
        if axis in axes:
            return _token(axes[axis], value)
    for x, y, piece in meta.get("nodes", ()):
        if (x, y) == (click.get("x"), click.get("y")):
            return Token("target", int(x), piece)
    data = click.get("customdata")
    return Token(meta["words"], None, str(data[0])) if "words" in meta and data else None


def outlines(figure: go.Figure, token: Token) -> list[dict[str, object]]:
    """Return the shapes that mark a token wherever a figure shows it: around rows, columns and points."""
    meta = figure.layout.meta or {}
    bands = [_band(axis, place) for axis, known in meta.get("axes", {}).items() for place in _places(token, known)]
    points = _points(figure, token.word) if meta.get("words") == token.side else ()
    return [*bands, *_rings(points), *_rings(_nodes(meta.get("nodes", ()), token))]


def shows_word(figure: go.Figure, word: str) -> bool:
    """Return whether a word is among the points of a figure."""
    return next(_points(figure, word), None) is not None


def _rings(points: Iterable[tuple[float, float, str, str]]) -> list[dict[str, object]]:
    """Return the shapes that ring points, given as x, y and the names of their axes."""
    pixels = {"type": "path", "path": _RING, "xsizemode": "pixel", "ysizemode": "pixel", "line": _LINE}
    return [{**pixels, "xanchor": x, "yanchor": y, "xref": xref, "yref": yref} for x, y, xref, yref in points]


def _split(word: str, written: Sequence[str]) -> Iterator[list[int]]:
    """Yield the places of consecutive pieces that together are a word."""
    for first in range(len(written)):
        joined, last = "", first
        while len(joined) < len(word) and last < len(written):
            joined, last = joined + written[last], last + 1
        if joined == word:
            yield list(range(first, last))


def _token(known: Mapping[str, Any], value: Any) -> Token | None:
    """Return the token at a place of an axis, a number or, on an axis of categories, a name."""
    tokens = known["tokens"]
    labels = [plain(token) for token in readable(tokens)]
    place = labels.index(value) if value in labels else value
    if not isinstance(place, int | float) or not 0 <= round(place) < len(tokens):
        return None
    return Token(known["side"], None if known["types"] else round(place) + 1, tokens[round(place)])


def _places(token: Token, known: Mapping[str, Any]) -> list[int]:
    sought = token._replace(position=None) if known["types"] else token
    return sought.places(known["side"], known["tokens"])


def _band(axis: str, place: int) -> dict[str, object]:
    """Return the outline of a row or column of a panel."""
    along, across = axis[0], f"{'y' if axis[0] == 'x' else 'x'}{axis[1:]}"
    ends = {f"{along}0": place - 0.5, f"{along}1": place + 0.5, f"{across[0]}0": 0, f"{across[0]}1": 1}
    return {"type": "rect", f"{along}ref": axis, f"{across[0]}ref": f"{across} domain", **ends, "line": _LINE}


def _nodes(nodes: Sequence[tuple[float, float, str]], token: Token) -> list[tuple[float, float, str, str]]:
    """Return the nodes with a token, at its position or the nearest; all of them without a position."""
    same = [(x, y, "x", "y") for x, y, piece in nodes if token.side == "target" and bare(piece) == token.bare]
    position = token.position
    if position is None or not same:
        return same
    nearest = min((node[0] for node in same), key=lambda x: abs(x - position))
    return [node for node in same if node[0] == nearest]


def _points(figure: go.Figure, word: str) -> Iterator[tuple[float, float, str, str]]:
    for trace in figure.data:
        if trace.customdata is None or "markers" not in (trace.mode or ""):
            continue
        for x, y, data in zip(trace.x, trace.y, trace.customdata, strict=True):
            if bare(str(data[0])) == bare(word):
                yield float(x), float(y), trace.xaxis or "x", trace.yaxis or "y"
