"""Related languages: BLEU of children over text and vocabulary (thesis Figure 3.1), and what a parent replaces."""

import math
from html import escape

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.theme import BELOW, FAINT, dressed, log_axis, see_through, styles

_HEAD, _BETWEEN, _FOOT = 75, 100, 120
"""Pixels above the panels, between them, and below them, for axis and legend."""

_MAX_ACROSS = 2
_PANEL = 290
"""Pixels of a panel with curves."""
_ASIDE = 1.03
"""Factor between the points of two systems of the same size, so that their intervals show."""
_TICKS_APART = 1.5
"""Smallest factor between two sizes with a tick."""

_LINE = 34
"""Pixels of a parent's line."""
_GROUPS_APART = 0.5
"""Lines between two sizes of children."""
_BEYOND = 0.22
"""Width of the zones for sizes that no child has, as a share of the range of sizes."""


def child_size_figure(curves: pd.DataFrame) -> go.Figure:
    """Draw the scores of children over the size of their text, a panel per language pair: means, 95 % intervals.

    Args:
        curves: rows of `experiments.results.curves.child_size_curves`, of one metric.
    """
    title = "of children alone and with a parent, by the size of their text"
    return _curves_figure(curves, "child_pairs", "training pairs of the child", title)


def vocabulary_figure(curves: pd.DataFrame) -> go.Figure:
    """Draw the scores of children over the size of their vocabulary, as `child_size_figure` (thesis Figure 3.1).

    Args:
        curves: rows of `experiments.results.curves.vocabulary_curves`, of one metric.
    """
    title = "of children alone and with a parent, by the size of the vocabulary"
    return _curves_figure(curves, "types", "types in the vocabulary", title)


def _curves_figure(curves: pd.DataFrame, over: str, axis: str, title: str) -> go.Figure:
    """Draw `mean` and `margin` over a size: a panel per `pair`, a line per `system`."""
    metric = _metric(curves)
    pairs, systems = (list(dict.fromkeys(curves[name])) for name in ("pair", "system"))
    down, across = max(1, math.ceil(len(pairs) / _MAX_ACROSS)), max(1, min(len(pairs), _MAX_ACROSS))
    inside = down * (_PANEL + _BETWEEN) - _BETWEEN
    figure = make_subplots(
        rows=down, cols=across, subplot_titles=[escape(pair) for pair in pairs],
        horizontal_spacing=0.1, vertical_spacing=_BETWEEN / inside if down > 1 else 0,
    )  # fmt: skip
    style, named = styles(systems), set()
    for (pair, system), curve in curves.groupby(["pair", "system"], sort=False):
        aside = _ASIDE ** (systems.index(system) - (len(systems) - 1) / 2)
        figure.add_scatter(
            x=curve[over] * aside, y=curve["mean"], mode="lines+markers", name=escape(system), legendgroup=system,
            legendrank=systems.index(system), showlegend=system not in named, line=style[system], marker={"size": 8},
            error_y={"type": "data", "array": curve["margin"], "thickness": 1.5, "width": 4}, meta=pair,
            customdata=curve[[over, "margin", "seeds"]],
            hovertemplate="%{customdata[0]:,}: %{y:.2f} ± %{customdata[1]:.2f}, %{customdata[2]} seeds<extra>"
            + escape(f"{pair}, {system}") + "</extra>",
            row=pairs.index(pair) // _MAX_ACROSS + 1, col=pairs.index(pair) % _MAX_ACROSS + 1,
        )  # fmt: skip
        named.add(system)
    ticks = _ticks(curves[over])
    at_sizes = {"tickvals": ticks, "ticktext": [f"{size:,}" for size in ticks]}
    figure.update_xaxes(title_text=axis, **log_axis(curves[over]) | at_sizes)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text=f"{metric} (%), mean and 95 %", col=1)
    figure.update_layout(legend=BELOW, margin={"t": _HEAD, "b": _FOOT})
    return dressed(figure, escape(f"{metric[:1].upper()}{metric[1:]} {title}"), inside + _HEAD + _FOOT)


def _metric(lines: pd.DataFrame) -> str:
    return str(lines["metric"].iloc[0]) if len(lines) else "BLEU"


def _ticks(sizes: pd.Series) -> list[int]:
    """Return the sizes, without those whose labels would overlap on a logarithmic axis."""
    kept: list[int] = []
    for size in sorted(sizes.unique()):
        kept += [int(size)] if not kept or size >= _TICKS_APART * kept[-1] else []
    return kept


def worth_figure(replaced: pd.DataFrame) -> go.Figure:
    """Draw how many of a child's pairs each parent replaces, a panel per language pair, a group of lines per child.

    A line begins at the child's size and ends where a child alone has the same score, with its 95 % interval. Sizes
    beyond those of children alone are in shaded zones: "more" and "less".

    Args:
        replaced: rows of `experiments.results.worth.replaced_pairs`, of one metric.
    """
    pairs, systems = (list(dict.fromkeys(replaced[name])) for name in ("pair", "system"))
    panels = [_placed(replaced[replaced["pair"] == pair], systems) for pair in pairs]
    heights = [_LINE * (panel["place"].max() + 1) for panel in panels]
    inside = sum(heights) + _BETWEEN * (len(pairs) - 1) if pairs else _PANEL
    figure = make_subplots(
        rows=max(1, len(pairs)), cols=1, subplot_titles=[escape(pair) for pair in pairs],
        row_heights=heights or None, vertical_spacing=_BETWEEN / inside if len(pairs) > 1 else 0,
    )  # fmt: skip
    # The child alone has the first colour in the other figures.
    style, named = styles(["", *systems]), set()
    for row, panel in enumerate(panels, start=1):
        for system, lines in panel.groupby("system", sort=False):
            for trace in _worth_traces(lines, style[system]["color"]):
                trace.update(legendgroup=system, legendrank=systems.index(system), meta=lines["pair"].iloc[0])
                trace.update(showlegend=trace.mode == "markers+text" and system not in named)
                figure.add_trace(trace, row=row, col=1)
            named.add(system)
        _with_axes(figure, panel, row)
    figure.update_layout(legend=BELOW, margin={"t": _HEAD, "b": _FOOT})
    figure.update_xaxes(
        title_text=f"pairs with which a child alone has the same {escape(_metric(replaced))} (95 % intervals)"
    )
    title = f"Pairs of text that a parent replaces, by {_metric(replaced)}"
    return dressed(figure, escape(title), int(inside) + _HEAD + _FOOT)


def _placed(lines: pd.DataFrame, systems: list[str]) -> pd.DataFrame:
    """Return the lines of a panel with their `place` from the top, and where point and interval are drawn.

    The new columns `at`, `from` and `to` are sizes of children alone, those beyond the known ones in a zone.
    """
    ordered = lines.assign(order=lines["system"].map(systems.index)).sort_values(
        ["child_pairs", "order"], ignore_index=True
    )
    groups = ordered["child_pairs"].rank(method="dense") - 1
    less, more = _zones(ordered)
    sizes = {
        name: (ordered[column] + ordered["child_pairs"]).clip(less, more)
        for name, column in (("at", "replaced"), ("from", "low"), ("to", "high"))
    }
    return ordered.assign(place=ordered.index + _GROUPS_APART * groups, **sizes)


def _zones(panel: pd.DataFrame) -> tuple[float, float]:
    """Return the middles of the zones below the smallest and above the largest child alone."""
    smallest, largest = panel["smallest"].min(), panel["largest"].max()
    aside = (largest / smallest) ** (_BEYOND / 2)
    return smallest / aside, largest * aside


def _worth_traces(lines: pd.DataFrame, colour: str) -> list[go.Scatter]:
    """Return the lines of a parent in a panel: from the child's size to the point, and the points with intervals."""
    xs, ys = [], []
    for line in lines.itertuples():
        xs += [line.child_pairs, line.at, None]
        ys += [line.place, line.place, None]
    stretches = go.Scatter(
        x=xs, y=ys, mode="lines", line={"color": see_through(colour, 0.3), "width": 7}, hoverinfo="skip"
    )
    points = go.Scatter(
        x=lines["at"], y=lines["place"], mode="markers+text", name=escape(lines["system"].iloc[0]),
        text=[_number(line, line.replaced) for line in lines.itertuples()], textposition="top center",
        marker={"color": colour, "size": 9, "symbol": [_symbol(number) for number in lines["replaced"]]},
        error_x={"type": "data", "symmetric": False, "array": _lengths(lines["at"], lines["to"]),
                 "arrayminus": _lengths(lines["from"], lines["at"]), "thickness": 1.5, "width": 4},
        cliponaxis=False, customdata=[_summary(line) for line in lines.itertuples()],
        hovertemplate="%{customdata}<extra>" + escape(lines["system"].iloc[0]) + "</extra>",
    )  # fmt: skip
    return [stretches, points]


def _lengths(start: pd.Series, end: pd.Series) -> pd.Series:
    """Return the lengths of half an interval, missing if there is nothing to draw but its end mark."""
    return (end - start).where(end > start)


def _symbol(replaced: float) -> str:
    return {math.inf: "triangle-right", -math.inf: "triangle-left"}.get(replaced, "circle")


def _number(line: tuple, replaced: float) -> str:
    """Return a number of replaced pairs as text: "> 9,500" if the largest child alone has too few."""
    if math.isinf(replaced):
        return f"> {line.largest - line.child_pairs:,}" if replaced > 0 else "nothing"
    return f"{replaced:,.0f}".replace("-", "−")


def _summary(line: tuple) -> str:
    known = "" if math.isnan(line.low) else f" (95 %: {_number(line, line.low)} to {_number(line, line.high)})"
    return f"child of {line.child_pairs:,} pairs, {line.score:.2f}: replaces {_number(line, line.replaced)}{known}"


def _with_axes(figure: go.Figure, panel: pd.DataFrame, row: int) -> None:
    """Draw the axes of a panel: sizes of children alone with zones beyond them, and a tick per size of child."""
    (less, more), smallest, largest = _zones(panel), panel["smallest"].min(), panel["largest"].max()
    ends = (less**2 / smallest, more**2 / largest)
    for start, end in ((ends[0], smallest), (largest, ends[1])):
        figure.add_vrect(
            x0=start, x1=end, fillcolor=see_through(FAINT, 0.15), line_width=0, layer="below", row=row, col=1
        )
    sizes = _ticks(pd.concat([panel["child_pairs"], panel["smallest"], panel["largest"]]))
    figure.update_xaxes(
        type="log", range=[math.log10(end) for end in ends], tickvals=[less, *sizes, more], tickangle=0,
        ticktext=["less", *(f"{size:,}" for size in sizes), "more"], row=row, col=1,
    )  # fmt: skip
    groups = panel.groupby("child_pairs")["place"].mean()
    figure.update_yaxes(
        title_text="pairs of the child", tickvals=list(groups), ticktext=[f"{size:,}" for size in groups.index],
        range=[panel["place"].max() + 0.5, -0.9], showgrid=False, zeroline=False, row=row, col=1,
    )  # fmt: skip
