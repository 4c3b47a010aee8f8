"""The colours of figures on a dark page."""

from collections.abc import Mapping
from itertools import chain

from plotly.colors import diverging, sequential, unlabel_rgb

from nmtlab.figures.theme import COLOURS, FAINT

GROUND = "#16191d"
"""Background of a dark page."""

DARK_COLOURS = ("#56b4e9", "#ee7733", "#1fb58a", "#d98cb3", "#e69f00", "#1a78bf", "#ffffff")
"""`COLOURS` on a dark page: the same hues, light enough for it; the two blues change places."""

DARK_SHADES = (
    "#1d242c", "#183a5a", "#175080", "#2269a3", "#3884c0", "#5c9fd3", "#8abbe3", "#b9d7ef", "#edf5fc",
)  # fmt: skip
"""Plotly's Blues on a dark page."""

DARK_SIGNED = (
    "#ffc2b3", "#f79a84", "#de6c57", "#a94a3a", "#61322b", "#22282f", "#1f3f5c", "#276493", "#3b88c0", "#74b3de",
    "#b4d9f2",
)  # fmt: skip
"""Plotly's RdBu on a dark page."""


def as_hex(colour: str) -> str:
    """Return a colour `rgb(r, g, b)` as `#rrggbb`."""
    return "#{:02x}{:02x}{:02x}".format(*map(int, unlabel_rgb(colour)))


DARK: Mapping[str, str] = dict(
    chain(
        zip(COLOURS, DARK_COLOURS, strict=True),
        zip(map(as_hex, sequential.Blues), DARK_SHADES, strict=True),
        zip(map(as_hex, diverging.RdBu), DARK_SIGNED, strict=True),
        {"#ffffff": GROUND, FAINT: "#8d959d", "#222222": "#e4e6e8", "#444444": "#9aa1a8", "#e8e8e8": "#2c3238"}.items(),
    )
)
"""The dark page's colour for each colour of a figure; in its colour scales, too, the background is the lowest value."""
