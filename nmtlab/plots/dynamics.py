"""Training curves: dev scores and gradient norms (thesis Figures 3.4 and 3.5)."""

from typing import Literal

import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.theme import dressed, log_axis, name_in_lines, plain, see_through, styles

_MAX_POINTS = 2000
_DASHES = ("dot", "dash", "dashdot", "longdash")


def dev_figure(
    curves: pd.DataFrame, score: Literal["bleu", "perplexity"] = "bleu", over: Literal["step", "minutes"] = "step"
) -> go.Figure:
    """Draw a dev score over the course of training, the best checkpoint marked with a star.

    Args:
        curves: rows of `dynamics.dev_curve`, of one run or several.
        score: what to draw; perplexity on a logarithmic axis.
        over: updates or minutes.
    """
    figure, style = go.Figure(), styles(curves["run"])
    for run, curve in curves.groupby("run", sort=False):
        figure.add_scatter(
            x=curve[over], y=curve[score], mode="lines+markers", name=name_in_lines(run), line=style[run],
            marker={"symbol": ["star" if best else "circle" for best in curve["best"]],
                    "size": [13 if best else 5 for best in curve["best"]]},
            customdata=curve[["step", "minutes"]],
            hovertemplate="%{y:.2f} after %{customdata[0]:,} updates, %{customdata[1]:.1f} min<extra>"
            + name_in_lines(run) + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="updates" if over == "step" else "training time (minutes)", rangemode="tozero")
    if score == "bleu":
        figure.update_yaxes(title_text="dev BLEU (%)", rangemode="tozero")
    else:
        figure.update_yaxes(title_text="dev perplexity (per token)", **log_axis(curves[score]))
    return dressed(figure, f"Dev {'BLEU' if score == 'bleu' else 'perplexity'} during training")


def loss_figure(curves: pd.DataFrame) -> go.Figure:
    """Draw training losses, and as dashed lines below them the terms that add up to them, if there are several.

    Args:
        curves: rows of `dynamics.loss_curve`, of one run or several.
    """
    figure, style = go.Figure(), styles(curves["run"])
    curves = curves[(curves["term"] == "loss") | (curves.groupby("run")["term"].transform("nunique") > 2)]
    dashes = dict(zip((term for term in curves["term"].unique() if term != "loss"), _DASHES, strict=False))
    for (run, term), curve in curves.groupby(["run", "term"], sort=False):
        name, line = name_in_lines(run), style[run]
        of_sum = term == "loss"
        some = curve.iloc[:: max(1, -(-len(curve) // _MAX_POINTS))]
        figure.add_scatter(
            x=some["step"], y=some["value"], mode="lines", name=name if of_sum else f"{name}: {_words(term)}",
            line=line if of_sum else {"color": line["color"], "width": 1.5, "dash": dashes.get(term, "dot")},
            hovertemplate=f"{_words(term)} %{{y:.3f}} at update %{{x:,}}<extra>{name}</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="updates")
    figure.update_yaxes(title_text="loss (nats per target token)", rangemode="tozero")
    return dressed(figure, "Training loss and the terms that add up to it")


def _words(term: str) -> str:
    return plain(term.replace("_", " "))


def gradient_figure(curves: pd.DataFrame) -> go.Figure:
    """Draw the gradient norm at every update, its running median as a line, spikes as crosses.

    For a long run, every n-th update is drawn, at most 2,000 in all; every spike is drawn.

    Args:
        curves: rows of `dynamics.gradient_curve`, of one run or several.
    """
    figure, style = go.Figure(), styles(curves["run"])
    for run, curve in curves.groupby("run", sort=False):
        name, colour, spikes = name_in_lines(run), style[run]["color"], curve[curve["spike"]]
        some = curve.iloc[:: max(1, -(-len(curve) // _MAX_POINTS))]
        shared = {"legendgroup": name, "showlegend": False}
        figure.add_scatter(
            x=some["step"], y=some["norm"], mode="lines", line={"color": see_through(colour, 0.25), "width": 1},
            hoverinfo="skip", **shared,
        )  # fmt: skip
        figure.add_scatter(
            x=spikes["step"], y=spikes["norm"], mode="markers", marker={"symbol": "x", "size": 6, "color": colour},
            hovertemplate="spike: %{y:.2f} at update %{x:,}<extra>" + name + "</extra>", **shared,
        )  # fmt: skip
        figure.add_scatter(
            x=some["step"], y=some["median"], mode="lines", line=style[run], legendgroup=name,
            name=f"{name} ({len(spikes):,} spikes)", hovertemplate="median %{y:.2f}<extra>" + name + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="updates")
    figure.update_yaxes(title_text="gradient norm before clipping", **log_axis(curves["norm"]))
    return dressed(figure, "Global gradient norm during training: each update (faint), running median, spikes (×)")
