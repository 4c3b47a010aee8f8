"""Scores by round of back-translation, in both directions, measured here and published (Hoang et al. 2018)."""

from collections.abc import Sequence
from contextlib import suppress
from html import escape

import pandas as pd
import plotly.graph_objects as go

from nmtlab.errors import NmtlabError
from nmtlab.evaluation.intervals import interval
from nmtlab.figures.theme import BELOW, dressed, styles, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import number
from nmtlab.grids.declared.declaration import Scale
from nmtlab.grids.declared.labels import row_label
from nmtlab.grids.results.collected import printed_number, published
from nmtlab.grids.results.statistics import values_by_system
from nmtlab.thesis.measured import measured_cells
from nmtlab.thesis.tables.rounds import IN_ROUNDS

COLUMNS = ["text", "round", "seeds", "bleu", "margin", "gain"]

_ROUNDS = {column.name: place for place, column in enumerate(IN_ROUNDS.columns)}
"""System -> number of its round; 0 of the pairs alone."""


def rounds_view(scale: Scale = "small") -> View:
    """Show BLEU by round in each direction of each text, measured here and published.

    Args:
        scale: at which the table was run; if it was not, the published values stand alone.
    """
    lines = pd.concat([measured_rounds(scale), published_rounds()], ignore_index=True)
    measured = lines["seeds"].notna().any()
    figure = rounds_figure(lines)
    here = "test text; the rest is published (Hoang et al. 2018)"
    with_subtitle(figure, here if measured else "published (Hoang et al. 2018); not measured here yet")
    return View(lines, figure, finding=rounds_finding(lines))


def measured_rounds(scale: Scale) -> pd.DataFrame:
    """Return BLEU by round as measured at a scale; empty if it was not.

    Returns:
        One line per row and round: `text`, as the row is called; `round`, 0 for the pairs alone; `seeds`; `bleu`, their
        mean, with the `margin` of its 95 % interval (Student's t); `gain` over the round before, if that is known.
    """
    with suppress(NmtlabError):
        cells = measured_cells(IN_ROUNDS.name, scale, "test-bleu").dropna(subset="value")
        found = []
        for row in IN_ROUNDS.rows:
            values = values_by_system(cells[cells["row"] == row.name])
            for system in (name for name in _ROUNDS if name in values):
                scores = values[system]
                several = scores if isinstance(scores, list) else [scores]
                mean = interval(several)
                found.append((row_label(row, scale), _ROUNDS[system], len(several), mean.mean, mean.margin))
        return _with_gains(found)
    return _with_gains([])


def published_rounds() -> pd.DataFrame:
    """Return the published BLEU by round as `measured_rounds` does, without seeds."""
    return _with_gains(
        [
            (f"{line.row}, published", _ROUNDS[line.column], pd.NA, printed_number(line.value), float("nan"))
            for line in published(IN_ROUNDS.name).itertuples()
        ]
    )


def _with_gains(found: Sequence[tuple[object, ...]]) -> pd.DataFrame:
    lines = pd.DataFrame(found, columns=COLUMNS[:-1]).sort_values(["text", "round"], kind="stable")
    before = lines.groupby("text", sort=False)[["round", "bleu"]].shift()
    gains = (lines["bleu"] - before["bleu"]).where(lines["round"] - before["round"] == 1)
    return lines.assign(gain=gains.astype(float)).astype({"seeds": "Int64", "bleu": float, "margin": float})


def rounds_figure(lines: pd.DataFrame) -> go.Figure:
    """Draw BLEU over the number of rounds, a line for each direction of each text.

    Args:
        lines: rows of `measured_rounds` and `published_rounds`.
    """
    figure, style = go.Figure(), styles(lines["text"])
    for text, some in lines.groupby("text", sort=False):
        figure.add_scatter(
            x=some["round"], y=some["bleu"], mode="lines+markers", name=escape(str(text)), line=style[str(text)],
            error_y={"type": "data", "array": some["margin"], "thickness": 1.5, "width": 4},
            hovertemplate="round %{x}: %{y:.1f} BLEU<extra>" + escape(str(text)) + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(
        title_text="round", tickvals=list(_ROUNDS.values()), ticktext=["pairs alone", "1", "2", "3"], range=[-0.3, 3.3]
    )
    figure.update_yaxes(title_text="BLEU", rangemode="tozero")
    figure.update_layout(legend=BELOW, margin_b=150, showlegend=True)
    return dressed(figure, "What each round of back-translation gains", 460)


def rounds_finding(lines: pd.DataFrame) -> str:
    """Say what the first round gains on each text, and what the later ones do together.

    Args:
        lines: rows of `measured_rounds` and `published_rounds`.
    """
    said = []
    for text, some in lines.groupby("text", sort=False):
        gains = some.dropna(subset="gain").set_index("round")["gain"]
        if 1 in gains:
            later = gains[gains.index > 1]
            more = f", the later ones {number(later.sum(), 1, sign=True)}" if len(later) else ""
            said.append(f"{text}: the first round changes BLEU by {number(gains[1], 1, sign=True)}{more}.")
    return " ".join(said)
