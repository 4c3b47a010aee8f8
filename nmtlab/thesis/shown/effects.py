"""Differences between systems over the course of training: does a change gain, or does it only gain time?"""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import BELOW, FAINT, dressed, plain, see_through, styles, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import listed, number
from nmtlab.grids.declared.declaration import Scale
from nmtlab.grids.declared.labels import row_label
from nmtlab.grids.results.statistics import difference
from nmtlab.thesis.measured import measured
from nmtlab.thesis.tables.listing import find_table


def effect_view(name: str, row: str, than: str = "", scale: Scale = "small") -> View:
    """Show how far the systems of a table are from another one over the course of training, in dev BLEU.

    Its table has the differences at the end, and how many trainings were still rising then.

    Args:
        name: of the table.
        row: one of its rows.
        than: the system that the others are compared with; the table's baseline if not given.
        scale: at which the table was run.

    Raises:
        NmtlabError: the table or its dev scores were not measured at this scale, or it has no such row or system.
    """
    than = than or find_table(name).baseline
    curves = measured(name, scale).curves
    if curves.empty:
        raise NmtlabError(f"{name}: the dev scores of its trainings were not kept", f"run 'nmtlab reproduce {name}'")
    effects = effects_over_training(curves, row, than)
    if effects.empty:
        rows = ", ".join(curves["row"].unique())
        raise NmtlabError(f"{name}: no two systems to compare on {row!r} with {than!r}", f"choose a row from {rows}")
    rising = still_rising(curves[curves["row"] == row]).groupby("column")["rising"].sum()
    last = effects.groupby("system", sort=False).tail(1)
    (declared,) = find_table(name).only([row]).rows
    title = f"{name}, {row_label(declared, scale)}"
    figure, finding = effect_figure(effects, than, title), effects_finding(effects, than)
    return View(last.assign(rising=last["system"].map(rising)), figure, finding=finding)


def effects_over_training(curves: pd.DataFrame, row: str, than: str) -> pd.DataFrame:
    """Return how far each system is from another one after each evaluation.

    Compared are the best dev scores so far, which choose the checkpoint; a training that ended early keeps its best.
    The intervals are those of Welch's test, of seeds alone, each of its step alone.

    Args:
        curves: rows of `dev_curves`, of one table.
        row: a row of the table.
        than: the system that the others are compared with.

    Returns:
        A row for each other system and step, from the first one that every seed has: `system`, in the order of the
        curves; `step`, in updates; `seeds`, of the system; `effect`, system minus other in points of dev BLEU, and
        `low` and `high` of its 95 % interval, NaN with a single seed.
    """
    best = _best_so_far(curves[curves["row"] == row])
    names = list(dict.fromkeys(name for name, _ in best.columns))
    rows = []
    for step, scores in best.iterrows():
        of = {name: scores[name].tolist() for name in names}
        for name in (name for name in names if name != than and than in of):
            line = difference(of[name], of[than]).estimate()
            rows.append((name, step, len(of[name]), line.effect, line.low, line.high))
    found = pd.DataFrame(rows, columns=["system", "step", "seeds", "effect", "low", "high"])
    return found.sort_values("system", key=lambda some: some.map(names.index), kind="stable", ignore_index=True)


def effects_finding(effects: pd.DataFrame, than: str) -> str:
    """Say how far systems are from another one where they are furthest, and at the end.

    Args:
        effects: rows of `effects_over_training`.
        than: the other system.
    """
    parts = []
    for system, lines in effects.groupby("system", sort=False):
        furthest, last = lines.loc[lines["effect"].abs().idxmax()], lines.iloc[-1]
        interval = f" ({number(last['low'], 1)} to {number(last['high'], 1)})" if last["seeds"] > 1 else ""
        most = f"{number(furthest['effect'], 1, sign=True)} after {furthest['step']:,} updates"
        parts.append(f"{system} {most}, {number(last['effect'], 1, sign=True)}{interval} at the end")
    return f"Dev BLEU against {than}, where it differs most and at the end: {listed(parts, '; ')}." if parts else ""


def still_rising(curves: pd.DataFrame, last: int = 3) -> pd.DataFrame:
    """Return the trainings whose best dev score is among the last evaluations, so that more updates might raise it.

    Args:
        curves: rows of `dev_curves`.
        last: number of evaluations.

    Returns:
        `row`, `column`, `seed`, `steps`, at which the training ended, and `rising`.
    """
    cells = curves.sort_values("step").groupby(["row", "column", "seed"], sort=False)
    found = cells.agg(steps=("step", "max"), rising=("bleu", lambda some: int(np.argmax(some)) >= len(some) - last))
    return found.reset_index()


def effect_figure(effects: pd.DataFrame, than: str, about: str) -> go.Figure:
    """Draw how far systems are from another one over the course of training, with 95 % intervals.

    Args:
        effects: rows of `effects_over_training`.
        than: the other system.
        about: the text that all are trained on.
    """
    figure, style = go.Figure(), styles(effects["system"])
    for system, lines in effects.groupby("system", sort=False):
        name, line = plain(str(system)), style[str(system)]
        figure.add_scatter(
            x=[*lines["step"], *lines["step"][::-1]], y=[*lines["high"], *lines["low"][::-1]], mode="lines",
            fill="toself", fillcolor=see_through(line["color"], 0.15), line={"width": 0}, hoverinfo="skip",
            legendgroup=name, showlegend=False,
        )  # fmt: skip
        figure.add_scatter(
            x=lines["step"], y=lines["effect"], mode="lines+markers", name=name, line=line, legendgroup=name,
            customdata=lines[["low", "high", "seeds"]],
            hovertemplate="%{y:+.2f} (%{customdata[0]:+.2f} to %{customdata[1]:+.2f}, %{customdata[2]} seeds) after "
            "%{x:,} updates<extra>" + name + "</extra>",
        )  # fmt: skip
    figure.add_hline(0, line={"color": FAINT, "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text="updates (bands: 95 % over seeds, each update by itself)", rangemode="tozero")
    figure.update_yaxes(title_text=f"best dev BLEU so far, minus that of {plain(than)}")
    figure.update_layout(legend=BELOW, margin_b=110)
    seeds = effects["seeds"].max() if len(effects) else 0
    return with_subtitle(dressed(figure, "Does the effect last?", 460), f"{about}, {seeds} seeds")


def _best_so_far(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the best score so far, a row per step, a column per system and seed; those that ended keep theirs."""
    order = pd.MultiIndex.from_frame(curves[["column", "seed"]].drop_duplicates())
    wide = curves.pivot_table(index="step", columns=["column", "seed"], values="bleu", sort=True)[order]
    return wide.cummax().ffill().dropna()
