"""How did training go: scores on the development text, and the gradient at every update? (thesis Figures 3.4, 3.5)"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

import pandas as pd
import plotly.graph_objects as go
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import NEURAL
from nmtlab.figures.theme import SOLID, dressed, log_axis, name_in_lines, plain, see_through, styles
from nmtlab.figures.words import listed, number
from nmtlab.models.build import model_for
from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run

WINDOW = 101
"""Updates in the window that a gradient norm is compared with, centred on its own update."""

SPIKE = 3.0
"""A gradient norm of more than so many times the median around it is a spike."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""From usual to rare gradient norms."""

_MAX_POINTS = 2000
_DASHES = ("dot", "dash", "dashdot", "longdash")


def dev_curve(run: Run) -> pd.DataFrame:
    """Return a run's evaluations on dev, an empty table if there are none.

    Returns:
        A row for each: `run`; `step`, the updates before it; `minutes` of training; `bleu` and `perplexity`; `best`,
        whether this is the best checkpoint.
    """
    logged = run.log.metrics("validation").reindex(columns=["step", "seconds", "bleu", "perplexity"])
    curve = logged.assign(
        run=run.label, minutes=logged["seconds"] / 60, best=logged["step"] == run.checkpoints.best_step
    )
    return curve[["run", "step", "minutes", "bleu", "perplexity", "best"]]


def _best(curves: pd.DataFrame, score: Literal["bleu", "perplexity"] = "bleu") -> pd.DataFrame:
    return curves.loc[curves["best"].astype(bool), ["run", "step", score]]


def dev_figure(
    curves: pd.DataFrame, score: Literal["bleu", "perplexity"] = "bleu", over: Literal["step", "minutes"] = "step"
) -> go.Figure:
    """Draw a dev score over the course of training, the best checkpoint marked with a star.

    Args:
        curves: rows of `dev_curve`, of one run or several.
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


def _dev_said(curves: pd.DataFrame) -> str:
    """Say how good each run became, and which were still rising at the end."""
    if curves.empty:
        return ""
    best = curves.groupby("run")["bleu"].max().sort_values(ascending=False, kind="stable")
    rising = listed([run for run in best[best > 0].index if is_rising(curves.loc[curves["run"] == run, "bleu"])])
    scores = listed([f"{run} {number(score, 1)}" for run, score in best.items()])
    return f"Best dev BLEU: {scores}.{f' Still rising at the end: {rising}.' if rising else ''}"


def is_rising(scores: pd.Series) -> bool:
    """Return whether the last of several evaluations of a run is its best."""
    return len(scores) > 1 and bool(scores.iloc[-1] == scores.max())


DEV_CURVE = Analysis(
    "How do scores on the development text change during training?",
    dev_curve,
    source="thesis Figure 3.4",
    table=_best,
    figure=dev_figure,
    finding=_dev_said,
)


def loss_curve(run: Run) -> pd.DataFrame:
    """Return a run's training loss and the terms that add up to it, per target token.

    Returns:
        A row for each logged update and term: `run`; `step`; `term`, "loss" for their sum (all that a run of version
        0.1 has); `value`.
    """
    rows = [
        (run.label, int(step), term, value)
        for step, loss, terms in _logged_losses(run)
        for term, value in {"loss": loss, **terms}.items()
    ]
    return pd.DataFrame(rows, columns=["run", "step", "term", "value"])


def _logged_losses(run: Run) -> Iterator[tuple[int, float, dict[str, float]]]:
    logged = run.log.metrics("train").reindex(columns=["step", "loss", "terms"])
    for step, loss, terms in logged.itertuples(index=False, name=None):
        yield step, loss, terms if isinstance(terms, dict) else {}


def _last_losses(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the last logged value of each term, a column for each."""
    last = curves[curves["step"] == curves.groupby("run")["step"].transform("max")]
    wide = last.pivot(index=["run", "step"], columns="term", values="value").reset_index().rename_axis(columns=None)
    return wide[["run", "step", *last["term"].unique()]]


def loss_figure(curves: pd.DataFrame) -> go.Figure:
    """Draw training losses, and as dashed lines below them the terms that add up to them, if there are several.

    Args:
        curves: rows of `loss_curve`, of one run or several.
    """
    figure, style = go.Figure(), styles(curves["run"], SOLID)
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


def _loss_said(curves: pd.DataFrame) -> str:
    """Say what the loss of each run is at the end, the lowest first."""
    if curves.empty:
        return ""
    last = curves[curves["term"] == "loss"].groupby("run")["value"].last().sort_values(kind="stable")
    return f"Loss per target token at the end: {listed([f'{run} {number(loss)}' for run, loss in last.items()])}."


LOSS_CURVE = Analysis(
    "How do the training loss and its terms fall?",
    loss_curve,
    needs=(NEURAL,),
    table=_last_losses,
    figure=loss_figure,
    finding=_loss_said,
)


def gradient_curve(run: Run, window: int = WINDOW, spike: float = SPIKE) -> pd.DataFrame:
    """Return the global norm of the gradient before clipping, at every update.

    Args:
        run: a neural one; others have no rows.
        window: number of updates whose median is taken, at least 1; fewer at both ends.
        spike: a norm of more than so many times that median is a spike, above 1.

    Returns:
        A row for each update: `run`, `step`, `norm`; `median` of the window around it; `spike`, whether it is one; a
        norm that is not finite always is.
    """
    logged = run.log.gradient_norms()
    finite = logged["norm"].where(logged["norm"].abs() < float("inf"))
    median = finite.rolling(window, center=True, min_periods=1).median()
    curve = logged.assign(run=run.label, median=median, spike=~(logged["norm"] <= spike * median))
    return curve[["run", "step", "norm", "median", "spike"]]


def spike_counts(curve: pd.DataFrame, parts: int = 4) -> pd.DataFrame:
    """Count the spikes in equal parts of each run.

    Args:
        curve: rows of `gradient_curve`, of one run or several.
        parts: number of parts that the updates of each run are divided into, at least 1.

    Returns:
        A row for each run and part: `run`; `part`, from 1; `first_step`, `last_step`; `updates`; `median`, of the norm;
        `spikes`, and `per_thousand` updates.
    """
    rows = []
    for name, updates in curve.groupby("run", sort=False):
        part_of = pd.Series(range(len(updates)), index=updates.index) * parts // len(updates) + 1
        for part, some in updates.groupby(part_of):
            first, last, spikes = some["step"].iloc[0], some["step"].iloc[-1], int(some["spike"].sum())
            rate = 1000 * spikes / len(some)
            rows.append((name, part, first, last, len(some), some["norm"].median(), spikes, rate))
    columns = ["run", "part", "first_step", "last_step", "updates", "median", "spikes", "per_thousand"]
    return pd.DataFrame(rows, columns=columns)


def _spikes(curves: pd.DataFrame) -> pd.DataFrame:
    return spike_counts(curves)[["run", "part", "updates", "median", "spikes"]]


def gradient_figure(curves: pd.DataFrame) -> go.Figure:
    """Draw the gradient norm at every update, its running median as a line, spikes as crosses.

    For a long run, every n-th update is drawn, at most 2,000 in all; every spike is drawn.

    Args:
        curves: rows of `gradient_curve`, of one run or several.
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
    return dressed(figure, "Global gradient norm during training, running median, spikes (×)")


def _gradient_said(curves: pd.DataFrame) -> str:
    """Say how large the gradient of each run is in the last quarter, and how often it spiked."""
    if curves.empty:
        return ""
    parts = [
        f"{run} {number(rows['median'].iloc[-1])}, {number(rows['spikes'].sum(), 0)} spikes in all"
        for run, rows in spike_counts(curves).groupby("run", sort=False)
    ]
    return f"Median gradient norm in the last quarter: {listed(parts, '; ')}."


def _noise(curve: pd.DataFrame) -> float:
    """Return the 99th percentile of the norm divided by its running median, over the last quarter of the updates."""
    late = curve.iloc[-len(curve) // 4 :]
    return (late["norm"] / late["median"]).quantile(0.99)


GRADIENT_CURVE = Analysis(
    "How large is the gradient at every update, and how often does it spike?",
    gradient_curve,
    source="thesis Figure 3.5",
    needs=(NEURAL,),
    table=_spikes,
    figure=gradient_figure,
    finding=_gradient_said,
    metrics=(
        Metric("gradient-noise", "gradient norm, 99th percentile / median", better="lower", split="", read=_noise),
    ),
)


def gradient_quantiles(run: Run, first: int = 1, quantiles: Sequence[float] = QUANTILES) -> pd.DataFrame:
    """Return quantiles of the gradient's size that are comparable across systems of different sizes.

    LayerNorm has more parameters than ScaleNorm, and the gradient norm grows with their number (thesis 3.3.4.1); the
    root mean square of its components does not.

    Args:
        run: a neural one; others have no rows.
        first: update from which norms count, to exclude the warm-up.
        quantiles: each from 0 to 1.

    Returns:
        A row for each quantile: `run`, `parameters`, `quantile`; `norm`; `component`, the norm divided by the root of
        the number of parameters. A norm that is not finite counts as the largest.
    """
    logged = run.log.gradient_norms()
    norms = logged.loc[logged["step"] >= first, "norm"].fillna(math.inf)
    if norms.empty:
        return pd.DataFrame(columns=["run", "parameters", "quantile", "norm", "component"])
    found = norms.quantile(list(quantiles), interpolation="lower")  # no interpolation between a number and infinity
    parameters = _counted(run.folder, run.recipe)
    return pd.DataFrame(
        {
            "run": run.label,
            "parameters": parameters,
            "quantile": found.index,
            "norm": found.to_numpy(),
            "component": found.to_numpy() / math.sqrt(parameters),
        }
    )


@lru_cache(maxsize=128)  # building a deep model takes a tenth of a second, and pages call this repeatedly
def _counted(folder: Path, recipe: Recipe) -> int:
    """Return the number of trained parameters."""
    run = Run(folder)
    with torch.device("meta"):
        model = model_for(recipe, run.pipeline, run.model_table)
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def gradient_sizes(run: Run) -> pd.DataFrame:
    """Return the median of `gradient_quantiles` after warm-up, in one row."""
    training = run.recipe.training
    warm_up = training.warmup_updates if training.schedule in ("inverse-sqrt", "validation-decay") else 0
    return gradient_quantiles(run, first=warm_up + 1, quantiles=[0.5])


def _sizes_said(sizes: pd.DataFrame) -> str:
    """Say how large the gradient of each run is, the smallest first."""
    if sizes.empty:
        return ""
    medians = sizes.sort_values("norm", kind="stable")
    parts = [f"{run} {number(norm)}" for run, norm in zip(medians["run"], medians["norm"], strict=True)]
    return f"Median gradient norm after warm-up: {listed(parts)}."


GRADIENT_SIZES = Analysis(
    "How large is the gradient after warm-up?",
    gradient_sizes,
    source="thesis Figure 3.5",
    finding=_sizes_said,
    metrics=(
        Metric(
            "gradient-norm", "gradient norm", better="lower", split="", read=lambda found: found["norm"].item()
        ),
        Metric(
            "gradient-component", "1,000 × gradient norm / √parameters", better="lower", split="",
            read=lambda found: 1000 * found["component"].item(),
        ),
    ),
)  # fmt: skip
