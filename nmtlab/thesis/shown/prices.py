"""What is it worth? The pairs of text that would have bought what a technique gains, from the measured tables.

found = prices(all_measured(Workspace.find()))
print(found[["text", "ruler", "technique", "pairs", "worth", "low", "high"]])
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from statistics import fmean
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.metrics import find_metric
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.intervals import interval
from nmtlab.figures.theme import COLOURS, FAINT, dressed, name_in_lines, see_through, spaced, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import listed, number
from nmtlab.grids.declared.corpora import Corpus
from nmtlab.grids.declared.declaration import Column, Scale, Setup, Table
from nmtlab.grids.declared.labels import system_labels, text_label
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus, SyntheticCorpus
from nmtlab.grids.results.measures import measures_of
from nmtlab.grids.results.results import Results
from nmtlab.grids.results.sentences import spread_of
from nmtlab.grids.results.statistics import ENOUGH_SEEDS, values_by_system
from nmtlab.grids.running.cells import cells_of
from nmtlab.recipe import Recipe
from nmtlab.thesis.shown.worth import worth

_HEAD, _BETWEEN, _FOOT = 55, 45, 70
"""Pixels above the techniques, between them and their ruler, and below it, for the axis."""

_LINE, _RULER = 46, 210
"""Pixels of a technique, and of the ruler."""

_BEYOND = 0.22
"""Width of the zones beyond the ends of the ruler, as a share of its length."""

_LETTERS = 24
"""Most letters in a line of the name of a technique."""

_OF_TEXT_AND_SEED = ("about", "corpus.", "machine.", "training.seed", "training.validate_every")
"""Beginnings of the fields in which one system differs from text to text: an epoch is longer with more of it."""


class System(NamedTuple):
    """A system on nested texts.

    Args:
        text: what its texts are part of.
        settings: fields of its recipe that no text or seed changes, with their values, and what else it learns from.
    """

    text: Corpus
    settings: str


class Price(NamedTuple):
    """What a technique is worth.

    Args:
        text: name of the text, such as `gl-en, LibreOffice`.
        ruler: the system without the technique.
        technique: the system with it.
        pairs: number of training pairs of both.
        metric: key of a score.
        seeds: the fewest of any system involved.
        score: of the technique, the mean over its seeds.
        worth: number of pairs, as of `nmtlab.thesis.shown.worth.Worth`.
        low: lower end of its 95 % interval, likewise.
        high: its upper end, likewise.
        sentences: whether the interval is that of new test sentences, too.
        curve: the ruler: number of training pairs -> scores of the system without the technique, one per seed.
    """

    text: str
    ruler: str
    technique: str
    pairs: int
    metric: str
    seeds: int
    score: float
    worth: float
    low: float
    high: float
    sentences: bool
    curve: Mapping[int, list[float]]

    def said(self, pairs: float, sign: bool = False) -> str:
        """Return a number of further pairs in words: `3,400`, or `more than 9,500` beyond the end of the ruler."""
        if math.isinf(pairs):
            end = (max if pairs > 0 else min)(self.curve) - self.pairs
            return f"{'more' if pairs > 0 else 'less'} than {number(end, 0)}"
        return number(pairs, 0, sign)

    @property
    def interval(self) -> str:
        """The 95 % interval in words, `2,700 to more than 9,500`; empty if there are too few seeds for one."""
        ends = [] if math.isnan(self.low) else dict.fromkeys((self.said(self.low), self.said(self.high)))
        return " to ".join(ends)


class LearningCurve(NamedTuple):
    """The scores of a system by the number of its training pairs.

    Args:
        text: name of the text, such as `gl-en, LibreOffice`.
        system: as its table calls it.
        metric: key of a score.
        scores: number of training pairs -> scores, one per seed.
    """

    text: str
    system: str
    metric: str
    scores: Mapping[int, list[float]]


def prices(found: Iterable[Results], scale: Scale = "small") -> list[Price]:
    """Return what techniques are worth in pairs of text, one currency for all of them.

    A system that was measured on two nested texts or more is a ruler: its scores by the number of training pairs. If
    the baseline of a table is one, each other system of the table is worth the pairs with which the baseline alone
    would have its score, less those that it has. Training pairs count alone: a parent's text is not part of the price.
    What has the ruler's largest text and a better score has no price; nor has what is below the smallest.

    Args:
        found: measured tables; nothing is known of damaged ones.
        scale: at which they were run.

    Returns:
        Once each, in the order of the tables.
    """
    measured = [of_table for one in found if one.scale == scale for of_table in _measured(one)]
    curves = _curves(measured) if measured else {}
    priced: dict[tuple[System, System, int, str], Price] = {}
    for one in measured:
        for key, price in _priced(one, curves):
            priced.setdefault(key, price)
    return list(priced.values())


def learning_curves(found: Iterable[Results], scale: Scale = "small") -> list[LearningCurve]:
    """Return the scores of every system that was measured on two nested texts or more, by the number of training pairs.

    Args:
        found: measured tables; nothing is known of damaged ones.
        scale: at which they were run.

    Returns:
        In the order of the tables, which name the systems; the first one that has a system names it.
    """
    measured = [of_table for one in found if one.scale == scale for of_table in _measured(one)]
    names: dict[System, str] = {}
    for one in measured:
        labels = system_labels(one.table)
        for (_, column), (system, _) in one.systems.items():
            names.setdefault(system, labels[column])
    return [
        LearningCurve(system.text.name, names[system], metric, scores)
        for (system, metric), scores in (_curves(measured) if measured else {}).items()
        if len(scores) > 1
    ]


def nested(corpus: Corpus) -> tuple[Corpus, int] | None:
    """Return what a text is part of, and its number of training pairs; None if that is not declared.

    Texts that are part of the same are nested, and have the same dev and test text.
    """
    if not isinstance(corpus, ConcatenatedCorpus | SyntheticCorpus) or not corpus.train:
        return None
    return replace(corpus, name=text_label(corpus), train=0), corpus.train


class _Measured(NamedTuple):
    """The scores of a table, the part of sentences in them, and the systems and sizes of text of its cells."""

    table: Table
    scores: pd.DataFrame
    sentences: pd.DataFrame
    systems: Mapping[tuple[str, str], tuple[System, int]]


_Curves = Mapping[tuple[System, str], Mapping[int, list[float]]]
"""System and metric -> number of training pairs -> scores, one per seed."""


def _measured(found: Results) -> list[_Measured]:
    """Return what is known of a table with a baseline and texts of declared size, unless it is damaged."""
    scores = [key for key, measure in measures_of(found.table).items() if measure.kind == "score"]
    if not (scores and found.table.baseline):
        return []
    with suppress(NmtlabError):
        cells = found.cells
        declared = [row.name for row in found.table.rows]
        known = cells[cells["metric"].isin(scores) & cells["value"].between(0, 100) & cells["row"].isin(declared)]
        systems = _systems(found.table.only(known["row"].unique()), found.scale) if len(known) else {}
        placed = known[pd.MultiIndex.from_frame(known[["row", "column"]]).isin(list(systems))]
        return [_Measured(found.table, placed, found.sentences, systems)] if len(placed) else []
    return []


def _systems(table: Table, scale: Scale) -> dict[tuple[str, str], tuple[System, int]]:
    """Return system and number of training pairs of each row and column whose text has a declared number."""
    texts = {
        row.name: known
        for row in table.rows
        if isinstance(setup := row.at[scale], Setup) and setup.tested is None and (known := nested(setup.corpus))
    }
    cells = cells_of(table.only(texts).with_seeds(texts, 1), scale)
    columns = {column.name: column for column in table.columns}
    systems = {}
    for cell in cells:
        (text, pairs), recipe, column = texts[cell.row], cell.recipe, columns[cell.column]
        further = sum(known[1] for more in cell.more if (known := _rest(more)) and known[0] == text)
        if further:  # real pairs: a longer ruler, and no other system
            recipe, column = recipe.with_changes({"more_corpora": ()}), replace(column, texts="")
        systems[cell.row, cell.column] = System(text, _settings(recipe, column)), pairs + further
    return systems


def _rest(corpus: Corpus) -> tuple[Corpus, int] | None:
    """Return what further pairs are part of, and their number, as `nested` does."""
    if isinstance(corpus, SyntheticCorpus):
        return nested(replace(corpus, start=0))
    return nested(replace(corpus, skip=0)) if isinstance(corpus, ConcatenatedCorpus) else None


def _settings(recipe: Recipe, column: Column) -> str:
    fields = [(name, value) for name, value in recipe.fields().items() if not name.startswith(_OF_TEXT_AND_SEED)]
    taught = (column.teacher.name, column.distillation, column.ensemble) if column.teacher else ()
    return repr((fields, column.texts, taught))


def _curves(measured: Sequence[_Measured]) -> _Curves:
    """Return the scores of every system by the size of its text, from all tables; a run on a machine counts once."""
    cells = [one.scores[["row", "column", "metric", "seed", "value", "run", "machine"]] for one in measured]
    of_what = [
        (one.systems[row, column], metric)
        for one, some in zip(measured, cells, strict=True)
        for row, column, metric in zip(some["row"], some["column"], some["metric"], strict=True)
    ]
    known = list(dict.fromkeys(of_what))
    numbers = {what: str(place) for place, what in enumerate(known)}
    # Under one name for the same system on the same text, whatever tables call them.
    named = pd.concat(cells).assign(column=[numbers[what] for what in of_what])
    values = values_by_system(named.drop_duplicates(["column", "run", "machine"]))
    found: dict[tuple[System, str], dict[int, list[float]]] = {}
    for (system, pairs), metric in sorted(known, key=lambda what: what[0][1]):
        scores = values[numbers[(system, pairs), metric]]
        # One training of a system without seeds stands for each.
        several = [scores] * ENOUGH_SEEDS if isinstance(scores, float) else scores
        found.setdefault((system, metric), {})[pairs] = several
    return found


def _priced(of: _Measured, curves: _Curves) -> Iterator[tuple[tuple[System, System, int, str], Price]]:
    """Yield the prices of a table, each with what it is of."""
    names, seeded = system_labels(of.table), {column.name: column.seeded for column in of.table.columns}
    for row, column, metric in of.scores[["row", "column", "metric"]].drop_duplicates().itertuples(index=False):
        (system, pairs), (ruler, _) = of.systems[row, column], of.systems.get((row, of.table.baseline), (None, 0))
        curve = curves.get((ruler, metric), {}) if ruler else {}
        scores = curves[system, metric][pairs]
        if ruler is None or system == ruler or len(curve) < 2:
            continue
        spread = spread_of(of.sentences, row, measures_of(of.table)[metric], column, of.table.baseline)
        found = worth(scores, pairs, curve, spread)
        if found.replaced == (math.inf if pairs == max(curve) else -math.inf if pairs == min(curve) else None):
            continue
        what = (ruler.text.name, names[of.table.baseline], names[column], pairs, metric)
        several = [*(curve.values() if seeded[of.table.baseline] else ()), *([scores] if seeded[column] else ())]
        fewest = min(map(len, several), default=1)
        price = Price(*what, fewest, fmean(scores), *found, spread is not None, curve)
        yield (ruler, system, pairs, metric), price


def price_view(found: Sequence[Price]) -> View:
    """Show what techniques are worth, the most valuable first.

    Args:
        found: of one text, ruler, number of pairs and metric; one or more.
    """
    ordered = sorted(found, key=lambda price: (-price.worth, -price.score))
    covers = {True: "seeds and sentences", False: "seeds"}
    lines = [
        (one.technique, one.score, one.said(one.worth), one.interval, covers[one.sentences] if one.interval else "",
         one.seeds)
        for one in ordered
    ]  # fmt: skip
    columns = ["technique", find_metric(ordered[0].metric).label, "further pairs", "95 %", "of new", "seeds"]
    return View(pd.DataFrame(lines, columns=columns), price_figure(ordered), finding=price_finding(ordered))


def price_finding(found: Sequence[Price]) -> str:
    """Say what techniques are worth, given those of one text, ruler, number of pairs and metric."""
    first = found[0]
    said = [f"{one.said(one.worth)} further pairs{f' (95 %: {one.interval})' * bool(one.interval)}" for one in found]
    named = [f"{one.technique} {'is worth ' * (one is first)}{words}" for one, words in zip(found, said, strict=True)]
    return (
        f"Compared with {first.ruler} on {first.pairs:,} pairs ({first.text}), {listed(named, '; ')}, going by "
        f"{find_metric(first.metric).label}."
    )


def price_figure(found: Sequence[Price]) -> go.Figure:
    """Draw how far techniques reach along the sizes of a text, above the ruler: the scores without them.

    A line begins at the number of pairs that a technique has and ends where the system without it has the same score,
    with its 95 % interval; sizes beyond those of the ruler are in shaded zones.

    Args:
        found: of one text, ruler, number of pairs and metric, from top to bottom; one or more.
    """
    first, techniques = found[0], _LINE * len(found)
    inside = techniques + _BETWEEN + _RULER
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[techniques, _RULER], vertical_spacing=_BETWEEN / inside
    )
    for place, price in enumerate(found):
        for trace in _reach(price, place):
            figure.add_trace(trace, row=1, col=1)
    figure.add_trace(_ruler(first), row=2, col=1)
    figure.add_trace(_marks(found), row=2, col=1)
    _with_axes(figure, found)
    figure.update_layout(showlegend=False, margin={"t": _HEAD, "b": _FOOT})
    dressed(figure, f"What is it worth to {first.pairs:,} pairs? In further pairs of text", inside + _HEAD + _FOOT)
    covers = "seeds and sentences" if all(one.sentences for one in found) else "seeds"
    intervals = (
        f"; 95 % intervals over {covers}, those of the ruler over seeds" if any(one.interval for one in found) else ""
    )
    return with_subtitle(figure, f"{first.text}{intervals}")


def _reach(price: Price, place: int) -> list[go.Scatter]:
    """Return the line of a technique, and its end with an interval."""
    colour = COLOURS[0 if price.worth >= 0 else 1]
    at, low, high = (_placed(price, pairs) for pairs in (price.worth, price.low, price.high))
    symbol = {math.inf: "triangle-right", -math.inf: "triangle-left"}.get(price.worth, "circle")
    line = go.Scatter(
        x=[price.pairs, at], y=[place, place], mode="lines", hoverinfo="skip",
        line={"color": see_through(colour, 0.35), "width": 12},
    )  # fmt: skip
    end = go.Scatter(
        x=[at], y=[place], mode="markers+text", name=escape(price.technique), cliponaxis=False,
        text=[f"<b>{price.said(price.worth, sign=True)}</b>"], textposition="top center",
        marker={"color": colour, "size": 10, "symbol": symbol},
        error_x={"type": "data", "symmetric": False, "array": [high - at], "arrayminus": [at - low], "thickness": 1.5,
                 "width": 4},
        hovertemplate=f"{escape(_summary(price))}<extra>{escape(price.technique)}</extra>",
    )  # fmt: skip
    return [line, end]


def _summary(price: Price) -> str:
    label = find_metric(price.metric).label
    interval = f", 95 %: {price.interval}" if price.interval else ""
    return f"{price.said(price.worth, sign=True)} pairs{interval}; {label} {price.score:.2f}, {price.seeds} seeds"


def _placed(price: Price, worth: float) -> float:
    """Return where a number of further pairs is drawn, in a zone if it is beyond the ruler."""
    less, more = _zones(price)
    return min(max(price.pairs + worth, less), more)


def _zones(price: Price) -> tuple[float, float]:
    """Return the middles of the zones below and above the ruler."""
    smallest, largest = min(price.curve), max(price.curve)
    aside = (largest / smallest) ** (_BEYOND / 2)
    return smallest / aside, largest * aside


def _ruler(price: Price) -> go.Scatter:
    means = [interval(scores) for scores in price.curve.values()]
    return go.Scatter(
        x=list(price.curve), y=[one.mean for one in means], mode="lines+markers", name=escape(price.ruler),
        line={"color": FAINT}, marker={"size": 8},
        error_y={"type": "data", "array": [one.margin for one in means], "thickness": 1.5, "width": 4},
        hovertemplate="%{x:,} pairs: %{y:.2f}<extra>" + escape(price.ruler) + "</extra>",
    )  # fmt: skip


def _marks(found: Sequence[Price]) -> go.Scatter:
    """Return the scores of the techniques, where the ruler has them."""
    return go.Scatter(
        x=[_placed(one, one.worth) for one in found], y=[one.score for one in found], mode="markers", name="techniques",
        marker={"color": [COLOURS[0 if one.worth >= 0 else 1] for one in found], "size": 10, "symbol": "diamond"},
        customdata=[escape(one.technique) for one in found], cliponaxis=False,
        hovertemplate="%{customdata}: %{y:.2f}<extra></extra>",
    )  # fmt: skip


def _with_axes(figure: go.Figure, found: Sequence[Price]) -> None:
    """Draw the axes: sizes of the ruler with zones beyond them, a tick per technique, the size that all have."""
    first, (less, more) = found[0], _zones(found[0])
    smallest, largest = min(first.curve), max(first.curve)
    ends = (less**2 / smallest, more**2 / largest)
    for start, end in ((ends[0], smallest), (largest, ends[1])):
        figure.add_vrect(x0=start, x1=end, fillcolor=see_through(FAINT, 0.15), line_width=0, layer="below")
    figure.add_vline(x=first.pairs, line={"color": FAINT, "dash": "dot"})
    sizes = spaced(first.curve)
    figure.update_xaxes(
        type="log", range=[math.log10(end) for end in ends], tickvals=[less, *sizes, more], tickangle=0,
        ticktext=["less", *(f"{size:,}" for size in sizes), "more"],
    )  # fmt: skip
    figure.update_xaxes(title_text=f"training pairs of {escape(first.ruler)}", row=2, col=1)
    figure.update_yaxes(
        tickvals=list(range(len(found))), ticktext=[name_in_lines(one.technique, _LETTERS) for one in found],
        range=[len(found) - 0.5, -0.7], showgrid=False, zeroline=False, row=1, col=1,
    )  # fmt: skip
    label = find_metric(first.metric).label
    figure.update_yaxes(title_text=f"{label} of {escape(first.ruler)}", rangemode="tozero", row=2, col=1)
