"""Scores of children alone and with a parent, over the size of their text or vocabulary (thesis 3.1, Figure 3.1)."""

import math
from collections.abc import Mapping
from html import escape

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.metrics import find_metric
from nmtlab.figures.theme import BELOW, dressed, log_axis, spaced, styles, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import listed, number
from nmtlab.grids.declared.corpora import FirstPairs
from nmtlab.grids.declared.declaration import Scale, Setup, Table
from nmtlab.grids.declared.labels import labelled, text_label
from nmtlab.grids.declared.whole_corpora import (
    ConcatenatedCorpus,
    MultiParallelCorpus,
    SyntheticCorpus,
    SyntheticFamily,
    ToyCorpus,
)
from nmtlab.grids.results.summary import summary
from nmtlab.grids.running.cells import cells_of
from nmtlab.thesis.measured import described_cells, measured_cells
from nmtlab.thesis.tables.transfer import CHILD_SIZE, FIGURE_3_1

_MEASURED = ["metric", "seeds", "mean", "margin"]
_HEAD, _BETWEEN, _FOOT = 65, 100, 120
"""Pixels above the panels, between them, and below them, for axis and legend."""

_MAX_ACROSS = 2
_PANEL = 290
"""Pixels of a panel with curves."""

_ASIDE = 1.03
"""Factor between the points of two systems of the same size, so that their intervals show."""


def child_size_view(scale: Scale = "small", metric: str = "test-bleu") -> View:
    """Show the scores of children alone and with a parent, by the size of their text (thesis 3.1).

    Its table has means over the seeds.

    Args:
        scale: at which `child-size` was run.
        metric: key of one of its metrics.

    Raises:
        NmtlabError: it was not measured at this scale or with this metric.
    """
    cells = measured_cells(CHILD_SIZE.name, scale, metric)
    curves = child_size_curves(cells, scale)
    figure = with_subtitle(child_size_figure(curves), described_cells(cells))
    finding = curves_finding(curves, "child_pairs", "training pairs")
    return View(_means(curves, "child_pairs"), figure, finding=finding)


def vocabulary_view(scale: Scale = "small") -> View:
    """Show dev BLEU of a child alone and with a parent, by the size of the vocabulary (Figure 3.1).

    Its table has means over the seeds.

    Args:
        scale: at which `figure-3.1` was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    cells = measured_cells(FIGURE_3_1.name, scale)
    curves = vocabulary_curves(cells, scale)
    figure = with_subtitle(vocabulary_figure(curves), described_cells(cells, "dev text"))
    return View(_means(curves, "types"), figure, finding=curves_finding(curves, "types", "types"))


def child_sizes(scale: Scale) -> Mapping[str, tuple[str, int]]:
    """Return text and training pairs of each row of `child-size`, such as `("gl-en, LibreOffice", 500)`.

    Rows whose number of training pairs is not declared are left out: those with all pairs of their text.
    """
    sizes = {}
    declared = ConcatenatedCorpus | MultiParallelCorpus | SyntheticCorpus | SyntheticFamily | ToyCorpus | FirstPairs
    for row in CHILD_SIZE.rows:
        setup = row.at[scale]
        if isinstance(setup, Setup) and isinstance(setup.corpus, declared) and setup.corpus.train:
            sizes[row.name] = (text_label(setup.corpus), setup.corpus.train)
    return sizes


def with_child_sizes(lines: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return the lines of `child-size` that are about children of declared size, with columns `pair` and `child_pairs`.

    Args:
        lines: with a column `row`, such as `cells` of `Results`.
        scale: the scale at which it was run.
    """
    sizes = child_sizes(scale)
    known = lines[lines["row"].isin(list(sizes))]
    pairs, numbers = ([sizes[row][place] for row in known["row"]] for place in (0, 1))
    return known.assign(pair=pairs, child_pairs=numbers).astype({"child_pairs": int})


def child_size_curves(results: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return the scores of children by the size of their text.

    Args:
        results: `cells` of `Results`, of `child-size`.
        scale: the scale at which it was run.

    Returns:
        One line per metric, system, language pair and size with a value, systems in the table's order and sizes
        ascending: `pair`, `system`, `child_pairs`; `metric`; `seeds`, how many have a value; their `mean` and its
        `margin` (95 %, Student's t).
    """
    lines = with_child_sizes(summary(results, CHILD_SIZE), scale).rename(columns={"column": "system"})
    return _ascending(lines, "child_pairs", CHILD_SIZE)


def vocabulary_curves(results: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return the scores of children by the size of their vocabulary (Figure 3.1).

    Args:
        results: `cells` of `Results`, of `figure-3.1`.
        scale: the scale at which it was run.

    Returns:
        One line per metric, system, row of the table and size with a value, in the order of `child_size_curves`:
        `pair`, the row; `system`, with the name that it has at the vocabulary size of the baseline; `types`, in the
        vocabulary; `metric`, `seeds`, `mean` and `margin` as there.
    """
    types = {(cell.row, cell.column): cell.recipe.text.vocabulary_size for cell in cells_of(FIGURE_3_1, scale)}
    lines = summary(results, FIGURE_3_1)
    lines = lines[[cell in types for cell in zip(lines["row"], lines["column"], strict=True)]]
    names = [_name_among(row, column, types) for row, column in zip(lines["row"], lines["column"], strict=True)]
    sizes = [types[cell] for cell in zip(lines["row"], lines["column"], strict=True)]
    pairs = labelled(lines[["row"]], FIGURE_3_1, scale)["row"]
    return _ascending(lines.assign(pair=pairs, system=names, types=sizes), "types", FIGURE_3_1)


def child_size_figure(curves: pd.DataFrame) -> go.Figure:
    """Draw the scores of children over the size of their text, a panel per language pair: means, 95 % intervals.

    Args:
        curves: rows of `child_size_curves`, of one metric.
    """
    title = "of children alone and with a parent, by the size of their text"
    return _curves_figure(curves, "child_pairs", "training pairs of the child", title)


def vocabulary_figure(curves: pd.DataFrame) -> go.Figure:
    """Draw the scores of children over the size of their vocabulary, as `child_size_figure` (thesis Figure 3.1).

    Args:
        curves: rows of `vocabulary_curves`, of one metric.
    """
    title = "of children alone and with a parent, by the size of the vocabulary"
    return _curves_figure(curves, "types", "types in the vocabulary", title)


def curves_finding(curves: pd.DataFrame, over: str, unit: str) -> str:
    """Say what the systems score at the smallest and the largest size, for the first pair of languages.

    Args:
        curves: rows of `child_size_curves` or `vocabulary_curves`, of one metric.
        over: column of the size.
        unit: that it is in.
    """
    if curves.empty:
        return ""
    pair = curves["pair"].iloc[0]
    by_size = curves[curves["pair"] == pair].pivot(index=over, columns="system", values="mean").sort_index()
    ends = by_size.iloc[[0, -1] if len(by_size) > 1 else [0]]
    said = [
        f"{system} {' to '.join(number(score, 1) for score in ends[system].dropna())}"
        for system in dict.fromkeys(curves["system"])
        if system in ends and ends[system].notna().any()
    ]
    sizes = " to ".join(f"{size:,}" for size in ends.index)
    return f"{metric_of(curves)[:1].upper()}{metric_of(curves)[1:]} with {sizes} {unit} ({pair}): {listed(said)}."


def _means(curves: pd.DataFrame, size: str) -> pd.DataFrame:
    """Return the means of some curves, a column per system."""
    wide = curves.pivot(index=["pair", size], columns="system", values="mean")
    return wide[list(dict.fromkeys(curves["system"]))].reset_index().rename_axis(columns=None)


def _name_among(row: str, column: str, types: Mapping[tuple[str, str], int]) -> str:
    """Return the name of the system that has the same parent, and the baseline's vocabulary size."""
    parents = {system.name: system.parent for system in FIGURE_3_1.columns}
    size = types.get((row, FIGURE_3_1.baseline))
    alike = (name for name in parents if parents[name] == parents[column] and types.get((row, name)) == size)
    return next(alike, column)


def _ascending(lines: pd.DataFrame, size: str, table: Table) -> pd.DataFrame:
    """Return the lines with a value by metric, system, pair and size."""
    whole = lines.loc[lines["seeds"] > 0, ["pair", "system", size, *_MEASURED]]
    orders = {
        "metric": list(table.metrics),
        "system": [system.name for system in table.columns],
        "pair": list(dict.fromkeys(whole["pair"])),
    }
    places = [whole[name].map(order.index) for name, order in orders.items()]
    order = pd.concat([*places, whole[size]], axis=1).sort_values([*orders, size]).index
    return whole.loc[order].reset_index(drop=True)


def _curves_figure(curves: pd.DataFrame, over: str, axis: str, title: str) -> go.Figure:
    """Draw `mean` and `margin` over a size: a panel per `pair`, a line per `system`."""
    metric = metric_of(curves)
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
    ticks = spaced(curves[over])
    at_sizes = {"tickvals": ticks, "ticktext": [f"{size:,}" for size in ticks]}
    figure.update_xaxes(title_text=axis, **log_axis(curves[over]) | at_sizes)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text=f"{metric} (%), mean and 95 %", col=1)
    figure.update_layout(legend=BELOW, margin={"t": _HEAD, "b": _FOOT})
    return dressed(figure, escape(f"{metric[:1].upper()}{metric[1:]} {title}"), inside + _HEAD + _FOOT)


def metric_of(lines: pd.DataFrame) -> str:
    """Return the label of the metric that lines are of."""
    return find_metric(lines["metric"].iloc[0]).label if len(lines) else "BLEU"
