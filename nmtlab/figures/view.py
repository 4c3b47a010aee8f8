"""A figure with its numbers, which a notebook's test reads, and in words, for readers who cannot see it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import unescape

import pandas as pd
import plotly.graph_objects as go


@dataclass(frozen=True)
class Numbers:
    """A rounded table: HTML for the reader, text for tests.

    Args:
        frame: the numbers; its index is not shown.
        digits: decimals, few enough to be the same on every machine.
        rows: the most that are shown.
    """

    frame: pd.DataFrame
    digits: int = 2
    rows: int = 20

    def __repr__(self) -> str:
        return "\n".join([self._shown.to_string(index=False), *self._more])

    def _repr_html_(self) -> str:
        table = self._shown.to_html(index=False, border=0, na_rep="")
        lines = [line.strip() for line in table.splitlines()]  # notebooks keep it: no indentation
        return "".join([*lines, *(f"<p>{line}</p>" for line in self._more)])

    @property
    def _shown(self) -> pd.DataFrame:
        return self.frame.round(self.digits).head(self.rows)

    @property
    def _more(self) -> list[str]:
        more = len(self.frame) - self.rows
        return [f"… {more:,} more rows"] if more > 0 else []


@dataclass(frozen=True)
class View:
    """A chart for the reader, a rounded table for tests.

    Args:
        frame: the numbers, few enough to read.
        digits: decimals in the table, few enough to be the same on every machine.
        finding: what the figure shows, in a sentence or two; empty if nobody has said it.
    """

    frame: pd.DataFrame
    figure: go.Figure
    digits: int = 2
    finding: str = ""

    @property
    def table(self) -> Numbers:
        """The numbers as a table to show above or below the figure."""
        return Numbers(self.frame, self.digits)

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        return {"text/plain": repr(self), **self.figure._repr_mimebundle_(include, exclude)}


_MAX_NAMES = 6


def summary(figure: go.Figure) -> str:
    """Return a figure's title and one sentence on what is drawn in it; empty for an empty figure."""
    if not figure.data:
        return ""
    title = figure.layout.title.text or "Figure"
    axes = [_read(axis.title.text) for axis in (figure.layout.yaxis, figure.layout.xaxis)]
    kinds = " and ".join(_unique(_kind(trace) for trace in figure.data)).capitalize()
    against = f" of {axes[0]}" * bool(axes[0]) + f" by {axes[1]}" * bool(axes[1])
    names = _unique(_read(trace.name) for trace in figure.data if trace.showlegend is not False)
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    shown = f": {', '.join(names[:_MAX_NAMES])}{more}" if names else ""
    return f"{_read(title)}. {kinds}{against}{shown}."


def _kind(trace: go.Scatter | go.Bar | go.Heatmap) -> str:
    if trace.type == "scatter":
        return "lines" if "lines" in (trace.mode or "lines") else "points"
    return f"{trace.type}s"


def _read(text: str | None) -> str:
    """Return text of a figure without markup."""
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", text or "").split()))


def _unique(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
