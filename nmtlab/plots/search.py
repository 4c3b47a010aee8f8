"""Search, drawn: the tree of one sentence (thesis Figure 4.1), and what larger beams come to."""

import math
from collections.abc import Sequence
from html import escape

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.plots.theme import BELOW, COLOURS, DASHES, FAINT, dressed, plain, styles

_NEGLIGIBLE = 0.001
_LEGEND_LINE = 28
"""Pixels of a long name in a legend."""
_BEST, _EMPTY, _REFERENCE = COLOURS[0], COLOURS[1], COLOURS[2]


def tree_figure(
    tree: pd.DataFrame, until: int | None = None, title: str = "What the beam keeps and drops"
) -> go.Figure:
    """Draw what a search held: a line from each hypothesis to what continued it, by step and log-probability.

    The empty translation is a level line: under log-probability, whatever falls below it can no longer win.

    Args:
        tree: rows of `analysis.search_tree.search_tree`.
        until: draw the first steps alone; all if not given.
        title: of the figure.
    """
    figure = go.Figure()
    shown = tree if until is None else tree[tree["step"] <= until]
    kinds = [
        ("other hypotheses", FAINT, ~(shown["best"] | shown["reference"] | _empty(shown)), 1),
        ("the reference", _REFERENCE, shown["reference"] & ~shown["best"], 2),
        ("what is returned", _BEST, shown["best"] & ~_empty(shown), 3),
        ("the empty translation", _EMPTY, _empty(shown), 3),
    ]
    places = {(row.step, row.slot): row.log_prob for row in tree.itertuples()} | {(0, 0): 0.0}
    for name, colour, own, width in kinds:
        if own.any():
            figure.add_trace(_lines(shown[own], places, name, colour, width))
    lost = shown[shown["dropped"]]
    if len(lost):
        figure.add_scatter(
            x=lost["step"], y=lost["log_prob"], mode="markers", name="dropped here",
            marker={"symbol": "x", "size": 5, "color": FAINT}, hoverinfo="skip",
        )  # fmt: skip
    figure.update_xaxes(title_text="tokens so far", rangemode="tozero", dtick=1 if shown["step"].max() <= 30 else None)
    figure.update_yaxes(title_text="log-probability so far")
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, escape(title), 520)


def _empty(tree: pd.DataFrame) -> pd.Series:
    return tree["ended"] & (tree["length"] == 1)


def _lines(own: pd.DataFrame, places: dict[tuple[int, int], float], name: str, colour: str, width: int) -> go.Scatter:
    """Return the lines from each hypothesis' parent to it, with gaps between them."""
    xs, ys, told = [], [], []
    for row in own.itertuples():
        above = places[row.step - 1, row.parent]
        end = " ■" if row.ended else ""
        xs += [row.step - 1, row.step, None]
        ys += [above, row.log_prob, None]
        told += ["", f"{plain(row.text)}{end}<br>slot {row.slot}, log p {row.log_prob:.2f}, score {row.score:.3f}", ""]
    return go.Scatter(
        x=xs, y=ys, text=told, mode="lines+markers", name=name, connectgaps=False,
        line={"color": colour, "width": width},
        marker={"size": [0 if not text else 4 + width for text in told], "color": colour},
        hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


_CURVES = {
    "bleu": "BLEU (%)", "length_ratio": "length (to the reference's)", "empty": "empty translations (share)",
    "log_prob": "mean log-probability", "errors": "missed: below the best of all (share)",
}  # fmt: skip


def sweep_figure(outcomes: pd.DataFrame, over: str = "beam_size") -> go.Figure:
    """Draw what searching comes to over the beam's size, or another number of the search: a panel for each measure.

    Args:
        outcomes: rows of `analysis.beams.stored_sweeps`: a line for each `name`, a colour for each `way`, a dash for
            each `run`; without a panel for `errors` where there are none.
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
        for (name, way, run), own in outcomes.groupby(["name", "way", "run"], sort=False):
            own = own.sort_values(over)
            figure.add_scatter(
                x=own[over], y=own[column], mode="lines+markers", name=escape(str(name)), legendgroup=str(name),
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
    title = "What larger beams come to" if over == "beam_size" else f"What {over} comes to"
    return dressed(figure, title, 260 * rows + foot)


def _apart(sizes: Sequence[float]) -> list[float]:
    """Return those of ascending sizes that have room for a label on a logarithmic axis of a narrow panel."""
    kept = list(sizes[:1])
    for size in sizes[1:]:
        kept += [size] if size >= 1.5 * kept[-1] else []
    return kept


def ways_figure(lines: pd.DataFrame) -> go.Figure:
    """Draw BLEU by the beam's size for several ways of searching, a panel for each pair: means with 95 % intervals.

    Args:
        lines: `row`, the pair; `way`; `beam`; `mean` and `margin` of BLEU, in percent.
    """
    pairs = list(dict.fromkeys(lines["row"]))
    figure = make_subplots(rows=1, cols=len(pairs), subplot_titles=[escape(pair) for pair in pairs])
    style = styles(lines["way"])
    beams = [f"{beam:g}" for beam in sorted(lines["beam"].unique())]
    for (way, pair), own in lines.sort_values("beam").groupby(["way", "row"], sort=False):
        place = pairs.index(pair)
        figure.add_scatter(
            x=[f"{beam:g}" for beam in own["beam"]], y=own["mean"], mode="lines+markers", name=escape(way),
            error_y={"type": "data", "array": own["margin"], "thickness": 1.5, "width": 4},
            legendgroup=way, showlegend=not place, line=style[way], customdata=own["margin"],
            hovertemplate="beam %{x}: %{y:.2f} ± %{customdata:.2f}<extra>" + escape(way) + "</extra>",
            row=1, col=place + 1,
        )  # fmt: skip
    figure.update_xaxes(title_text="beam", type="category", categoryorder="array", categoryarray=beams)
    figure.update_yaxes(title_text="BLEU (%)", col=1)
    figure.update_layout(legend=BELOW, margin_b=130)
    return dressed(figure, "BLEU by beam: planned lengths beside other ways of searching", 480)


def lengths_figure(plan: pd.DataFrame, reference: int | None = None) -> go.Figure:
    """Draw the planned length of one sentence.

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
    return dressed(figure, "How long the translation is planned to be (blue: decoded)", 380)


def calibration_figure(bins: pd.DataFrame) -> go.Figure:
    """Draw how often the likeliest length is right, by how sure systems are of it: on the diagonal if they know.

    Args:
        bins: `row`, a panel each; `column`, a line each; `probability`, that the system gives; `right`, the share that
            is, and `margin` of its 95 % interval.
    """
    rows = list(dict.fromkeys(bins["row"]))
    figure = make_subplots(rows=1, cols=len(rows), subplot_titles=[escape(row) for row in rows])
    style = styles(bins["column"])
    end = 1.05 * max(bins["probability"].max(), (bins["right"] + bins["margin"]).max())
    for place in range(1, len(rows) + 1):
        figure.add_scatter(
            x=[0, end], y=[0, end], mode="lines", name="as often right as it is sure", legendgroup="diagonal",
            showlegend=place == 1, line={"color": FAINT, "width": 1}, hoverinfo="skip", row=1, col=place,
        )  # fmt: skip
    for (column, row), own in bins.groupby(["column", "row"], sort=False):
        figure.add_scatter(
            x=own["probability"], y=own["right"], mode="lines+markers", name=escape(column), legendgroup=column,
            showlegend=row == rows[0], line=style[column], customdata=own["margin"],
            error_y={"type": "data", "array": own["margin"], "thickness": 1.5, "width": 4},
            hovertemplate="sure %{x:.3f}: right %{y:.3f} ± %{customdata:.3f}<extra>" + escape(column) + "</extra>",
            row=1, col=rows.index(row) + 1,
        )  # fmt: skip
    figure.update_xaxes(title_text="probability of the likeliest", range=[0, end])
    figure.update_yaxes(range=[0, end])
    figure.update_yaxes(title_text="share that is right", col=1)
    figure.update_layout(legend=BELOW, margin_b=130)
    return dressed(figure, "How often the planned length is right, by how sure the system is", 440)
