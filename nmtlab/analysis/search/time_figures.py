"""Where the time goes, drawn and in sentences; what is measured is in `time_parts`."""

from collections.abc import Iterator

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.search.time_parts import PARTS, SEARCH
from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed, log_axis, name_in_lines, styles

_SEEN = 0.06
"""Share of a bar above which a part's share is written in it."""


def parts_figure(times: pd.DataFrame, title: str) -> go.Figure:
    """Draw the shares of the time by part of the network, one stacked bar for each system that tells parts apart.

    Args:
        times: rows of `where_time_goes` on one text and machine.
        title: what was measured.
    """
    parts = times.assign(system=_names(times))[times["kind"] == "part"]
    seconds = parts.pivot_table("seconds", "system", "item", "sum", sort=False)
    seconds = seconds[seconds.count(axis=1) > 1]
    each, shares = 1000 * seconds / parts["sentences"].iloc[0], seconds.div(seconds.sum(axis=1), axis=0)
    present = [part for part in PARTS if part in seconds]
    figure = go.Figure()
    for place, part in enumerate(present):
        figure.add_bar(
            x=shares[part], y=[name_in_lines(name) for name in each.index], orientation="h", name=part,
            marker={
                "color": FAINT if part == SEARCH else COLOURS[place % len(COLOURS)],
                "pattern_shape": "/" if place >= len(COLOURS) else "",
            },
            text=[f"{share:.0%}" if share > _SEEN else "" for share in shares[part]], textposition="inside",
            customdata=each[part], insidetextanchor="middle", textangle=0,
            hovertemplate=f"{part}: %{{x:.1%}} of the time, %{{customdata:.3g}} ms of a sentence<extra>%{{y}}</extra>",
        )  # fmt: skip
    figure.update_layout(barmode="stack", legend=BELOW | {"traceorder": "normal"}, margin_b=140)
    figure.update_xaxes(title_text="share of the processor time", tickformat=".0%")
    figure.update_yaxes(autorange="reversed")
    return dressed(figure, title, 260 + 50 * len(each))


def parts_finding(times: pd.DataFrame) -> str:
    """Return where most of the time of each system goes, as far as its parts are told apart."""
    said = []
    for name, rows in _systems(times, "part"):
        shares = (rows.set_index("item")["seconds"] / rows["seconds"].sum()).sort_values(ascending=False)
        if len(shares) > 1:
            said.append(f"{name}: {' and '.join(f'{share:.0%} {part}' for part, share in shares.head(2).items())}")
    return f"Most time: {'; '.join(said)}." if said else "CTranslate2 does not say where its time goes."


def steps_figure(times: pd.DataFrame, title: str) -> go.Figure:
    """Draw the rows of each step of a batch, and the milliseconds that it takes.

    Args:
        times, title: as of `parts_figure`.
    """
    figure = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.06)
    looks = styles(dict.fromkeys(_names(times)))
    for name, rows in _systems(times, "step"):
        steps = rows["item"].astype(int)
        for panel, values in enumerate((rows["count"], 1000 * rows["seconds"]), start=1):
            figure.add_scatter(
                x=steps, y=values, mode="lines", name=name_in_lines(name), line=looks[name], legendgroup=name,
                showlegend=panel == 1, row=panel, col=1,
            )  # fmt: skip
    figure.update_yaxes(title_text="hypotheses", row=1, rangemode="tozero")
    figure.update_yaxes(title_text="processor time, ms", row=2, rangemode="tozero")
    figure.update_xaxes(title_text="step", row=2)
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, title, 520)


def steps_finding(times: pd.DataFrame) -> str:
    """Return how many hypotheses the steps read, and how many they would read if none left before the last."""
    said = []
    for name, rows in _systems(times, "step"):
        read, most = int(rows["count"].sum()), int(rows["count"].max()) * len(rows)
        said.append(f"{name} reads {read:,} hypotheses in {len(rows):,} steps, {read / most:.0%} of {most:,}")
    return f"{'; '.join(said)} if all stayed until the last step." if said else "CTranslate2 does not tell its steps."


def sentences_figure(times: pd.DataFrame, title: str) -> go.Figure:
    """Draw the share of sentences that are translated within a time, each alone, with its median and 95th percentile.

    Args:
        times, title: as of `parts_figure`.
    """
    figure = go.Figure()
    alone = times[times["kind"] == "sentence"]
    looks = styles(dict.fromkeys(_names(times)))
    for name, rows in _systems(times, "sentence"):
        milliseconds = (1000 * rows["seconds"]).sort_values()
        shares = [(rank + 1) / len(rows) for rank in range(len(rows))]
        figure.add_scatter(
            x=milliseconds, y=shares, mode="lines", name=name_in_lines(name), legendgroup=name,
            line=looks[name] | {"shape": "hv"},
        )  # fmt: skip
        figure.add_scatter(
            x=milliseconds.quantile([0.5, 0.95]), y=[0.5, 0.95], mode="markers", legendgroup=name, showlegend=False,
            name=name_in_lines(name), marker={"size": 10, "color": looks[name]["color"]},
        )  # fmt: skip
    figure.update_xaxes(title_text="processor time of a sentence alone, ms", **log_axis(1000 * alone["seconds"]))
    figure.update_yaxes(title_text="share of sentences", tickformat=".0%", range=[0, 1.02])
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, title, 460)


def sentences_finding(times: pd.DataFrame) -> str:
    """Return the median and the 95th percentile of the processor time of a sentence that is translated alone."""
    said = []
    for name, rows in _systems(times, "sentence"):
        half, most = 1000 * rows["seconds"].quantile([0.5, 0.95])
        said.append(f"{name} {half:.3g} ms, {most:.3g} ms")
    return f"Median and 95th percentile of a sentence alone: {'; '.join(said)}." if said else ""


def _systems(times: pd.DataFrame, kind: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each system with its rows of a kind, in the order of the measurement."""
    rows = times.assign(system=_names(times))[times["kind"] == kind]
    for name, of_system in rows.groupby("system", sort=False):
        yield str(name), of_system


def _names(times: pd.DataFrame) -> pd.Series:
    """Return what each row is of: engine, precision and beam, and what else differs."""
    names = times["engine"] + " " + times["precision"] + ", beam " + times["beam_size"].astype(str)
    names += times["shortlist"].map(lambda types: f", {types:,} types" if types else "")
    if times["batch_tokens"].nunique() > 1:
        names += times["batch_tokens"].map(", batches of {:,} tokens".format)
    return times["run"] + ", " + names if times["run"].nunique() > 1 else names
