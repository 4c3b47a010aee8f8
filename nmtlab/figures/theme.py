"""The common style of all figures, and text that keeps its direction of reading."""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go

from nmtlab.text.corpora.lines import SPACE

_RIGHT_TO_LEFT = ("R", "AL")
_ISOLATES = {True: "\u2067", False: "\u2066"}  # RIGHT-TO-LEFT ISOLATE, LEFT-TO-RIGHT ISOLATE
_END = "\u2069"  # POP DIRECTIONAL ISOLATE


def is_right_to_left(tokens: Iterable[str]) -> bool:
    """Return whether most letters of some tokens are of a right-to-left script; those of tags as `<s>` do not count."""
    words = (token for token in tokens if not (token.startswith("<") and token.endswith(">")))
    kinds = [unicodedata.bidirectional(letter) for word in words for letter in word]
    return sum(kind in _RIGHT_TO_LEFT for kind in kinds) > kinds.count("L")


def isolated(text: str) -> str:
    """Return text that keeps its direction, and leaves the text around it its own; unchanged if it is left-to-right."""
    if not any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in text):
        return text
    return f"{_ISOLATES[is_right_to_left(text.split())]}{text}{_END}"


COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""The colour-blind safe palette of Okabe and Ito (2008), without yellow, which is faint on white."""

DASHES = ("solid", "dash", "dot", "dashdot")
"""Line dashes, changed each time the colours are used up."""

SHADES = "Blues"
"""Colour scale for shares from 0 to 1, readable by lightness alone."""

DIVERGING = ((0, COLOURS[3]), (0.5, "#ffffff"), (1, COLOURS[0]))
"""Colour scale for signed values around 0."""

FAINT = "#8a8a8a"
"""Colour of published results and of guides to the eye."""

BELOW = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0}
"""A legend at the bottom of a figure, where it overlaps no title on a narrow page."""

FONT = "system-ui, 'Noto Sans', 'Noto Sans Arabic', 'Noto Sans Tamil', 'Noto Sans CJK JP', sans-serif"

_AXIS = {
    "showline": True,
    "linecolor": "#444444",
    "gridcolor": "#e8e8e8",
    "zerolinecolor": "#444444",
    "tickcolor": "#444444",
    "ticks": "outside",
    "automargin": True,
    "title": {"standoff": 8, "font": {"size": 14}},  # closer, it would overlap the tick labels
    "ticklabeloverflow": "allow",  # automargin leaves room for them; measuring again takes half of the drawing time
}
_TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": FONT, "size": 13, "color": "#222222"},
        "title": {
            "font": {"size": 16, "weight": 600},
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "y": 1,
            "yanchor": "top",
        },
        "colorway": COLOURS,
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "hoverlabel": {"font": {"family": FONT}},
        "legend": {"bgcolor": "rgba(255,255,255,0.8)"},
        "margin": {"l": 70, "r": 20, "b": 60},
    }
)


def dressed(figure: go.Figure, title: str, height: int = 420) -> go.Figure:
    """Return a figure in the common style.

    Args:
        title: what it shows, in one line; text from a corpus must be made `plain` first.
        height: in pixels.
    """
    figure.update_annotations(
        font_size=14, selector={"font_size": 16}
    )  # `make_subplots` makes them as large as a title
    above = figure.layout.margin.t or _LINE * (2 + title.count("<br>")) + _above_panels(figure)
    figure.layout.template = _TEMPLATE
    return _titled(figure, title, height, above)


def with_subtitle(figure: go.Figure, text: str) -> go.Figure:
    """Return a figure, changed in place, with a quiet line under its title: of what text, split and seed it is.

    Args:
        figure: in the common style. It grows by the line.
        text: any; it replaces an earlier one. Empty for none.
    """
    title, earlier, _ = figure.layout.title.text.partition(_SUBTITLE)
    grown = _LINE * (bool(text) - bool(earlier))
    below = f"{_SUBTITLE}{escape(isolated(text), quote=False)}</span>" if text else ""
    height, above = figure.layout.height + grown, figure.layout.margin.t + grown
    return _titled(figure, title + below, height, above)


_SUBTITLE = "<br><span style='font-size:13px;font-weight:400;fill-opacity:0.75'>"  # plotly's stands far below the title


def _titled(figure: go.Figure, title: str, height: int, above: int) -> go.Figure:
    """Return a figure with its title at its top; plotly centres the lines of a title, so that the first needs room."""
    layout = figure.layout  # `update_layout` takes several times as long
    layout.title.text, layout.title.pad.t = title, 13 + _LINE // 2 * title.count("<br>")
    layout.height, layout.margin.t = height, above
    return figure


_LINE = 21  # pixels of a title's line


def _above_panels(figure: go.Figure) -> int:
    """Return the pixels of the titles of the uppermost panels and of a legend above them."""
    lines = [one.text.count("<br>") + 1 for one in figure.layout.annotations if one.yanchor == "bottom" and one.y == 1]
    return _LINE * (max(lines, default=0) + (figure.layout.legend.yanchor == "bottom" and figure.layout.legend.y > 1))


SYSTEMS: Mapping[str, str] = {
    "tied": COLOURS[6],
    "untied": COLOURS[3],
    "fixnorm": COLOURS[0],
    "fixnorm-lex": COLOURS[1],
    "fixnorm-free": COLOURS[5],
    "arthur": COLOURS[2],
    "moses": COLOURS[4],
    "postnorm": COLOURS[1],
    "post-layernorm": COLOURS[1],
    "postnorm-layernorm": COLOURS[1],
    "post-scalenorm": COLOURS[4],
    "post-rmsnorm": COLOURS[3],
    "prenorm": COLOURS[6],
    "pre-layernorm": COLOURS[6],
    "prenorm-layernorm": COLOURS[6],
    "prenorm-fixnorm": COLOURS[5],
    "prenorm-fixnorm-layernorm": COLOURS[5],
    "pre-scalenorm": COLOURS[0],
    "prenorm-fixnorm-scalenorm": COLOURS[0],
    "pre-rmsnorm": COLOURS[2],
    "prenorm-fixnorm-rmsnorm": COLOURS[2],
    "prenorm-transfer": COLOURS[1],
    "prenorm-fixnorm-transfer": COLOURS[3],
    "bpe": COLOURS[0],
    "bpe-transfer": COLOURS[1],
    "bpe-unrelated-parent": COLOURS[2],
    "bpe-distant-relative": COLOURS[3],
}
"""Each system's colour in every figure: recurrent, Transformers by place and kind of norm, those with parents."""


def colour_of(name: str) -> str | None:
    """Return the colour of the system that a label names, such as `tr-en, tied, seed 2`; None if it names none."""
    alone = re.sub(r" \(\d+ seeds\)$", "", name)
    parts = (re.sub(r"\W+", "-", part.strip().lower()) for part in re.split(r"[,.·]", alone))
    systems = (re.sub(r"^demo-|-(bpe|small)$", "", part) for part in parts)
    return next((SYSTEMS[system] for system in systems if system in SYSTEMS), None)


def styles(names: Iterable[str], dashes: Sequence[str] = DASHES) -> Mapping[str, dict[str, str]]:
    """Return colour and dash of each name, no two the same while they last: `{"color": ..., "dash": ...}`.

    A known system has its colour, the first with a solid line; other names take in turn what is left.

    Args:
        dashes: those that tell names apart; a single one where dashes mean something else, or nothing is a line.
    """
    looks = [{"color": colour, "dash": dash} for dash in dashes for colour in COLOURS]
    found: dict[str, dict[str, str]] = {}
    free: list[dict[str, str]] = []
    for name in sorted(dict.fromkeys(names), key=lambda name: colour_of(name) is None):
        free = free or list(looks)
        found[name] = next((look for look in free if look["color"] == colour_of(name)), free[0])
        free.remove(found[name])
    return found


SOLID = DASHES[:1]
"""For figures in which colours alone tell names apart."""


def log_axis(values: Iterable[float]) -> dict[str, Any]:
    """Return a logarithmic axis with ticks at 1, 2 and 5 times each power of ten, or at powers only if it is long.

    Args:
        values: to be drawn on it; those without a logarithm are ignored.
    """
    known = [value for value in values if 0 < value < math.inf] or [1.0]
    low, high = min(known), max(known)
    steps = [(digit, power) for power in range(_power(low) - 2, _power(high) + 3) for digit in (1, 2, 5)]
    first = next(place for place, step in enumerate(steps) if _number(step) >= low)
    last = next(place for place, step in enumerate(steps) if _number(step) > high) - 1
    if last <= first:  # an axis needs at least two ticks: those around the values
        first, last = last, max(first, last + 1)
    ticks = steps[first - 1 : last + 2]
    if len(ticks) > _MAX_NUMBERS:
        powers = [step for step in ticks if step[0] == 1]
        ticks = powers[:: math.ceil(len(powers) / _MAX_NUMBERS)]
    ends = [math.log10(min(low, _number(steps[first]))), math.log10(max(high, _number(steps[last])))]
    margin = _MARGIN * (ends[1] - ends[0])
    return {
        "type": "log", "range": [ends[0] - margin, ends[1] + margin], "tickmode": "array",
        "tickvals": [_number(step) for step in ticks], "ticktext": [_named(*step) for step in ticks],
    }  # fmt: skip


def spaced(sizes: Iterable[float]) -> list[float]:
    """Return the sizes, ascending, without those whose labels would overlap on a logarithmic axis."""
    kept: list[float] = []
    for size in sorted(set(sizes)):
        kept += [size] if not kept or size >= _TICKS_APART * kept[-1] else []
    return kept


_TICKS_APART = 1.5  # the smallest factor between two sizes with a label
_MARGIN = 0.05  # on either side, as a share of the range
_MAX_NUMBERS = 10
_MAX_ZEROS = 5  # of a number that is written in full


def _power(value: float) -> int:
    return math.floor(math.log10(value))


def _number(step: tuple[int, int]) -> float:
    digit, power = step
    return float(f"{digit}e{power}")


def _named(digit: int, power: int) -> str:
    if abs(power) <= _MAX_ZEROS:
        return f"{_number((digit, power)):,.{max(0, -power)}f}"
    return f"{digit}×10<sup>{power}</sup>".removeprefix("1×").replace("-", "−")


def see_through(colour: str, opacity: float) -> str:
    """Return a colour `#rrggbb` with an opacity from 0 to 1."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def plain(text: str) -> str:
    """Return text escaped for plotly: tags in it are drawn literally, and it keeps its direction; long text is cut."""
    shown = text if len(text) <= _MAX_LETTERS else text[: _MAX_LETTERS - 1] + "…"
    return isolated(shown).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def readable(pieces: Iterable[str]) -> list[str]:
    """Return pieces as a person reads them: `▁ev` and `i` as `ev` and `·i`; those of a vocabulary of words are words.

    Different pieces stay different. What they are is the raw pieces: these are for the eye alone.
    """
    listed = list(pieces)
    subwords = any(SPACE in piece for piece in listed)
    return [_TAGS.get(piece) or _without_space(piece, subwords) for piece in listed]


def _without_space(piece: str, subwords: bool) -> str:
    if SPACE in piece:
        return piece.replace(SPACE, "") or piece.replace(SPACE, "␣")
    is_tag = piece.startswith("<") and piece.endswith(">")
    return f"·{piece}" if subwords and not is_tag else piece


def name_in_lines(name: object, letters: int = 36) -> str:
    """Return a name escaped for plotly, in lines of at most so many letters.

    Args:
        name: of a run or system; a very long one is cut.
        letters: at least 1. Lines end after spaces, dots and hyphens where possible.
    """
    text = str(name)
    shown = text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
    words = re.findall(r"[^ .-]*[ .-]*", shown)
    lines = [""]
    for part in (word[at : at + letters] for word in words for at in range(0, len(word), letters)):
        if len((lines[-1] + part).rstrip()) > letters:
            lines.append("")
        lines[-1] += part
    return "<br>".join(escape(line.rstrip(), quote=False) for line in lines)


_TAGS = {"<unk>": "⟨unknown⟩", "<s>": "⟨start⟩", "</s>": "⟨end⟩"}
_MAX_LETTERS = 40
_LONGEST_NAME = 120  # letters
