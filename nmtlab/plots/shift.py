"""How far attention is from the linked word: a distribution, since a mean hides a sink (thesis 3.2.6.3)."""

import pandas as pd
import plotly.graph_objects as go

from nmtlab.plots.theme import BELOW, dressed, plain, styles

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
            x=[_name(shift) for shift in shares.index[::-1]], y=100 * shares["share"][::-1], name=plain(str(run)),
            marker_color=style[str(run)]["color"], customdata=shares["words"][::-1],
            hovertemplate="%{x}: %{y:.1f} %, %{customdata:,} words<extra>" + plain(str(run)) + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="most attended word, counted from the linked one", type="category")
    figure.update_yaxes(title_text="linked words (%)", rangemode="tozero")
    figure.update_layout(barmode="group", legend=BELOW, margin_b=110)
    return dressed(figure, "How far from the linked word is the attention peak?", 440)


def _name(shift: int) -> str:
    if shift == 0:
        return "on it"
    more = " or more" if abs(shift) == _FAR else ""
    return f"{abs(shift)}{more} {'left' if shift > 0 else 'right'}"
