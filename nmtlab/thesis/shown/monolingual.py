"""What text that nobody translated adds to a few pairs: scores of table `monolingual`, and texts behind them."""

from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.metrics import find_metric
from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed, name_in_lines, see_through, styles, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import number
from nmtlab.grids.declared.declaration import Row, Scale, Setup
from nmtlab.grids.declared.labels import row_label
from nmtlab.grids.results.statistics import ENOUGH_SEEDS, values_by_system
from nmtlab.grids.results.summary import summary
from nmtlab.thesis.measured import described_cells, measured
from nmtlab.thesis.shown.prices import nested
from nmtlab.thesis.tables.monolingual import (
    BACK,
    BACK_EQUAL,
    MONOLINGUAL,
    PAIRS,
    REAL,
    REVERSES,
    SAMPLED,
    SYSTEMS,
)

COLUMNS = ["row", "text", "pairs", "system", "seeds", "score", "margin", "gain", "low", "high", "share"]
QUALITY = ["text", "system", "seeds", "back_score", "gain", "low", "high"]

_OF_TEXT = ("text", "pairs")
_BACK_TRANSLATED = (BACK_EQUAL, BACK, SAMPLED)
_MADE = tuple(name for name in SYSTEMS if name != REAL)
_HEAD, _PANEL, _FOOT = 65, 250, 190


def monolingual_view(metric: str = "test-bleu", scale: Scale = "small") -> View:
    """Show the score of each system beside that of the upper bound, for each number of pairs.

    Args:
        metric: key of one of the table's scores.
        scale: at which the table was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    cells, lines = _measured(metric, scale)
    label = find_metric(metric).label
    shown = lines.drop(columns="row")
    figure = with_subtitle(gains_figure(lines, label), f"{described_cells(cells)}, 95 % intervals over seeds")
    return View(shown, figure, finding=gains_finding(lines, label))


def _measured(metric: str, scale: Scale) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the measured cells of a score, and what they say is gained."""
    results = measured(MONOLINGUAL.name, scale)
    cells = results.of_metric(metric).dropna(subset="value")
    return cells, gains(cells, results.sentences, scale)


def gains(cells: pd.DataFrame, sentences: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return what each system scores, and what it gains over the pairs alone.

    Args:
        cells: `cells` of `Results`, of one score.
        sentences: `sentences` of the same.
        scale: of the cells.

    Returns:
        One line per row with monolingual text and system with a score, if the pairs alone have one: `row`; `text`;
        `pairs`, their number; `system`; `seeds`; `score`, their mean, with the `margin` of its 95 % interval
        (Student's t); `gain` over the pairs alone, with `low` and `high` of its 95 % interval, as in the table, NaN
        for a single seed; `share`, that of the gain of as many real pairs, in percent, NaN if they may gain nothing.
    """
    texts = {row.name: text for row in MONOLINGUAL.rows if (text := _text(row, scale))}
    found = summary(cells, MONOLINGUAL, sentences).rename(columns={"column": "system", "mean": "score"})
    found = found[found["row"].isin([row for row, some in found.groupby("row") if PAIRS.name in set(some["system"])])]
    lines = found[found["row"].isin(list(texts))].rename(columns={"difference": "gain"})
    lines = lines.assign(**{name: [texts[row][place] for row in lines["row"]] for place, name in enumerate(_OF_TEXT)})
    bounds = lines[(lines["system"] == REAL) & (lines["low"] > 0)].set_index("row")["gain"]
    shares = (100 * lines["gain"] / lines["row"].map(bounds)).where(lines["system"] != BACK_EQUAL)
    return lines.assign(share=shares)[COLUMNS].reset_index(drop=True)


def gains_figure(lines: pd.DataFrame, label: str) -> go.Figure:
    """Draw the score of each system, a panel for each text and number of pairs, with the upper bound as a line.

    Args:
        lines: rows of `gains`.
        label: of the score.
    """
    texts, sizes = list(dict.fromkeys(lines["text"])), sorted(set(lines["pairs"]))
    drawn = {*zip(lines["text"], lines["pairs"], strict=True)}
    titles = [
        f"{escape(text)}, {size:,} pairs" if (text, size) in drawn else "" for text in texts for size in sizes
    ]  # fmt: skip
    figure = make_subplots(
        len(texts), len(sizes), shared_xaxes=True, shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.06,
        vertical_spacing=0.35 / (2 * len(texts)),
    )  # fmt: skip
    for panel, ((text, size), some) in enumerate(lines.groupby(["text", "pairs"], sort=False)):
        place = {"row": texts.index(text) + 1, "col": sizes.index(size) + 1}
        own, bound = some[some["system"] != REAL], some[some["system"] == REAL]
        figure.add_scatter(
            x=[name_in_lines(name, 16) for name in own["system"]], y=own["score"], mode="markers", name="mean of seeds",
            marker={"color": COLOURS[0], "size": 9}, showlegend=panel == 0,
            error_y={"type": "data", "array": own["margin"], "thickness": 1.5, "width": 4},
            customdata=[f" ({_signed(gain)})" if gain == gain else "" for gain in own["gain"]],
            hovertemplate="%{y:.1f}%{customdata}<extra>%{x}</extra>", **place,
        )  # fmt: skip
        for score, margin in bound[["score", "margin"]].itertuples(index=False):
            line = {"color": COLOURS[1], "dash": "dash"}
            figure.add_hline(y=score, line=line, name=f"{REAL} (upper bound)", showlegend=panel == 0, **place)
            if margin > 0:
                shade = see_through(COLOURS[1], 0.15)
                figure.add_hrect(y0=score - margin, y1=score + margin, fillcolor=shade, line_width=0, **place)
    figure.update_xaxes(tickangle=-45, categoryorder="array", categoryarray=_categories())
    figure.update_yaxes(title_text=escape(label), col=1)
    # Lines and bands are in no range that Plotly.js finds.
    for row, (_, some) in enumerate(lines.groupby("text", sort=False), start=1):
        figure.update_yaxes(range=[0, 1.05 * (some["score"] + some["margin"].fillna(0)).max()], row=row)
    figure.update_layout(legend=BELOW, margin={"t": _HEAD, "b": _FOOT})
    height = _HEAD + max(1, len(texts)) * _PANEL + _FOOT
    return dressed(figure, "What text that nobody translated adds to a few pairs", height)


def _categories() -> list[str]:
    return [name_in_lines(name, 16) for name in (PAIRS.name, *_MADE)]


def gains_finding(lines: pd.DataFrame, label: str) -> str:
    """Say which kind of made text gains most on each text, and how much of what real pairs gain.

    Args:
        lines: rows of `gains`.
        label: of the score.
    """
    said = []
    for (text, pairs), some in lines.groupby(["text", "pairs"], sort=False):
        made = some[some["system"].isin(_MADE)]
        if made.empty:
            continue
        best = made.loc[made["gain"].idxmax()]
        means = "" if np.isnan(best["low"]) else f" (95 %: {_signed(best['low'])} to {_signed(best['high'])})"
        nothing = "no made text gains; at best, " if best["gain"] <= 0 else ""
        gains_most = f"{nothing}{best['system']} changes {label} by {_signed(best['gain'])}{means}"
        of_real = f", {number(best['share'], 0)} % of what as many real pairs gain" if best["share"] > 0 else ""
        few = "; too few seeds to decide" if some["seeds"].min() < ENOUGH_SEEDS else ""
        said.append(f"{text}, {pairs:,} pairs: {gains_most}{of_real}{few}.")
    return " ".join(said)


def quality_view(metric: str = "test-bleu", scale: Scale = "small") -> View:
    """Show what back-translations gain over how well the run translates that made them.

    Args:
        metric: key of one of the table's scores.
        scale: at which the table was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    cells, found = _measured(metric, scale)
    lines = quality(cells, found, scale)
    return View(lines, with_subtitle(quality_figure(lines, find_metric(metric).label), described_cells(cells)))


def quality(cells: pd.DataFrame, found: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return what back-translations gain, and the score of the runs that made them in their direction.

    Args:
        cells: `cells` of `Results`, of one score.
        found: their `gains`.
        scale: of the cells.

    Returns:
        One line per row and system with back-translations, if both scores are known: `text`, as the row is called;
        `system`; `seeds`; `back_score`, the mean of the runs that translate; `gain` with `low` and `high` as of
        `gains`.
    """
    labels = {row.name: row_label(row, scale) for row in MONOLINGUAL.rows}
    lines = []
    for line in found.itertuples():
        back = values_by_system(cells[cells["row"] == REVERSES[line.row]])
        if line.system in _BACK_TRANSLATED and PAIRS.name in back:
            score = np.mean(back[PAIRS.name])
            lines.append((labels[line.row], line.system, line.seeds, score, line.gain, line.low, line.high))
    return pd.DataFrame(lines, columns=QUALITY)


def quality_figure(lines: pd.DataFrame, label: str) -> go.Figure:
    """Draw gains over the score of the run that back-translates, a point for each text and system.

    Args:
        lines: rows of `quality`.
        label: of the score.
    """
    figure, style = go.Figure(), styles(_BACK_TRANSLATED)
    for name, some in lines.groupby("system", sort=False):
        figure.add_scatter(
            x=some["back_score"], y=some["gain"], mode="markers", name=escape(str(name)), customdata=some["text"],
            marker={"color": style[str(name)]["color"], "size": 9},
            error_y={
                "type": "data", "symmetric": False, "array": some["high"] - some["gain"],
                "arrayminus": some["gain"] - some["low"], "thickness": 1.5, "width": 4,
            },
            hovertemplate="%{customdata}: %{x:.1f} back, %{y:+.1f}<extra>" + escape(str(name)) + "</extra>",
        )  # fmt: skip
    figure.add_hline(y=0, line={"color": FAINT, "dash": "dot"})
    figure.update_xaxes(title_text=f"{escape(label)} of the run that back-translates", rangemode="tozero")
    figure.update_yaxes(title_text=f"{escape(label)} above the pairs alone")
    figure.update_layout(legend=BELOW, margin_b=110, showlegend=True)
    return dressed(figure, "Better back-translations, larger gains?", 400)


def _text(row: Row, scale: Scale) -> tuple[str, int] | None:
    """Return text and number of pairs of a row with monolingual text; None if it is not run at the scale."""
    setup = row.at[scale]
    known = nested(setup.corpus) if isinstance(setup, Setup) and setup.texts else None
    return (known[0].name, known[1]) if known else None


def _signed(value: float) -> str:
    return number(value, 1, sign=True)
