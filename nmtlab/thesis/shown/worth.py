"""What is a relative worth? The number of a child's pairs that a parent replaces."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import product
from statistics import fmean, pstdev
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.theme import BELOW, FAINT, SOLID, dressed, see_through, spaced, styles, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import listed
from nmtlab.grids.declared.declaration import Scale
from nmtlab.grids.results.statistics import ENOUGH_SEEDS, Spread
from nmtlab.grids.results.summary import interval
from nmtlab.thesis.measured import described_cells, measured_cells
from nmtlab.thesis.shown.children import metric_of, with_child_sizes
from nmtlab.thesis.tables.transfer import CHILD_SIZE

COLUMNS = [
    "pair", "system", "child_pairs", "metric", "seeds", "score", "replaced", "low", "high", "smallest", "largest",
]  # fmt: skip
_DRAWS = 4000
_SEED = 1
_TAIL = 0.025
_DECIMALS = 9
_NORMAL = 1.96
"""The 97.5th percentile of the normal distribution."""

_HEAD, _BETWEEN, _FOOT = 65, 100, 120
"""Pixels above the panels, between them, and below them, for axis and legend."""

_PANEL = 290
"""Pixels of a panel with curves."""

_LINE = 34
"""Pixels of a parent's line."""

_GROUPS_APART = 0.5
"""Lines between two sizes of children."""

_BEYOND = 0.22
"""Width of the zones for sizes that no child has, as a share of the range of sizes."""


class Worth(NamedTuple):
    """The number of pairs that a parent replaces, and its 95 % interval.

    Infinite if the child alone would need more pairs than its largest text has, and minus infinity if its smallest
    text would be too large.

    Args:
        replaced: number of pairs.
        low: lower end of the interval, NaN with fewer than `ENOUGH_SEEDS` seeds of any child.
        high: its upper end, likewise.
    """

    replaced: float
    low: float
    high: float


def worth_view(scale: Scale = "small", metric: str = "test-bleu") -> View:
    """Show how many of a child's pairs its parents replace; its table has the numbers and their 95 % intervals.

    A number is infinite if even the largest child alone has a lower score, and minus infinity if even the smallest one
    has a higher score.

    Args:
        scale: at which `child-size` was run.
        metric: key of one of its metrics.

    Raises:
        NmtlabError: it was not measured at this scale or with this metric.
    """
    cells = measured_cells(CHILD_SIZE.name, scale, metric)
    replaced = replaced_pairs(cells, scale)
    shown = replaced.sort_values(["pair", "child_pairs"], kind="stable")
    shown = shown[["pair", "child_pairs", "system", "seeds", "replaced", "low", "high"]]
    return View(shown, with_subtitle(worth_figure(replaced), described_cells(cells)), finding=worth_finding(replaced))


def worth_finding(replaced: pd.DataFrame) -> str:
    """Say how many pairs each parent is worth to the smallest child of the first pair of languages.

    Args:
        replaced: rows of `replaced_pairs`, of one metric.
    """
    first = replaced[replaced["pair"] == replaced["pair"].iloc[0]] if len(replaced) else replaced
    smallest = first[first["child_pairs"] == first["child_pairs"].min()]
    said = [f"{line['system']} {_number(line, line['replaced'])}{_interval(line)}" for _, line in smallest.iterrows()]
    size, pair = (smallest[name].iloc[0] if said else "" for name in ("child_pairs", "pair"))
    return f"What a parent is worth to a child of {size:,} pairs ({pair}), in pairs: {listed(said)}." if said else ""


def replaced_pairs(results: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return the number of a child's pairs that each parent replaces (see `worth`).

    Args:
        results: `cells` of `Results`, of `child-size`.
        scale: the scale at which it was run.

    Returns:
        One line per metric, system with a parent, language pair and size of child with a value, if the child alone has
        values at two sizes or more, in the order of `child_size_curves`: `pair`, `system`, `child_pairs`, `metric`;
        `seeds`, the fewest of any child involved; `score`, the mean of the child with the parent; `replaced`, `low` and
        `high` as in `Worth`; `smallest` and `largest` size of a child alone.
    """
    known = with_child_sizes(results[results["value"].notna()], scale)
    systems = [system.name for system in CHILD_SIZE.columns if system.parent]
    lines = []
    for metric, system, pair in product(CHILD_SIZE.metrics, systems, dict.fromkeys(known["pair"])):
        cells = known[(known["metric"] == metric) & (known["pair"] == pair)]
        alone = _by_size(cells[cells["column"] == CHILD_SIZE.baseline])
        if len(alone) < 2:
            continue
        for size, scores in _by_size(cells[cells["column"] == system]).items():
            fewest = min(map(len, (scores, *alone.values())))
            found = (fmean(scores), *worth(scores, size, alone))
            lines.append((pair, system, size, metric, fewest, *found, min(alone), max(alone)))
    return pd.DataFrame(lines, columns=COLUMNS)


def worth(
    scores: Sequence[float], size: int, alone: Mapping[int, Sequence[float]], sentences: Spread | None = None
) -> Worth:
    """Return the number of pairs that a parent replaces: those a child alone would need for the same score, minus its.

    The scores of children alone are made monotone, and linear in the logarithm of the size between two sizes. For the
    interval, the seeds of every child are resampled. The means of three resampled seeds vary far too little (such an
    interval holds the truth four times in five), so their deviations are stretched, by as much as Student's t demands
    for a single mean. New test sentences move the difference of the two systems by a normal deviate.

    Args:
        scores: of the child with a parent, one per seed.
        size: of the child, in pairs.
        alone: size -> scores of a child alone, one per seed, of two sizes or more.
        sentences: the part of the test sentences in the difference to the child alone; None for that of seeds alone.
    """
    sizes, children = np.array(sorted(alone), dtype=float), [alone[size] for size in sorted(alone)]
    seeds = np.array([len(child) for child in children], dtype=float)
    means = np.array([[fmean(child) for child in children]])
    replaced = size_with(np.array([fmean(scores)]), monotone(means, seeds), sizes, size) - size
    if min(map(len, (scores, *children))) < ENOUGH_SEEDS:
        return Worth(float(replaced[0]), math.nan, math.nan)
    generator = np.random.default_rng(_SEED)
    resampled = np.stack([_resampled(child, generator) for child in children], axis=1)
    moved = _resampled(scores, generator)
    if sentences:
        moved = moved + generator.normal(0, math.sqrt(sentences.variance), _DRAWS)
    drawn = np.sort(size_with(moved, monotone(resampled, seeds), sizes, size) - size)
    # Not interpolated: there is nothing halfway to infinity.
    low, high = drawn[int(_TAIL * _DRAWS)], drawn[int((1 - _TAIL) * _DRAWS)]
    return Worth(float(replaced[0]), float(low), float(high))


def monotone(means: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the closest means that never fall, by weighted least squares: neighbours that fall are pooled.

    Args:
        means: (curves, sizes).
        weights: (sizes,).
    """
    # The max-min formula of isotonic regression: cubic, but for all curves at once.
    places = range(means.shape[1])
    pooled = {
        (first, last): np.average(means[:, first : last + 1], axis=1, weights=weights[first : last + 1])
        for last in places
        for first in places[: last + 1]
    }
    least = {
        (first, place): np.min([pooled[first, last] for last in places[place:]], axis=0) for first, place in pooled
    }
    return np.stack(
        [np.max([least[first, place] for first in places[: place + 1]], axis=0) for place in places], axis=1
    )


def size_with(scores: np.ndarray, curves: np.ndarray, sizes: np.ndarray, near: float) -> np.ndarray:
    """Return the sizes with which curves have some scores, in whole pairs.

    Args:
        scores: (curves,).
        curves: (curves, sizes), none of them falls; linear in the logarithm of the size.
        sizes: (sizes,), ascending.
        near: the nearest size to this one is returned if a range of sizes has the score.

    Returns:
        (curves,): infinity for a score above the curve, minus infinity for a score below it.
    """
    # Sums of the same numbers in another order differ in their last digits.
    scores, curves = np.round(scores, _DECIMALS), np.round(curves, _DECIMALS)
    logs, rows, end = np.log(sizes), np.arange(len(scores)), len(sizes)
    first, past = (curves < scores[:, None]).sum(axis=1), (curves <= scores[:, None]).sum(axis=1)
    left, right = (np.clip(place, 0, end - 1) for place in (first - 1, first))
    rise = curves[rows, right] - curves[rows, left]
    share = np.divide(scores - curves[rows, left], rise, out=np.zeros(len(scores)), where=rise > 0)
    lowest = logs[left] + share * (logs[right] - logs[left])
    highest = np.where(past > first, logs[np.clip(past - 1, 0, end - 1)], lowest)
    found = np.rint(np.exp(np.clip(np.log(near), lowest, highest)))
    return np.where(first == end, math.inf, np.where(past == 0, -math.inf, found))


def _by_size(cells: pd.DataFrame) -> dict[int, list[float]]:
    return {int(size): some["value"].tolist() for size, some in cells.groupby("child_pairs")}


def _resampled(values: Sequence[float], generator: np.random.Generator) -> np.ndarray:
    """Return means of resampled values, stretched so that their 95 % interval is about that of Student's t."""
    means = np.array(values)[generator.integers(0, len(values), (_DRAWS, len(values)))].mean(axis=1)
    spread = _NORMAL * pstdev(values) / math.sqrt(len(values))
    stretch = interval(values).margin / spread if spread else 1.0
    return fmean(values) + stretch * (means - fmean(values))


def worth_figure(replaced: pd.DataFrame) -> go.Figure:
    """Draw how many of a child's pairs each parent replaces, a panel per language pair, a group of lines per child.

    A line begins at the child's size and ends where a child alone has the same score, with its 95 % interval. Sizes
    beyond those of children alone are in shaded zones: "more" and "less".

    Args:
        replaced: rows of `replaced_pairs`, of one metric.
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
    style, named = styles(["", *systems], SOLID), set()
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
        title_text=f"pairs with which a child alone has the same {escape(metric_of(replaced))} (95 % intervals)"
    )
    title = f"Pairs of text that a parent replaces, by {metric_of(replaced)}"
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
        text=[_number(line, line["replaced"]) for _, line in lines.iterrows()], textposition="top center",
        marker={"color": colour, "size": 9, "symbol": [_symbol(number) for number in lines["replaced"]]},
        error_x={"type": "data", "symmetric": False, "array": _lengths(lines["at"], lines["to"]),
                 "arrayminus": _lengths(lines["from"], lines["at"]), "thickness": 1.5, "width": 4},
        cliponaxis=False, customdata=[_summary(line) for _, line in lines.iterrows()],
        hovertemplate="%{customdata}<extra>" + escape(lines["system"].iloc[0]) + "</extra>",
    )  # fmt: skip
    return [stretches, points]


def _lengths(start: pd.Series, end: pd.Series) -> pd.Series:
    """Return the lengths of half an interval, missing if there is nothing to draw but its end mark."""
    return (end - start).where(end > start)


def _symbol(replaced: float) -> str:
    return {math.inf: "triangle-right", -math.inf: "triangle-left"}.get(replaced, "circle")


def _number(line: pd.Series, replaced: float) -> str:
    """Return a number of replaced pairs as text: "> 9,500" if the largest child alone has too few."""
    if math.isinf(replaced):
        return f"> {line['largest'] - line['child_pairs']:,}" if replaced > 0 else "nothing"
    return f"{replaced:,.0f}".replace("-", "−")


def _summary(line: pd.Series) -> str:
    replaces = f"{_number(line, line['replaced'])}{_interval(line, '95 %: ')}"
    return f"child of {line['child_pairs']:,} pairs, {line['score']:.2f}: replaces {replaces}"


def _interval(line: pd.Series, name: str = "") -> str:
    return "" if math.isnan(line["low"]) else f" ({name}{_number(line, line['low'])} to {_number(line, line['high'])})"


def _with_axes(figure: go.Figure, panel: pd.DataFrame, row: int) -> None:
    """Draw the axes of a panel: sizes of children alone with zones beyond them, and a tick per size of child."""
    (less, more), smallest, largest = _zones(panel), panel["smallest"].min(), panel["largest"].max()
    ends = (less**2 / smallest, more**2 / largest)
    for start, end in ((ends[0], smallest), (largest, ends[1])):
        figure.add_vrect(
            x0=start, x1=end, fillcolor=see_through(FAINT, 0.15), line_width=0, layer="below", row=row, col=1
        )
    sizes = spaced(pd.concat([panel["child_pairs"], panel["smallest"], panel["largest"]]))
    figure.update_xaxes(
        type="log", range=[math.log10(end) for end in ends], tickvals=[less, *sizes, more], tickangle=0,
        ticktext=["less", *(f"{size:,}" for size in sizes), "more"], row=row, col=1,
    )  # fmt: skip
    groups = panel.groupby("child_pairs")["place"].mean()
    figure.update_yaxes(
        title_text="pairs of the child", tickvals=list(groups), ticktext=[f"{size:,}" for size in groups.index],
        range=[panel["place"].max() + 0.5, -0.9], showgrid=False, zeroline=False, row=row, col=1,
    )  # fmt: skip
