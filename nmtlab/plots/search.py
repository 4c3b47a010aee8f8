"""Figures of search over whole texts, and planned lengths: the effect of larger beams (thesis 4.1)."""

import math
from collections.abc import Sequence
from html import escape

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.theme import BELOW, COLOURS, DASHES, FAINT, dressed, styles

_ASIDE = 0.07
"""Distance between the points of two settings at one beam size, of the distance between beam sizes."""

_NEGLIGIBLE = 0.001
_LEGEND_LINE = 28
"""Pixels per long name in a legend."""
_REFERENCE = COLOURS[2]


_CURVES = {
    "bleu": "BLEU (%)", "length_ratio": "length ratio to the reference", "empty": "empty translations (share)",
    "log_prob": "mean log-probability", "errors": "search errors (share)",
}  # fmt: skip


def sweep_figure(outcomes: pd.DataFrame, over: str = "beam_size") -> go.Figure:
    """Draw the results of search over beam size or another search setting: a panel for each measure.

    Args:
        outcomes: rows of `analysis.beams.stored_sweeps`: a line for each `name`, a colour for each `way`, a dash for
            each `run`; no panel for `errors` if there are none.
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
        sizes = _apart(sorted(outcomes["beam_size"].unique()))
        figure.update_xaxes(type="log", tickvals=sizes, ticktext=[f"{size:g}" for size in sizes], tickangle=0)
    foot = 90 + _LEGEND_LINE * outcomes["name"].nunique()
    figure.update_layout(
        legend={**BELOW, "yref": "paper", "y": -0.32 / rows, "yanchor": "top"}, margin_b=foot, margin_t=80
    )
    title = (
        "BLEU, length and search errors by beam size"
        if over == "beam_size"
        else f"BLEU, length and search errors by {over}"
    )
    return dressed(figure, title, 260 * rows + foot)


def _apart(sizes: Sequence[float]) -> list[float]:
    """Return the sizes, of ascending ones, whose labels fit on a logarithmic axis of a narrow panel."""
    kept = list(sizes[:1])
    for size in sizes[1:]:
        kept += [size] if size >= 1.5 * kept[-1] else []
    return kept


def lengths_figure(plan: pd.DataFrame, reference: int | None = None) -> go.Figure:
    """Draw the distribution over planned lengths for one sentence.

    Args:
        plan: rows of `analysis.lengths.length_plan`.
        reference: length of the reference, in tokens.
    """
    figure = go.Figure(
        go.Bar(
            x=plan["length"], y=plan["probability"],
            marker_color=[COLOURS[0] if tried else FAINT for tried in plan["tried"]],
            hovertemplate="%{x} tokens: %{y:.3f}<extra></extra>",
        )
    )  # fmt: skip
    if reference is not None:
        figure.add_vline(x=reference, line={"color": _REFERENCE, "dash": "dash"}, annotation_text="reference")
    likely = plan.loc[plan["probability"] > _NEGLIGIBLE, "length"]
    figure.update_xaxes(title_text="tokens", range=[-0.5, (likely.max() if len(likely) else 10) + 2.5])
    figure.update_yaxes(title_text="p(length | source)", rangemode="tozero")
    return dressed(figure, "Planned length of the translation (blue: lengths decoded)", 380)


_LENGTH_ERRORS = {
    "error": "absolute error (tokens)", "among 5": "in the top 5 (share)", "nll": "loss (nats a sentence)",
}  # fmt: skip


def length_models_figure(lines: pd.DataFrame) -> go.Figure:
    """Draw how well lengths are predicted: a panel for each measure, a line for each system.

    Args:
        lines: rows of `analysis.length_baselines.length_models`.
    """
    figure = make_subplots(rows=1, cols=len(_LENGTH_ERRORS), shared_yaxes=True, horizontal_spacing=0.05)
    systems = [escape(system) for system in lines["system"]]
    for place, (column, title) in enumerate(_LENGTH_ERRORS.items(), start=1):
        figure.add_scatter(
            x=lines[column], y=systems, mode="markers", name=title, showlegend=False,
            marker={"size": 11, "color": COLOURS[: len(systems)]},
            hovertemplate="%{y}: %{x:.3f}<extra></extra>", row=1, col=place,
        )  # fmt: skip
        figure.update_xaxes(title_text=title, rangemode="tozero", col=place)
    figure.update_yaxes(autorange="reversed")
    return dressed(figure, "Predicted lengths of translations, by the length model and by baselines", 300)


def calibration_figure(bins: pd.DataFrame) -> go.Figure:
    """Draw how often the likeliest length is right, by how sure systems are of it: calibration, ideally the diagonal.

    Args:
        bins: `row`, a panel each; `column`, a line each; `probability`, that the system assigns; `right`, the share of
            right lengths; `low` and `high`, its 95 % interval.
    """
    rows = list(dict.fromkeys(bins["row"]))
    figure = make_subplots(rows=1, cols=len(rows), subplot_titles=[escape(row) for row in rows])
    style = styles(bins["column"])
    end = 1.05 * max(bins["probability"].max(), bins["high"].max())
    for place in range(1, len(rows) + 1):
        figure.add_scatter(
            x=[0, end], y=[0, end], mode="lines", name="perfect calibration", legendgroup="diagonal",
            showlegend=place == 1, line={"color": FAINT, "width": 1}, hoverinfo="skip", row=1, col=place,
        )  # fmt: skip
    for (column, row), curve in bins.groupby(["column", "row"], sort=False):
        figure.add_scatter(
            x=curve["probability"], y=curve["right"], mode="lines+markers", name=escape(column), legendgroup=column,
            showlegend=row == rows[0], line=style[column], customdata=curve[["low", "high"]],
            error_y={
                "type": "data", "symmetric": False, "array": curve["high"] - curve["right"],
                "arrayminus": curve["right"] - curve["low"], "thickness": 1.5, "width": 4,
            },
            hovertemplate="probability %{x:.3f}: right %{y:.3f} (%{customdata[0]:.3f} to %{customdata[1]:.3f})"
            f"<extra>{escape(column)}</extra>",
            row=1, col=rows.index(row) + 1,
        )  # fmt: skip
    figure.update_xaxes(title_text="probability of the likeliest length", range=[0, end])
    figure.update_yaxes(range=[0, end])
    figure.update_yaxes(title_text="share that is right", col=1)
    figure.update_layout(legend=BELOW, margin_b=130)
    return dressed(figure, "How often the planned length is right, by how sure the system is", 440)
