"""A published table as measured and saved: the numbers beside the published ones."""

import math
from html import escape
from typing import Literal

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.access.metric import Better
from nmtlab.analysis.metrics import find_metric, label_of
from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed
from nmtlab.figures.view import View
from nmtlab.grids.declared.declaration import Scale
from nmtlab.grids.declared.labels import drawn_labels, labelled, published_name, system_labels
from nmtlab.grids.results.collected import printed_number
from nmtlab.grids.results.summary import with_published
from nmtlab.thesis.measured import measured
from nmtlab.thesis.tables.listing import find_table

Shown = Literal["value", "difference"]
_MAX_ACROSS = 4
_WIDE = {1: 28, 2: 28, 3: 21, 4: 16}
"""More characters than these do not fit above each of so many panels on one line."""

_LINE, _BETWEEN, _HEAD, _FOOT = 26, 80, 90, 110
"""Pixels of a system's line, between rows of panels, above them, for titles, and below, for axis and legend."""

_MEASURED = {"value": ("mean", "mean_low", "mean_high"), "difference": ("difference", "low", "high")}
_KINDS = {
    "equivalent": ", equivalent",
    "inconclusive": ", undecided",
    "underpowered": ", undecided",
    "measured earlier, runs not kept": ", runs not kept",
}
"""Verdicts whose numbers have markers other than a dot, and the names of these in the legend."""

_SYMBOLS = {
    "": "circle",
    ", equivalent": "square",
    ", undecided": "circle-open",
    ", runs not kept": "square-open",
}


def table_view(name: str, scale: Scale = "small", metric: str = "") -> View:
    """Show one of the published tables as measured and saved, beside the published values.

    If the table has a baseline, the figure and the view's table have differences from it.

    Args:
        name: of the table, `table-3.15`.
        scale: at which it was run.
        metric: key of one of the table's metrics; its first if not given.

    Raises:
        NmtlabError: there is no such table, or it was not measured at this scale or with this metric.
    """
    table = find_table(name)
    results, chosen = measured(table.name, scale), metric or table.metrics[0]
    results.of_metric(chosen)  # or it says that it was not measured
    whole = results.summary()
    lines = with_published(whole[whole["metric"] == chosen], table)
    compared = ["difference", "low", "high", "q", "verdict"] if table.baseline else []
    begun = lines[lines["row"].isin(lines.loc[lines["seeds"] > 0, "row"])]
    published = ["published"] if (begun["published"] != "").any() else []
    shown = ["row", "column", "seeds", "mean", "margin", *compared, *published]
    show: Shown = "difference" if table.baseline else "value"
    baseline = system_labels(table).get(table.baseline, "")
    figure = table_figure(drawn_labels(lines, table, scale), table.title, show, baseline, published_name(scale))
    finding = table_finding(labelled(begun, table, scale), baseline, find_metric(chosen).better)
    lines = labelled(begun[shown], table, scale).rename(columns={"published": published_name(scale)})
    return View(lines, figure, finding=finding)


def table_finding(lines: pd.DataFrame, baseline: str, better: Better) -> str:
    """Return which systems beat the baseline, and on how many texts; or, without one, where each is best.

    Args:
        lines: rows of `results.summary.summary`, of one metric and of texts with runs.
        baseline: as its column is called; empty for none.
        better: the side that is better.
    """
    if not baseline:
        return _best(lines.dropna(subset="mean"), better)
    counts = {kind: _counted(lines[lines["verdict"] == kind], lines, better) for kind in ("better", "worse")}
    said = [f"{kind.capitalize()} than {baseline}: {', '.join(found)}." for kind, found in counts.items() if found]
    undecided = "" if said else f"No system differs from {baseline} by more than chance explains."
    return " ".join(said) or (undecided if lines["difference"].notna().any() else "")


def _counted(decided: pd.DataFrame, lines: pd.DataFrame, better: Better) -> list[str]:
    """Return each system with its number of decided texts and the largest difference there, the most texts first."""
    found = []
    for system, some in sorted(decided.groupby("column"), key=lambda one: -len(one[1])):
        whole = lines[(lines["column"] == system) & lines["difference"].notna()]
        largest = some.loc[some["difference"].abs().idxmax(), "difference"]
        up_to = f"{largest:+.2g}".replace("-", "−")
        found.append(f"{system} on {len(some)} of {len(whole)} texts ({'up to ' if len(some) > 1 else ''}{up_to})")
    return found


def _best(lines: pd.DataFrame, better: Better) -> str:
    if lines.empty or better == "zero" or lines["column"].nunique() < 2:
        return ""
    sign = 1 if better == "higher" else -1
    wins = lines.loc[(sign * lines["mean"]).groupby(lines["row"]).idxmax(), "column"].value_counts()
    named = ", ".join(f"{system} on {count}" for system, count in wins.items())
    return f"{better.capitalize()}st of all systems: {named} of {lines['row'].nunique()} texts."


def table_figure(
    lines: pd.DataFrame, title: str, show: Shown = "value", baseline: str = "", published: str = "published"
) -> go.Figure:
    """Draw a panel per text, measured ones first, with a line per system: means, 95 % intervals, published numbers.

    The intervals of values are those of seeds; those of shares and of differences cover sentences too, where
    translations are stored.

    Args:
        lines: rows of `results.summary.summary`, of one metric; pairs without a number are left out. Failures in
            the published table are drawn at 0.
        title: what the table shows.
        show: the numbers themselves, or their differences to the baseline's, where it has such a number.
        baseline: name of the system that the others are compared with; empty for none.
        published: what the published numbers are called.
    """
    drawn = lines.assign(published_number=lines["published"].map(printed_number))
    if lines["mean"].notna().any() and lines["difference"].isna().all():
        show = "value"
    if show == "difference":
        to = drawn[drawn["column"] == baseline].set_index("row")["published_number"]
        difference = drawn["published_number"] - drawn["row"].map(to)
        drawn = drawn.assign(published_number=difference)[drawn["column"] != baseline]
    drawn = drawn[drawn[_MEASURED[show][0]].notna() | drawn["published_number"].notna()]
    systems = _in_order(drawn)
    measured = set(drawn.loc[drawn["mean"].notna(), "row"])
    pairs = sorted(dict.fromkeys(drawn["row"]), key=lambda row: row not in measured)
    across = max(1, min(len(pairs), _MAX_ACROSS))
    down = max(1, math.ceil(len(pairs) / across))
    inside = down * (_LINE * len(systems) + _BETWEEN) - _BETWEEN
    metric = escape(label_of(lines["metric"].iloc[0])) if len(lines) else ""
    figure = make_subplots(
        rows=down, cols=across, subplot_titles=[_panel_title(pair, across) for pair in pairs], shared_yaxes=True,
        horizontal_spacing=0.03, vertical_spacing=_BETWEEN / max(inside, _BETWEEN * down),
        x_title=metric if show == "value" else f"{metric}: system − {escape(baseline)}",
    )  # fmt: skip
    named: set[str] = set()
    for place, pair in enumerate(pairs):
        panel = drawn[drawn["row"] == pair]
        kinds = panel["verdict"].map(_KINDS).fillna("")
        here = (_measured(panel[kinds == kind], show, kind) for kind in dict.fromkeys(("", *_KINDS.values())))
        for trace in (_published(panel, published), *here):
            trace.update(showlegend=trace.name not in named, legendgroup=trace.name, meta=pair)
            trace.hovertemplate += f"<extra>{escape(pair)}</extra>"
            if len(trace.x):
                named.add(trace.name)
                figure.add_trace(trace, row=place // across + 1, col=place % across + 1)
    figure.update_xaxes(zeroline=True, zerolinecolor=FAINT, zerolinewidth=1, rangemode="tozero")
    figure.update_yaxes(
        categoryorder="array", categoryarray=[escape(name) for name in systems[::-1]],
        range=[-0.7, len(systems) - 0.3],
    )  # fmt: skip
    figure.update_layout(legend=BELOW, margin={"t": _HEAD, "b": _FOOT}, title={"xref": "container", "x": 0.01})
    return dressed(figure, escape(title), inside + _HEAD + _FOOT)


def _panel_title(pair: str, across: int) -> str:
    title = escape(pair)
    return title.replace(", ", ",<br>", 1) if len(pair) > _WIDE[across] else title


def _measured(lines: pd.DataFrame, show: Shown, kind: str) -> go.Scatter:
    lines = lines[lines[_MEASURED[show][0]].notna()]
    mean, low, high = (lines[name] for name in _MEASURED[show])
    ends = [f", {one:.4g} to {other:.4g}" if one == one else "" for one, other in zip(low, high, strict=True)]
    covers = ", " + lines["interval"] if show == "difference" else ""
    return go.Scatter(
        x=mean, y=[escape(name) for name in lines["column"]], mode="markers", name=f"measured, 95 %{kind}",
        error_x={
            "type": "data", "symmetric": False, "array": high - mean, "arrayminus": mean - low, "thickness": 1.5,
            "width": 3,
        },
        marker={"size": 9, "color": COLOURS[0], "symbol": _SYMBOLS[kind]},
        customdata=lines[["column", "seeds", "diverged"]].assign(ends=ends, covers=covers),
        hovertemplate="%{y}: %{x:.4~g}%{customdata[3]}%{customdata[4]}, %{customdata[1]} seeds, "
        "%{customdata[2]} diverged",
    )  # fmt: skip


def _published(lines: pd.DataFrame, name: str) -> go.Scatter:
    lines = lines[lines["published_number"].notna()]
    return go.Scatter(
        x=lines["published_number"], y=[escape(name) for name in lines["column"]], mode="markers", name=escape(name),
        marker={"size": 10, "color": COLOURS[1], "symbol": "diamond-open", "line": {"width": 2}},
        customdata=lines[["column", "published", "published_mark"]],
        hovertemplate="%{y}: published %{customdata[1]}%{customdata[2]}",
    )  # fmt: skip


def _in_order(lines: pd.DataFrame) -> list[str]:
    """Return the systems of all pairs: one that the first pairs lack comes after the one it follows in its pair."""
    order: list[str] = []
    for _, systems in lines.groupby("row", sort=False)["column"]:
        place = 0
        for system in systems:
            if system not in order:
                order.insert(place, system)
            place = order.index(system) + 1
    return order
