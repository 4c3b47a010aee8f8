"""Which system is best with how much text? Learning curves (thesis Figure 2.1), and where they cross."""

import math
from collections.abc import Sequence
from html import escape
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.metrics import find_metric
from nmtlab.evaluation.intervals import interval
from nmtlab.figures.theme import BELOW, dressed, see_through, spaced, styles, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import number
from nmtlab.grids.results.statistics import ENOUGH_SEEDS
from nmtlab.thesis.shown.prices import LearningCurve
from nmtlab.thesis.shown.worth import resampled_means

_SEED = 1
_TAIL = 0.025


class Crossing(NamedTuple):
    """Where the better of two systems becomes the worse one.

    Args:
        below: the system that is better with less text.
        above: the one that is better with more.
        pairs: number of training pairs with which their mean scores are equal, linear in its logarithm.
        low: lower end of its 95 % interval over seeds, NaN with fewer than `ENOUGH_SEEDS` seeds; minus infinity if
            in 2.5 % of the draws or more they do not cross at the measured sizes.
        high: its upper end, likewise, infinity.
    """

    below: str
    above: str
    pairs: float
    low: float
    high: float


def learning_curve_view(found: Sequence[LearningCurve]) -> View:
    """Show scores by the number of training pairs, and where systems change places.

    Args:
        found: of one text and metric; one or more.
    """
    label, crossings = find_metric(found[0].metric).label, crossings_of(found)
    lines = [
        (one.system, pairs, len(scores), fmean(scores), interval(scores).margin)
        for one in found
        for pairs, scores in one.scores.items()
    ]
    table = pd.DataFrame(lines, columns=["system", "pairs", "seeds", label, "margin"])
    return View(table, curves_figure(found, crossings), finding=curves_finding(found, crossings))


def crossings_of(found: Sequence[LearningCurve]) -> list[Crossing]:
    """Return where the curves of two systems cross once between sizes that both have; those that touch do not.

    For the interval, the seeds at every size are resampled, as for what a technique is worth.

    Args:
        found: of one text and metric.
    """
    crossings = []
    for one, other in combinations(found, 2):
        sizes = sorted(one.scores.keys() & other.scores.keys())
        means = np.array([[fmean(one.scores[size]) - fmean(other.scores[size]) for size in sizes]])
        at = _crossed(means, np.log(sizes)) if len(sizes) > 1 else np.array([math.nan])
        if math.isfinite(at[0]):
            first, last = (one, other) if means[0, 0] > 0 else (other, one)
            low, high = _interval(one, other, sizes)
            crossings.append(Crossing(first.system, last.system, round(math.exp(at[0])), low, high))
    return crossings


def _crossed(differences: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return where differences, (curves, sizes), change their sign once: (curves,), NaN if they do not."""
    signs = np.sign(differences)
    changed = signs[:, :-1] * signs[:, 1:] < 0
    place, rows = changed.argmax(axis=1), np.arange(len(differences))
    left, right = differences[rows, place], differences[rows, place + 1]
    once = (changed.sum(axis=1) == 1) & (signs != 0).all(axis=1)
    share = np.divide(left, left - right, out=np.zeros(len(rows)), where=once)
    return np.where(once, logs[place] + share * (logs[place + 1] - logs[place]), np.nan)


def _interval(one: LearningCurve, other: LearningCurve, sizes: Sequence[int]) -> tuple[float, float]:
    if min(len(curve.scores[size]) for curve in (one, other) for size in sizes) < ENOUGH_SEEDS:
        return math.nan, math.nan
    generator = np.random.default_rng(_SEED)
    drawn = [
        resampled_means(one.scores[size], generator) - resampled_means(other.scores[size], generator) for size in sizes
    ]
    at = _crossed(np.stack(drawn, axis=1), np.log(sizes))
    # Draws that do not cross are beyond one end or the other: they count at both.
    ends = (np.sort(np.nan_to_num(at, nan=end)) for end in (-math.inf, math.inf))
    low, high = (float(one[int(share * len(one))]) for one, share in zip(ends, (_TAIL, 1 - _TAIL), strict=True))
    return (round(math.exp(low)) if math.isfinite(low) else low), (
        round(math.exp(high)) if math.isfinite(high) else high
    )


def curves_figure(found: Sequence[LearningCurve], crossings: Sequence[Crossing]) -> go.Figure:
    """Draw scores over the logarithm of the number of pairs, a line a system, with the intervals of crossings shaded.

    Args:
        found: of one text and metric; one or more.
        crossings: as of `crossings_of`.
    """
    figure, style = go.Figure(), styles([one.system for one in found])
    for one in found:
        means = [interval(scores) for scores in one.scores.values()]
        figure.add_scatter(
            x=list(one.scores), y=[mean.mean for mean in means], mode="lines+markers", name=escape(one.system),
            line=style[one.system], marker={"size": 8},
            error_y={"type": "data", "array": [mean.margin for mean in means], "thickness": 1.5, "width": 4},
            hovertemplate="%{x:,} pairs: %{y:.2f}<extra>" + escape(one.system) + "</extra>",
        )  # fmt: skip
    for crossing in crossings:
        colour = style[crossing.above]["color"]
        figure.add_vline(x=crossing.pairs, line={"color": colour, "dash": "dot"})
        if math.isfinite(crossing.low) and math.isfinite(crossing.high):
            shade = see_through(colour, 0.12)
            figure.add_vrect(x0=crossing.low, x1=crossing.high, fillcolor=shade, line_width=0, layer="below")
    sizes = spaced(size for one in found for size in one.scores)
    figure.update_xaxes(
        type="log", title_text="training pairs", tickvals=list(sizes), ticktext=[f"{size:,}" for size in sizes]
    )
    figure.update_yaxes(title_text=find_metric(found[0].metric).label, rangemode="tozero")
    figure.update_layout(legend=BELOW, margin_b=130, showlegend=True)
    dressed(figure, "Which system is best with how much text?", 480)
    return with_subtitle(figure, f"{found[0].text}; 95 % intervals over seeds")


def curves_finding(found: Sequence[LearningCurve], crossings: Sequence[Crossing]) -> str:
    """Say which system is best with the least and with the most text, and where two change places.

    Args:
        found: of one text and metric; one or more.
        crossings: as of `crossings_of`.
    """
    said = []
    for size in dict.fromkeys((min(min(one.scores) for one in found), max(max(one.scores) for one in found))):
        there = [one for one in found if size in one.scores]
        best = max(there, key=lambda one: fmean(one.scores[size]))
        if len(there) > 1:
            score = fmean(best.scores[size])
            said.append(f"With {size:,} pairs, “{best.system}” is best of {len(there)} ({score:.1f}).")
    known = [one for one in crossings if math.isfinite(one.low) and math.isfinite(one.high)]
    said += [
        f"“{one.below}” is better than “{one.above}” up to about {number(one.pairs, 0)} pairs "
        f"(95 %: {number(one.low, 0)} to {number(one.high, 0)})."
        for one in known
    ]
    if unknown := len(crossings) - len(known):
        said.append(f"Crossings that the seeds leave open: {unknown}.")
    return " ".join(said)
