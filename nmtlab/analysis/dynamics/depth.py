"""How does the learned g of ScaleNorm vary with depth? (thesis 3.3.4.2, Figures 3.6 and 3.7)"""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Better, Metric
from nmtlab.analysis.access.needs import LOGGED_G
from nmtlab.figures.theme import BELOW, FAINT, SOLID, dressed, name_in_lines, styles
from nmtlab.figures.words import listed, number
from nmtlab.runs.run import Run

GROUPS = ("encoder", "decoder", "cross-attention", "final")

_SYMBOLS = {"encoder": "circle", "decoder": "square", "cross-attention": "diamond", "final": "star"}
_DASHES = {"encoder": "solid", "decoder": "dash", "cross-attention": "dot", "final": "solid"}
_PANELS = ("attention", "feed-forward")


def g_by_depth(run: Run, step: int | None = None) -> pd.DataFrame:
    """Return g of each sublayer at an evaluation.

    Args:
        run: with ScaleNorm.
        step: of the evaluation; if not given, the best evaluation, else the last.

    Returns:
        A row for each ScaleNorm: `run`; `step`, of the evaluation; `panel`, attention or feed-forward, as in Figure
        3.6; `group`: encoder, decoder, cross-attention or final (the norm
        after the last layer, in the panel feed-forward); `side`, encoder or decoder; `depth`, the layer from 1, for a
        final norm one more than the last layer; `g`.

    Raises:
        RunError: the run has no ScaleNorm, or was never evaluated.
    """
    logged = run.log.g_values()
    if step is None:
        best = run.checkpoints.best_step
        step = best if best is not None and best in set(logged["step"]) else int(logged["step"].max())
    values = logged[logged["step"] == step]
    final, crossed = values["kind"] == "final", values["kind"] == "cross-attention"
    return pd.DataFrame(
        {
            "run": run.label,
            "step": int(step),
            "panel": np.where(values["kind"].isin(["attention", "cross-attention"]), "attention", "feed-forward"),
            "group": values["side"].mask(crossed, "cross-attention").mask(final, "final"),
            "side": values["side"],
            "depth": values["depth"] + final,
            "g": values["g"],
        }
    ).reset_index(drop=True)


def g_slopes(run: Run) -> pd.DataFrame:
    """Return the slope of g over depth at each evaluation of a run.

    Returns:
        A row of `g_fits` for each evaluation and group, with its `step`.

    Raises:
        RunError: as for `g_by_depth`.
    """
    steps = sorted(run.log.g_values()["step"].unique())
    return pd.concat([g_fits(g_by_depth(run, step)).assign(step=int(step)) for step in steps], ignore_index=True)


def g_fits(values: pd.DataFrame) -> pd.DataFrame:
    """Fit a line of g over depth to each group by least squares.

    Args:
        values: rows of `g_by_depth`, of one run or several.

    Returns:
        A row for each run, panel and group of two depths or more: `run`, `panel`, `group`; `layers`; `slope`, of g per
        layer; `intercept`, at depth 0; `correlation`, Pearson's, missing where g is the same at all depths.
    """
    rows = []
    for names, group in values.groupby(["run", "panel", "group"], sort=False):
        if group["depth"].nunique() > 1:
            slope, intercept = np.polyfit(group["depth"], group["g"], 1)
            correlation = group["g"].corr(group["depth"]) if group["g"].nunique() > 1 else float("nan")
            rows.append((*names, len(group), slope, intercept, correlation))
    return pd.DataFrame(rows, columns=["run", "panel", "group", "layers", "slope", "intercept", "correlation"])


def depth_figure(values: pd.DataFrame) -> go.Figure:
    """Draw g of each sublayer over its depth, with a fitted line per group: a colour per run, a symbol per group.

    Args:
        values: rows of `g_by_depth`, of one run or several.
    """
    titles = ["attention sublayers", "feed-forward sublayers and final norms"]
    figure = make_subplots(cols=2, subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.05)
    fits, style, named = g_fits(values), styles(values["run"], SOLID), set()
    for (panel, run, group), sublayers in values.groupby(["panel", "run", "group"], sort=False):
        name = f"{name_in_lines(run)}: {group}"
        shared = {"legendgroup": name, "name": name, "row": 1, "col": _PANELS.index(panel) + 1}
        colour = style[run]["color"]
        figure.add_scatter(
            x=sublayers["depth"], y=sublayers["g"], mode="markers",
            marker={"symbol": _SYMBOLS[group], "size": 10, "color": colour},
            customdata=sublayers["side"], showlegend=name not in named,
            hovertemplate="%{customdata}, depth %{x}: g = %{y:.3f}<extra>" + name + "</extra>", **shared,
        )  # fmt: skip
        named.add(name)
        for fit in _of(fits, run, panel, group).itertuples():
            ends = [sublayers["depth"].min(), sublayers["depth"].max()]
            figure.add_scatter(
                x=ends, y=[fit.intercept + fit.slope * depth for depth in ends], mode="lines", showlegend=False,
                line={"color": colour, "dash": _DASHES[group]},
                hovertemplate=f"{fit.slope:+.3f} per layer<extra>{name}</extra>", **shared,
            )  # fmt: skip
    figure.update_xaxes(title_text="depth (layers)", dtick=1)
    figure.update_yaxes(title_text="g", col=1)
    figure.update_layout(legend=BELOW)
    return dressed(figure, "Learned g of ScaleNorm against depth", 460)


def _fit_table(values: pd.DataFrame) -> pd.DataFrame:
    return g_fits(values)[["run", "panel", "group", "slope", "correlation"]]


def _depth_said(values: pd.DataFrame) -> str:
    """Say in how many kinds of sublayers g grows with depth, and where its slope is steepest."""
    fits = g_fits(values) if len(values) else values
    if fits.empty:
        return ""
    kinds = fits.groupby("run", sort=False)["slope"]
    parts = [f"{(slopes > 0).sum()} of {len(slopes)} in {run}" for run, slopes in kinds]
    steepest = fits.loc[fits["slope"].abs().idxmax()]
    slope = f"{number(steepest['slope'])} a layer, {_kind(steepest['panel'], steepest['group'])} of {steepest['run']}"
    return f"Kinds of sublayers whose g grows with depth: {listed(parts, '; ')}. Steepest slope: {slope}."


def _kind(panel: str, group: str) -> str:
    """Return a kind of sublayer in words."""
    return group if group == "cross-attention" else f"{group} {panel}"


def _slopes_said(slopes: pd.DataFrame) -> str:
    """Say how often g grows with depth at the first evaluation and at the last."""
    if slopes.empty:
        return ""
    parts = []
    for run, rows in slopes.groupby("run", sort=False):
        first, last = (rows[rows["step"] == step]["slope"] > 0 for step in (rows["step"].min(), rows["step"].max()))
        parts.append(f"{run} {first.sum()} of {len(first)}, then {last.sum()}")
    said = "Kinds of sublayers whose g grows with depth at the first evaluation and at the last"
    return f"{said}: {listed(parts, '; ')}."


def g_trends(values: pd.DataFrame) -> dict[str, float]:
    """Return the quantities behind the thesis's statements on g.

    Args:
        values: rows of `g_by_depth`, of one run.

    Returns:
        By key of the metric: `g-slope-SIDE-PANEL`, the slope of g per layer, without the decoder's attention to the
        encoder, NaN with a single layer; `g-slope-cross-attention`, that of the latter; `g-late-decoder`, the mean of g
        in the upper half of the decoder, without its attention to the encoder; `g-output`, g of the norm after the
        decoder's last layer.
    """
    slopes = g_fits(values).set_index(["group", "panel"])["slope"]
    decoder = values[values["group"] == "decoder"]
    output = values[(values["group"] == "final") & (values["side"] == "decoder")]
    return {
        **{f"g-slope-{side}-{panel}": slopes.get((side, panel), np.nan) for side in GROUPS[:2] for panel in _PANELS},
        "g-slope-cross-attention": slopes.get(("cross-attention", "attention"), np.nan),
        "g-late-decoder": decoder.loc[decoder["depth"] > decoder["depth"].max() / 2, "g"].mean(),
        "g-output": output["g"].mean(),
    }


def _trend(key: str, label: str, better: Better = "higher") -> Metric:
    return Metric(key, label, better=better, split="", read=lambda values: g_trends(values)[key])


G_SLOPES = tuple(
    _trend(f"g-slope-{side}-{panel}", f"slope, {side} {panel}") for side in GROUPS[:2] for panel in _PANELS
)

G_BY_DEPTH = Analysis(
    "How does the learned g of ScaleNorm vary with depth?",
    g_by_depth,
    source="thesis Figures 3.6 and 3.7",
    needs=(LOGGED_G,),
    table=_fit_table,
    figure=depth_figure,
    finding=_depth_said,
    metrics=(
        *G_SLOPES,
        _trend("g-slope-cross-attention", "slope, decoder-encoder attention", "lower"),
        _trend("g-late-decoder", "g, late decoder", "lower"),
        _trend("g-output", "g, output"),
    ),
)


def slopes_figure(slopes: pd.DataFrame) -> go.Figure:
    """Draw the slope of g over depth at each evaluation: a colour per run, a dash per group.

    Args:
        slopes: rows of `g_slopes`, of one run or several.
    """
    titles = [f"{panel} sublayers" for panel in _PANELS]
    figure = make_subplots(cols=2, subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.05)
    style, named = styles(slopes["run"], SOLID), set()
    for (run, group, panel), evaluations in slopes.groupby(["run", "group", "panel"], sort=False):
        name = f"{name_in_lines(run)}: {group}"
        figure.add_scatter(
            x=evaluations["step"], y=evaluations["slope"], mode="lines",
            name=name, legendgroup=name, showlegend=name not in named,
            line={"color": style[run]["color"], "dash": _DASHES[group]}, row=1, col=_PANELS.index(panel) + 1,
            hovertemplate="update %{x:,}: %{y:+.3f} per layer<extra>" + name + "</extra>",
        )  # fmt: skip
        named.add(name)
    figure.add_hline(0, line={"color": FAINT, "width": 1})
    figure.update_xaxes(title_text="updates", rangemode="tozero")
    figure.update_yaxes(title_text="slope of g, per layer", col=1)
    figure.update_layout(legend=BELOW)
    return dressed(figure, "Does g grow with depth? Its slope during training", 460)


def _of(fits: pd.DataFrame, run: str, panel: str, group: str) -> pd.DataFrame:
    return fits[(fits["run"] == run) & (fits["panel"] == panel) & (fits["group"] == group)]


def _first_and_last(slopes: pd.DataFrame) -> pd.DataFrame:
    """Return the slopes of each run's first and last evaluation, a column for each."""
    ends = slopes.groupby("run")["step"].agg(["min", "max"])
    at_ends = slopes["step"].isin(ends["min"]) | (slopes["step"] == slopes["run"].map(ends["max"]))
    wide = slopes[at_ends].pivot(index=["run", "panel", "group"], columns="step", values="slope").reset_index()
    return wide.rename(columns=str)


SLOPES_OF_G = Analysis(
    "Does g come to grow with depth during training?",
    g_slopes,
    source="thesis 3.3.4.2",
    needs=(LOGGED_G,),
    table=_first_and_last,
    figure=slopes_figure,
    finding=_slopes_said,
)
