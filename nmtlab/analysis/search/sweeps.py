"""How do translations change as the beam grows? What is stored with runs, drawn (thesis 4.1)."""

import math
from html import escape

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.search.beams import MISSED_BY_BEAMS, OUTCOME, text_of, way_of
from nmtlab.figures.theme import BELOW, DASHES, dressed, spaced, styles
from nmtlab.runs.answers import StoredAnswer
from nmtlab.runs.run import Run

_CURVES = {
    "bleu": "BLEU (%)", "length_ratio": "length ratio to the reference", "empty": "empty translations (share)",
    "log_prob": "mean log-probability", "errors": "search errors (share)",
}  # fmt: skip
_LEGEND_LINE = 28
"""Pixels per long name in a legend."""


def stored_sweeps(run: Run) -> pd.DataFrame:
    """Return the curves over beam size that are stored with a run, for any text.

    Returns:
        Rows of `outcome`, with `run`; `text`; `way`, the search and the text; `name`, the run and the way, each with
        two beam sizes or more; `errors`, of `missed_by_beams`, where it was computed.
    """
    outcomes, missed = _stored(run, OUTCOME), _stored(run, MISSED_BY_BEAMS)
    if outcomes.empty:
        return outcomes
    curves = outcomes[outcomes.groupby("name")["beam_size"].transform("nunique") > 1]
    if missed.empty:
        return curves.assign(errors=math.nan).reset_index(drop=True)
    errors = missed.drop_duplicates(["name", "beam_size"], keep="last")[["name", "beam_size", "errors"]]
    return curves.merge(errors, how="left", on=["name", "beam_size"])


def _stored(run: Run, analysis: Analysis) -> pd.DataFrame:
    found = [_named(run, answer) for answer in analysis.answers(run)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def _named(run: Run, answer: StoredAnswer) -> pd.DataFrame:
    text = text_of(answer)
    way = f"{way_of(run, answer)}, {text}"
    return answer.frame().assign(run=run.label, text=text, way=way, name=f"{run.label}, {way}")


def sweep_figure(outcomes: pd.DataFrame, over: str = "beam_size") -> go.Figure:
    """Draw the results of search over beam size or another search setting: a panel for each measure.

    Args:
        outcomes: rows of `stored_sweeps`, of one run or several: a line for each `name`, a colour for each `way`, a
            dash for each `run`; no panel for `errors` if there are none.
        over: `beam_size`, on a logarithmic axis, `alpha` or `gamma`.
    """
    curves = {column: title for column, title in _CURVES.items() if outcomes[column].notna().any()}
    rows = math.ceil(len(curves) / 2)
    figure = make_subplots(
        rows=rows, cols=2, subplot_titles=list(curves.values()), horizontal_spacing=0.1, vertical_spacing=0.27 / rows
    )
    colours, runs = styles(outcomes["way"]), list(dict.fromkeys(outcomes["run"]))
    for place, column in enumerate(curves):
        at = {"row": place // 2 + 1, "col": place % 2 + 1}
        if place >= len(curves) - 2:
            figure.update_xaxes(title_text=over.replace("_", " "), **at)
        for (name, way, run), curve in outcomes.groupby(["name", "way", "run"], sort=False):
            curve = curve.sort_values(over)
            figure.add_scatter(
                x=curve[over], y=curve[column], mode="lines+markers", name=escape(str(name)), legendgroup=str(name),
                showlegend=not place, line={**colours[way], "dash": DASHES[runs.index(run) % len(DASHES)]},
                hovertemplate=f"{over.replace('_', ' ')} %{{x}}: %{{y:.3f}}<extra>{escape(str(name))}</extra>", **at,
            )  # fmt: skip
    if over == "beam_size":
        sizes = spaced(outcomes["beam_size"])
        figure.update_xaxes(type="log", tickvals=sizes, ticktext=[f"{size:g}" for size in sizes], tickangle=0)
    foot = 90 + _LEGEND_LINE * outcomes["name"].nunique()
    figure.update_layout(
        legend={**BELOW, "yref": "paper", "y": -0.32 / rows, "yanchor": "top"}, margin_b=foot, margin_t=80
    )
    title = f"BLEU, length and search errors by {over.replace('_', ' ')}"
    return dressed(figure, title, 260 * rows + foot)


def _by_beam(outcomes: pd.DataFrame) -> pd.DataFrame:
    ordered = outcomes.sort_values(["name", "beam_size"])
    shown = ordered[["name", "beam_size", "bleu", "length_ratio", "empty", "log_prob", "errors"]]
    return shown.dropna(axis=1, how="all")


SWEEPS = Analysis(
    "How do translations change as the beam grows?",
    stored_sweeps,
    source="thesis 4.1",
    table=_by_beam,
    figure=sweep_figure,
    absent=("no beam sweep is stored with them", "make one with 'nmtlab beam-sweep'"),
)
