"""A figure in words, for readers who cannot see it."""

import re
from collections.abc import Iterable
from html import unescape

import plotly.graph_objects as go

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
