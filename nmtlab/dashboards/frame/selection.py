"""One selected token, marked wherever a page shows it, and what other pages say of it."""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, get_args

import anywidget
import pandas as pd
import traitlets

from nmtlab.analysis.attention.heatmap import pieces_in_order
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.links import links_of_token
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.table import Table
from nmtlab.figures.marks import Side, Token
from nmtlab.figures.theme import is_right_to_left, isolated, readable
from nmtlab.runs.run import Run

_HERE = Path(__file__).parent
_NONE = "Click a token, here or in a figure, to select it wherever it is shown."


class Line(NamedTuple):
    """A sentence as tokens.

    Args:
        name: what stands before it.
        side: source or target.
        tokens: as written.
        wrong: the places, from 0, of those that are underlined.
    """

    name: str
    side: Side
    tokens: Sequence[str]
    wrong: Collection[int] = ()


class Selection(anywidget.AnyWidget):
    """The tokens of the current sentence, one of them selected; `value` is its text, empty without one.

    Args:
        here: the page.
        charts: figures that show tokens; a click selects one, and the selected one is marked.
        others: figures and tables in which it is marked alone.
    """

    _esm = _HERE / "selection.js"
    value = traitlets.Unicode().tag(sync=True)
    lines: traitlets.List = traitlets.List().tag(sync=True)
    said = traitlets.Unicode(_NONE).tag(sync=True)
    links: traitlets.List = traitlets.List().tag(sync=True)

    def __init__(self, here: About, charts: Sequence[Chart], others: Sequence[Chart | Table]) -> None:
        super().__init__()
        self._here, self._shown = here, (*charts, *others)
        self._runs: Sequence[Run] = ()
        self._sentence = Sentence()
        self._lines: Sequence[Line] = ()
        self.fresh = False
        for chart in charts:
            chart.on_token(self.choose)
        self.observe(lambda _: self._draw(), "value")

    @traitlets.validate("value")
    def _known(self, proposal: Mapping[str, str]) -> str:
        """Keep the selection if the new text is no token's."""
        text = proposal["value"]
        return text if not text or Token.read(text) else self.value

    @property
    def token(self) -> Token | None:
        """The selected token."""
        return Token.read(self.value) if self.value else None

    def select(self, token: Token | None) -> None:
        """Select a token, or none."""
        self.value = str(token or "")

    def choose(self, token: Token) -> None:
        """Select a token, or none if it is the selected one."""
        self.select(None if token == self.token else token)

    def follow_rows(self, table: Table, word: str = "word", position: str = "", side: Side = "target") -> None:
        """Select the token of each row that is picked in a table.

        Args:
            table: of which one row can be picked.
            word: its column with the token.
            position: its column with the position, if it is of a sentence.
            side: of the token.
        """

        def picked(key: object) -> None:
            if key is not None:
                row = table.frame.loc[key]
                table.unpick()
                self.select(Token(side, int(row[position]) if position else None, row[word]))

        table.observe(lambda change: picked(change["new"]), "value")

    def place(self, side: Side, tokens: Sequence[str]) -> int | None:
        """Return where the selected token is in a sentence, from 0; None if it is a word or is not there."""
        token = self.token
        places = token.places(side, tokens) if token and token.position else []
        return next(iter(places), None)

    def offer(self, runs: Sequence[Run], sentence: Sentence, lines: Sequence[Line]) -> None:
        """Offer the tokens of a sentence; one that was selected in another sentence is selected no more.

        Args:
            runs: the chosen ones, for links.
            sentence: where it is.
            lines: the sentence and its translations.
        """
        token, other = self.token, sentence.source != self._sentence.source and self._sentence.source
        self._runs, self._sentence, self._lines = runs, sentence, lines
        self.fresh = True
        if other and token and token.position:
            self.value = ""
        self._draw()

    def clear(self) -> None:
        """Offer nothing."""
        self.offer((), Sentence(), ())

    def as_html(self) -> str:
        """Return the tokens as markup, the selected one marked, for a saved page."""
        rows = "".join(
            f"<tr><th>{escape(line['name'])}</th><td dir='{line['dir']}'>{_marked(line)}</td></tr>"
            for line in self.lines
        )
        return f"<table>{rows}</table>" if rows else ""

    def _draw(self) -> None:
        token = self.token
        self.lines = [self._drawn(line, token) for line in self._lines]
        here = any(line["marked"] for line in self.lines)
        self.said = _NONE if token is None else f"Selected: {isolated(*readable([token.bare]))} ({_where(token, here)})"
        self.links = [] if token is None else links_of_token(self._here, self._runs, self._sentence, token)
        for part in self._shown:
            part.mark(token)

    def _drawn(self, line: Line, token: Token | None) -> dict[str, object]:
        marked = token.places(line.side, line.tokens) if token else []
        return {
            "name": line.name, "side": line.side, "tokens": list(line.tokens), "shown": readable(line.tokens),
            "marked": marked, "wrong": list(line.wrong), "dir": "rtl" if is_right_to_left(line.tokens) else "ltr",
        }  # fmt: skip


def lines_of(weights: pd.DataFrame) -> list[Line]:
    """Return the source and the targets of some runs as tokens, those that are the same once.

    Args:
        weights: rows of `attention`, with their `run`.
    """
    found = []
    by_run = list(weights.groupby("run", sort=False))
    for side in get_args(Side):
        tokens: dict[tuple[str, ...], list[str]] = {}
        for run, rows in by_run:
            tokens.setdefault(tuple(pieces_in_order(rows, side)), []).append(str(run))
        names = [side if len(tokens) == 1 else f"{side}, {', '.join(runs)}" for runs in tokens.values()]
        found += [Line(name, side, pieces) for name, pieces in zip(names, tokens, strict=True)]
    return found


def _marked(line: Mapping[str, Any]) -> str:
    marked = {*line["marked"], *line["wrong"]}
    words = (f"<mark>{escape(word)}</mark>" if n in marked else escape(word) for n, word in enumerate(line["shown"]))
    return " ".join(words)


def _where(token: Token, here: bool) -> str:
    if token.position is None:
        return f"{token.side} word"
    return f"{token.side}, {token.position}" + ("" if here else ", not in this sentence")
