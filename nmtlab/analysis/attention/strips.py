"""A strip of bars for each system: how often something is at each of some places, with a mark for each seed."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.access.findings import without_seed
from nmtlab.figures.theme import FAINT, dressed, name_in_lines, styles

_HEIGHT, _ABOVE, _BELOW = 92, 56, 62
"""Pixels of a row, and above and below all rows."""
_MARK = {"color": "#222222", "size": 6, "symbol": "line-ew", "line": {"width": 1.5}}


def strips(shares: pd.DataFrame, apart: str, title: str, axis: str) -> go.Figure:
    """Draw a row for each system, with a bar for each place.

    Args:
        shares: `run`, `place`, `share` (0 to 1). The bars are means over the seeds of a system.
        apart: the place whose bars are grey.
        title: of the figure.
        axis: what the places are.
    """
    shares = shares.assign(system=shares["run"].map(without_seed), percent=100 * shares["share"])
    systems, style = list(dict.fromkeys(shares["system"])), styles(shares["system"])
    places = list(dict.fromkeys(shares["place"]))
    figure = make_subplots(rows=len(systems), shared_xaxes=True, vertical_spacing=0.12 / len(systems))
    for row, system in enumerate(systems, start=1):
        seeds, name = shares[shares["system"] == system], name_in_lines(system)
        means = seeds.groupby("place", sort=False)["percent"].mean()[places]
        figure.add_bar(
            x=places, y=means, text=[f"{mean:.0f}" for mean in means], textposition="outside", cliponaxis=False,
            marker_color=[FAINT if place == apart else style[system]["color"] for place in places], name=name,
            hovertemplate="%{x}: %{y:.1f} %<extra>" + name + "</extra>", row=row, col=1,
        )  # fmt: skip
        if seeds["run"].nunique() > 1:
            figure.add_scatter(
                x=seeds["place"], y=seeds["percent"], mode="markers", marker=_MARK, text=seeds["run"], row=row, col=1,
                hovertemplate="%{text}, %{x}: %{y:.1f} %<extra></extra>",
            )  # fmt: skip
        figure.update_yaxes(title_text=name_in_lines(system, 16), row=row, col=1)
    figure.update_yaxes(range=[0, 1.3 * shares["percent"].max()], showticklabels=False, ticks="", showgrid=False)
    figure.update_xaxes(title_text=axis, row=len(systems))
    figure.update_layout(bargap=0.25, showlegend=False, margin={"t": _ABOVE, "b": _BELOW})
    return dressed(figure, title, _ABOVE + _HEIGHT * len(systems) + _BELOW)
