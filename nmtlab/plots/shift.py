"""How far attention is from the linked word, since a mean hides a sink, and what a sink is for (thesis 3.2.6.3)."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.theme import BELOW, FAINT, dressed, name_in_lines, styles

_FAR = 5
"""Shifts from here on are drawn together."""


def shift_figure(distribution: pd.DataFrame) -> go.Figure:
    """Draw the share of linked words by the shift of their attention peak: a group of bars for each shift.

    Args:
        distribution: rows of `shift.shift_distribution`, by run.
    """
    figure = go.Figure()
    style = styles(distribution["run"])
    clipped = distribution.assign(shift=distribution["shift"].astype(int).clip(-_FAR, _FAR))
    for run, of_run in clipped.groupby("run", sort=False):
        shares = of_run.groupby("shift")[["share", "words"]].sum().reindex(range(-_FAR, _FAR + 1), fill_value=0)
        figure.add_bar(
            x=[_name(shift) for shift in shares.index[::-1]], y=100 * shares["share"][::-1], name=name_in_lines(run),
            marker_color=style[str(run)]["color"], customdata=shares["words"][::-1],
            hovertemplate="%{x}: %{y:.1f} %, %{customdata:,} words<extra>" + name_in_lines(run) + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="most attended word, counted from the linked one", type="category")
    figure.update_yaxes(title_text="linked words (%)", rangemode="tozero")
    figure.update_layout(barmode="group", legend=BELOW, margin_b=110)
    return dressed(figure, "How far from the linked word is the attention peak?", 440)


_LINKED = {"it": "linked to it", "others": "linked to other words", "none": "not linked"}


def masking_figure(costs: pd.DataFrame, place: str = "first") -> go.Figure:
    """Draw what hiding a source word costs at the target words whose attention peak was on it: bars for each run.

    Args:
        costs: rows of `masking.masking_summary`.
        place: of the hidden word.
    """
    figure = go.Figure()
    style = styles(costs["run"])
    attended = costs[costs["peak"]].assign(kind=costs["linked"].map(_LINKED))
    for run, of_run in attended.groupby("run", sort=False):
        shown = of_run.set_index("kind").reindex(list(_LINKED.values()))
        figure.add_bar(
            x=shown.index, y=shown["cost"], name=name_in_lines(run), marker_color=style[str(run)]["color"],
            customdata=shown["words"],
            hovertemplate="%{x}: %{y:+.3f} nats, %{customdata:,} words<extra>" + name_in_lines(run) + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text=f"target words whose attention peak is on the {place} source word")
    figure.update_yaxes(title_text="rise of the loss (nats per word)", zeroline=True)
    figure.update_layout(barmode="group", legend=BELOW, margin_b=110)
    return dressed(figure, f"What does it cost to hide the {place} source word from attention?", 440)


_SHARES = {"on": "on the linked word", "first": "on the first word"}


def agreement_figure(found: pd.DataFrame) -> go.Figure:
    """Draw where each method has its peaks: a dot for each run and method, on the linked word and on the first.

    Args:
        found: rows of `agreement`, by `run` and `method`. A line shows the share of links that lead to the first word.
    """
    figure = make_subplots(cols=2, shared_yaxes=True, horizontal_spacing=0.04)
    style = styles(found["run"])
    for column, share in enumerate(_SHARES, start=1):
        for run, of_run in found.groupby("run", sort=False):
            figure.add_scatter(
                x=100 * of_run[share], y=of_run["method"], customdata=of_run["words"], mode="markers", orientation="h",
                name=name_in_lines(run), offsetgroup=str(run), legendgroup=str(run), showlegend=column == 1,
                col=column, row=1, marker={"size": 11, "color": style[str(run)]["color"]},
                hovertemplate="%{y}: %{x:.1f} % of %{customdata:,} words<extra>" + name_in_lines(run) + "</extra>",
            )  # fmt: skip
        figure.update_xaxes(title_text=f"{_SHARES[share]} (% of words)", rangemode="tozero", col=column)
    line = {"color": FAINT, "dash": "dot"}
    linked = 100 * found["first_linked"].iloc[0]
    figure.add_vline(
        linked, col=2, line=line, annotation={"text": "links to it", "yanchor": "bottom", "xanchor": "center"}
    )
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(scattermode="group", scattergap=0.5, legend=BELOW, margin_b=110)
    return dressed(figure, "Where does each method have its peaks?", 380)


def _name(shift: int) -> str:
    if shift == 0:
        return "on it"
    more = " or more" if abs(shift) == _FAR else ""
    return f"{abs(shift)}{more} {'left' if shift > 0 else 'right'}"
