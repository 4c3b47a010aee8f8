"""Quality against what it costs: time, memory or size."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed, log_axis, name_in_lines, styles

COSTS: Mapping[str, str] = {
    "processor_milliseconds": "processor time per sentence, ms", "milliseconds": "time per sentence, ms",
    "memory_mib": "peak memory, MiB", "size_mib": "model and vocabulary on disk, MiB",
}  # fmt: skip
"""Columns that are better the lower, with their names."""

_SYMBOLS = {"cpu": "circle-open", "gpu": "diamond-open"}


def efficiency_figure(
    measured: pd.DataFrame, cost: str, title: str, published: pd.DataFrame | None = None, chosen: str = ""
) -> go.Figure:
    """Draw BLEU against a cost, on a logarithmic axis, with the Pareto front.

    Args:
        measured: rows of `medians` on one text and machine, with a column `frontier`; the index holds their keys.
        cost: column of `COSTS`.
        title: what was measured.
        published: systems measured elsewhere, as of `published_efficiency`, as a faint layer.
        chosen: key of the row to mark.
    """
    figure = go.Figure()
    faint = pd.DataFrame(columns=["processor", cost]) if published is None else published.dropna(subset=cost)
    for processor, systems in faint.groupby("processor"):
        figure.add_scatter(
            x=systems[cost], y=systems["bleu"], mode="markers", name=f"WNMT 2018, {processor.upper()}",
            marker={"symbol": _SYMBOLS[processor], "size": 8, "color": FAINT}, text=systems["system"],
            hovertemplate="%{text}: BLEU %{y:.2f}, %{x:,.4~g}<br>on another text and machine"
            f"<extra>WNMT 2018, {processor.upper()}</extra>",
        )  # fmt: skip
    front = measured[measured["frontier"]].sort_values(cost)
    figure.add_scatter(
        x=front[cost], y=front["bleu"], mode="lines", name="Pareto front", hoverinfo="skip",
        line={"color": COLOURS[6], "width": 1, "shape": "hv"},
    )  # fmt: skip
    _add_systems(figure, measured, cost)
    ring = measured[measured.index == chosen]
    figure.add_scatter(
        x=ring[cost], y=ring["bleu"], mode="markers", name="selected", showlegend=False, hoverinfo="skip",
        marker={"symbol": "circle-open", "size": 20, "color": COLOURS[6], "line": {"width": 2}},
    )  # fmt: skip
    figure.update_xaxes(title_text=COSTS[cost], **log_axis([*measured[cost], *faint[cost]]))
    figure.update_yaxes(title_text="BLEU")
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, title, 520)


def _add_systems(figure: go.Figure, measured: pd.DataFrame, cost: str) -> None:
    """Add a trace for each run, engine and precision: its points on the front are filled, and say their beam size."""
    way = measured["engine"] + " " + measured["precision"]
    names = measured["run"] + ", " + way if measured["run"].nunique() > 1 else way
    colours = styles(names)
    for name, rows in measured.groupby(names, sort=False):
        on_front = rows["frontier"]
        figure.add_scatter(
            x=rows[cost], y=rows["bleu"], mode="markers+text", name=name_in_lines(name),
            text=("beam " + rows["beam_size"].astype(str)).where(on_front, ""), textposition="top center",
            marker={
                "symbol": on_front.map({True: "circle", False: "circle-open"}).tolist(), "size": 11,
                "color": colours[name]["color"], "line": {"width": 2, "color": colours[name]["color"]},
            },
            customdata=[[key, _described(row)] for key, row in zip(rows.index, rows.itertuples(), strict=True)],
            hovertemplate=f"%{{customdata[1]}}<extra>{name_in_lines(name)}</extra>",
        )  # fmt: skip


def _described(row: tuple) -> str:
    """Return what a point is and what it was measured to be, in lines."""
    threads = "1 thread" if row.threads == 1 else f"{row.threads} threads"
    front = "<br>on the Pareto front" if row.frontier else ""
    return (
        f"{name_in_lines(row.run)}<br>beam {row.beam_size}, batches of {row.batch_tokens:,} tokens, {threads}"
        f"<br>BLEU {row.bleu:.2f}, {row.milliseconds:,.3g} ms per sentence ({row.processor_milliseconds:,.3g} ms of "
        f"processor time), {row.words_per_second:,.0f} words/s"
        f"<br>{row.memory_mib:,.0f} MiB of memory, {row.size_mib:,.1f} MiB on disk{front}"
    )
