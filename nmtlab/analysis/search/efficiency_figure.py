"""Quality against cost, drawn and in a sentence; what was measured is in `stored_speed`."""

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.search.stored_speed import NOISE, SETTING
from nmtlab.figures.theme import BELOW, COLOURS, DASHES, FAINT, SOLID, dressed, log_axis, name_in_lines, styles

COSTS: Mapping[str, str] = {
    "processor_milliseconds": "processor time per sentence, ms", "milliseconds": "time per sentence, ms",
    "memory_mib": "peak memory, MiB", "size_mib": "model and vocabulary on disk, MiB",
    "dollars": "price of a million words, USD",
}  # fmt: skip
"""Columns that are better the lower, with their names."""

SCORES: Mapping[str, str] = {"bleu": "BLEU", "chrf": "chrF"}
"""Columns that are better the higher, with their names."""

_CHANGES: Mapping[str, str] = {
    "beam_size": "beam", "engine": "engine", "precision": "precision", "shortlist": "shortlist",
}  # fmt: skip
"""Settings that lines between two points change, with their names."""

_ALIKE = ["run", "batch_tokens", "threads"]
"""Settings in which a system and its Base are alike."""

_WIDTHS = [0.7, 0.3]
_SHAPES = ("circle", "square", "diamond", "triangle-up", "pentagon", "hexagon")
_SYMBOLS = {"cpu": "circle-open", "gpu": "diamond-open"}


def efficiency_figure(
    measured: pd.DataFrame,
    cost: str,
    title: str,
    published: pd.DataFrame | None = None,
    chosen: str = "",
    score: str = "bleu",
) -> go.Figure:
    """Draw a score against a cost, on a logarithmic axis, with the Pareto front and what each single change does.

    Args:
        measured: rows of `over_seeds` on one text and machine, with a column `frontier`; the index holds their keys.
            What copies its input, and rows without a cost above 0, are not drawn.
        cost: column of `COSTS`.
        title: what was measured.
        published: systems measured elsewhere, as of `published_efficiency`, drawn in grey beside BLEU.
        chosen: key of the row to mark.
        score: column of `SCORES`.
    """
    measured = measured[(measured["engine"] != "echo") & (measured[cost] > 0) & measured[score].notna()]
    faint = pd.DataFrame(columns=["processor", cost])
    if published is not None and score == "bleu":
        faint = published.dropna(subset=cost)
    panels = 2 if len(faint) else 1  # scores of another text would squeeze those of this one
    figure = make_subplots(1, panels, column_widths=_WIDTHS[:panels], horizontal_spacing=0.1)
    for processor, systems in faint.groupby("processor"):
        figure.add_scatter(
            x=systems[cost], y=systems["bleu"], mode="markers", name=f"WNMT 2018, {processor.upper()}",
            marker={"symbol": _SYMBOLS[processor], "size": 8, "color": FAINT}, text=systems["system"],
            hovertemplate="%{text}: BLEU %{y:.2f}, %{x:,.4~g}<br>on another text and machine"
            f"<extra>WNMT 2018, {processor.upper()}</extra>",
            row=1, col=2,
        )  # fmt: skip
    for (change, name), dash in zip(_CHANGES.items(), DASHES, strict=True):
        _add_changes(figure, list(_changed(measured, change)), (cost, score, change), name, dash)
    front = measured[measured["frontier"]].sort_values(cost)
    figure.add_scatter(
        x=front[cost], y=front[score], mode="lines", name="Pareto front", hoverinfo="skip",
        line={"color": COLOURS[6], "width": 1, "shape": "hv"},
    )  # fmt: skip
    _add_systems(figure, measured, cost, score)
    ring = measured[measured.index == chosen]
    figure.add_scatter(
        x=ring[cost], y=ring[score], mode="markers", name="selected", showlegend=False, hoverinfo="skip",
        marker={"symbol": "circle-open", "size": 20, "color": COLOURS[6], "line": {"width": 2}},
    )  # fmt: skip
    figure.update_yaxes(title_text=SCORES[score], col=1)
    for panel, costs in enumerate((measured[cost], faint[cost])[:panels], start=1):
        figure.update_xaxes(title_text=COSTS[cost] if panel == 1 else "WNMT 2018", **log_axis(costs), col=panel)
    figure.update_layout(legend=BELOW, margin_b=150)
    return dressed(figure, title, 560)


def efficiency_finding(measured: pd.DataFrame, cost: str, score: str = "bleu") -> str:
    """Return what reaches the best score at the least cost, how it compares with Base, and what the cheapest loses.

    Base is the run in nmtlab, without a shortlist, with the widest beam, on as many threads and with batches of the
    same size; the task's was a recurrent network.

    Args:
        measured: rows of `medians` on one text and machine, with a column `frontier`.
        cost: column of `COSTS`.
        score: column of `SCORES`.
    """
    systems = measured[(measured["engine"] != "echo") & (measured[cost] > 0) & measured[score].notna()]
    if systems.empty:
        return f"{COSTS[cost].partition(',')[0].capitalize()}: not known for any system."
    good = systems[systems[score] > systems[score].max() - NOISE]
    chosen, cheapest = good.loc[good[cost].idxmin()], systems.loc[systems[cost].idxmin()]
    best = f"the best {SCORES[score]}, {chosen[score]:.1f}"
    said = [f"{setting(chosen, systems)}: {best}, at the least cost, {_cost(chosen, cost)}."]
    alike = (systems[_ALIKE] == chosen[_ALIKE]).all(axis=1)
    plain = systems[alike & (systems["engine"] == "nmtlab") & (systems["shortlist"] == 0)]
    if len(plain) and (base := plain.loc[plain["beam_size"].idxmax()])[cost] > chosen[cost]:
        said.append(f"Base, {setting(base, systems)}, costs {base[cost] / chosen[cost]:.2g} times as much.")
    if cheapest[score] <= chosen[score] - NOISE:
        lost = f"{chosen[score] - cheapest[score]:.1f} {SCORES[score]} less at {_cost(cheapest, cost)}"
        said.append(f"{setting(cheapest, systems)}: {lost}.")
    return " ".join(said)


def setting(row: pd.Series, systems: pd.DataFrame) -> str:
    """Return what a system is, and what else differs among the systems."""
    run = f"{row['run']}, " if systems["run"].nunique() > 1 else ""
    types = f" and {row['shortlist']:,} types" if row["shortlist"] else ""
    batches = f", batches of {row['batch_tokens']:,} tokens" if systems["batch_tokens"].nunique() > 1 else ""
    threads = f", {_threads(row)}" if systems["threads"].nunique() > 1 else ""
    return f"{run}{row['engine']} {row['precision']} with beam {row['beam_size']}{types}{batches}{threads}"


def _threads(row: pd.Series) -> str:
    return "1 thread" if row["threads"] == 1 else f"{row['threads']} threads"


def _cost(row: pd.Series, cost: str) -> str:
    name, _, unit = COSTS[cost].rpartition(", ")
    return f"{row[cost]:.3g} {unit} of {name}" if cost != "dollars" else f"{row[cost]:.3g} USD for a million words"


def _changed(measured: pd.DataFrame, change: str) -> Iterator[tuple[pd.Series, pd.Series]]:
    """Yield pairs of rows that differ in one setting alone, and in its next value at that."""
    for _, group in measured.groupby([name for name in SETTING if name != change], sort=False):
        ordered = group.sort_values(change, ascending=change != "engine", key=_all_last)
        yield from pairwise(row for _, row in ordered.iterrows())


def _all_last(values: pd.Series) -> pd.Series:
    """Return values to sort by: a shortlist of 0 has all types."""
    return values.replace(0, math.inf) if values.name == "shortlist" else values


def _add_changes(
    figure: go.Figure, pairs: list[tuple[pd.Series, pd.Series]], axes: tuple[str, str, str], name: str, dash: str
) -> None:
    """Add the lines of one kind of change, each with a place in its middle that says what it does."""
    if not pairs:
        return
    cost, score, change = axes
    figure.add_scatter(
        x=[place for a, b in pairs for place in (a[cost], b[cost], None)],
        y=[place for a, b in pairs for place in (a[score], b[score], None)],
        mode="lines", name=f"change of {name}", hoverinfo="skip", legendgroup=name,
        line={"color": FAINT, "width": 1.5, "dash": dash},
    )  # fmt: skip
    figure.add_scatter(
        x=[(a[cost] * b[cost]) ** 0.5 for a, b in pairs], y=[(a[score] + b[score]) / 2 for a, b in pairs],
        mode="markers", marker={"size": 12, "opacity": 0, "color": FAINT}, name=name, legendgroup=name,
        text=[f"{name} {a[change]} → {b[change] or 'all'}: {_effect(a, b, cost, score)}" for a, b in pairs],
        hovertemplate="%{text}<extra></extra>", showlegend=False,
    )  # fmt: skip


def _effect(a: pd.Series, b: pd.Series, cost: str, score: str) -> str:
    return f"{b[score] - a[score]:+.2f} {SCORES[score]}, {b[cost] / a[cost]:.2f} × the cost"


def _add_systems(figure: go.Figure, measured: pd.DataFrame, cost: str, score: str) -> None:
    """Add a trace for each run, engine and precision: its points on the front are filled.

    Several runs have a colour each, their engines and precisions a symbol; runs beyond the colours have other symbols.
    """
    ways = measured["engine"] + " " + measured["precision"]
    several = measured["run"].nunique() > 1
    names = measured["run"] if several else ways
    looks, kinds = styles(names, DASHES if several else SOLID), list(dict.fromkeys(ways)) if several else [""]
    for (name, way), rows in measured.groupby([names, ways], sort=False):
        on_front, colour = rows["frontier"], looks[name]["color"]
        place = DASHES.index(looks[name]["dash"]) * len(kinds) + (kinds.index(way) if several else 0)
        shape = _SHAPES[place % len(_SHAPES)]
        figure.add_scatter(
            x=rows[cost], y=rows[score], mode="markers" if several else "markers+text", name=name_in_lines(name),
            text="beam " + rows["beam_size"].astype(str), textposition="top center", legendgroup=f"{name}",
            showlegend=way == ways[names == name].iloc[0],
            marker={
                "symbol": on_front.map({True: shape, False: f"{shape}-open"}).tolist(), "size": 11,
                "color": colour, "line": {"width": 2, "color": colour},
            },
            error_y={"array": rows[f"{score}_margin"].where(on_front | (not several)), "width": 3, "thickness": 1},
            customdata=[[key, _described(row, cost, score)] for key, row in rows.iterrows()],
            hovertemplate=f"%{{customdata[1]}}<extra>{name_in_lines(name)}</extra>",
        )  # fmt: skip
    if len(kinds) > 1:
        for way, shape in zip(kinds, _SHAPES, strict=False):
            figure.add_scatter(
                x=[None],
                y=[None],
                mode="markers",
                name=way,
                marker={"symbol": f"{shape}-open", "color": FAINT, "size": 11},
            )


def _described(row: pd.Series, cost: str, score: str) -> str:
    """Return what a point is and what it was measured to be, in lines."""
    price = f", {_cost(row, cost)}" if cost == "dollars" else ""
    types = f", {row['shortlist']:,} types" if row["shortlist"] else ""
    front = "<br>on the Pareto front" if row["frontier"] else ""
    return (
        f"{name_in_lines(row['run'])}<br>beam {row['beam_size']}{types}, batches of {row['batch_tokens']:,} tokens, "
        f"{_threads(row)}<br>{SCORES[score]} {row[score]:.2f}{price}, {row['milliseconds']:,.3g} ms per sentence "
        f"({row['processor_milliseconds']:,.3g} ms of processor time), {row['words_per_second']:,.0f} words/s"
        f"<br>{row['memory_mib']:,.0f} MiB of memory, {row['size_mib']:,.1f} MiB on disk{front}"
    )
