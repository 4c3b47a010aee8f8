"""How all figures look."""

from collections.abc import Iterable, Mapping

import plotly.graph_objects as go

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Those of Okabe and Ito (2008), which the colour-blind tell apart; yellow, which is faint on white, is left out."""

DASHES = ("solid", "dash", "dot", "dashdot")
"""When the colours are used up."""

SHADES = "Blues"
"""Scale of shares from 0 to 1: its lightness alone can be read."""

FAINT = "#8a8a8a"
"""Of what was published, or is only a help to the eye."""

BELOW = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0}
"""A legend at the foot of a figure, where it meets no title however narrow the page is."""

FONT = "system-ui, 'Noto Sans', 'Noto Sans Arabic', 'Noto Sans Tamil', 'Noto Sans CJK JP', sans-serif"

_AXIS = {
    "showline": True,
    "linecolor": "#444444",
    "gridcolor": "#e8e8e8",
    "ticks": "outside",
    "automargin": True,
    "title": {"standoff": 8},  # from the labels, which it would lie upon without
    "ticklabeloverflow": "allow",  # automargin leaves them room; to measure again takes half of the time
}
_TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": FONT, "size": 13, "color": "#222222"},
        "title": {"font": {"size": 16}, "x": 0, "xref": "paper", "xanchor": "left", "y": 0.97, "yanchor": "top"},
        "colorway": COLOURS,
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "hoverlabel": {"font": {"family": FONT}},
        "legend": {"bgcolor": "rgba(255,255,255,0.8)"},
        "margin": {"l": 70, "r": 20, "t": 70, "b": 60},
    }
)


def dressed(figure: go.Figure, title: str, height: int = 420) -> go.Figure:
    """Return a figure in the house's dress.

    Args:
        figure: changed in place.
        title: what it shows, in a line; text from a corpus has to be made `plain` before.
        height: in pixels.
    """
    return figure.update_layout(template=_TEMPLATE, title_text=title, height=height)


def styles(names: Iterable[str]) -> Mapping[str, dict[str, str]]:
    """Return colour and dash of each name, by its place: `{"color": ..., "dash": ...}`."""
    unique = list(dict.fromkeys(names))
    return {
        name: {"color": COLOURS[place % len(COLOURS)], "dash": DASHES[place // len(COLOURS) % len(DASHES)]}
        for place, name in enumerate(unique)
    }


def see_through(colour: str, opacity: float) -> str:
    """Return a colour `#rrggbb` with an opacity from 0 to 1."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def plain(text: str) -> str:
    """Return text as plotly draws it letter by letter, whatever tags stand in it, cut where it is very long."""
    shown = text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_MOST_LETTERS = 40
