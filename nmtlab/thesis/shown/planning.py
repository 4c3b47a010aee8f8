"""Planned lengths beside other searches, by beam size (thesis 4.1)."""

from html import escape

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.metrics import find_metrics
from nmtlab.figures.theme import BELOW, SOLID, dressed, styles
from nmtlab.figures.view import View
from nmtlab.grids.declared.declaration import Scale
from nmtlab.grids.declared.labels import labelled
from nmtlab.grids.results.summary import summary
from nmtlab.thesis.measured import measured_cells
from nmtlab.thesis.tables.length_planning import LENGTH_PLANNING

_ASIDE = 0.07
"""Distance between the points of two settings at one beam size, of the distance between beam sizes."""


def planning_view(scale: Scale = "small") -> View:
    """Compare length planning with other searches by beam size (thesis 4.1).

    Its table has mean BLEU over the seeds.

    Args:
        scale: at which `length-planning` was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    scores = {one.key: one.given["way"] for one in find_metrics(LENGTH_PLANNING.metrics) if one.kind == "score"}
    ways = {key: way for key, way in scores.items() if way.sample is None and way.lengths is None}
    cells = measured_cells(LENGTH_PLANNING.name, scale)
    lines = summary(cells[cells["metric"].isin(ways)], LENGTH_PLANNING)
    searches = lines["metric"].map(lambda key: ways[key].search)
    ordinary = lines["column"] == LENGTH_PLANNING.baseline
    lines["planned"] = ~ordinary
    lines["beam"] = searches.map(lambda search: search.beam_size)
    lines["way"] = lines["column"].mask(ordinary, lines["column"] + ", " + searches.map(lambda search: search.score))
    # A system that plans lengths ranks by one score, whatever the settings.
    chosen = lines[ordinary | (searches.map(lambda search: search.score) == "log-prob")]
    begun = labelled(chosen[chosen["seeds"] > 0], LENGTH_PLANNING, scale)
    means = begun.pivot_table("mean", ["row", "way"], "beam").rename(columns="beam {}".format)
    return View(means.reset_index(), ways_figure(begun))


def ways_figure(lines: pd.DataFrame) -> go.Figure:
    """Draw BLEU by beam size for several search settings, a panel per language pair: means with 95 % intervals.

    Args:
        lines: `row`, the pair; `way`, the setting; `planned`, whether it plans lengths, which is dashed; `beam`;
            `mean` and `margin` of BLEU, in percent.
    """
    pairs, ways = (list(dict.fromkeys(lines[name])) for name in ("row", "way"))
    figure = make_subplots(rows=1, cols=len(pairs), subplot_titles=[escape(pair) for pair in pairs])
    style, beams = styles(ways, SOLID), sorted(lines["beam"].unique())
    for (way, pair), curve in lines.sort_values("beam").groupby(["way", "row"], sort=False):
        place = pairs.index(pair)
        aside = _ASIDE * (ways.index(way) - (len(ways) - 1) / 2)  # or intervals would hide each other
        figure.add_scatter(
            x=[beams.index(beam) + aside for beam in curve["beam"]], y=curve["mean"], mode="lines+markers",
            error_y={"type": "data", "array": curve["margin"], "thickness": 1.5, "width": 3}, name=escape(way),
            legendgroup=way, showlegend=not place, customdata=curve[["margin", "beam"]],
            line={**style[way], "dash": "dash" if curve["planned"].any() else "solid"},
            hovertemplate="beam %{customdata[1]}: %{y:.2f} ± %{customdata[0]:.2f}<extra>" + escape(way) + "</extra>",
            row=1, col=place + 1,
        )  # fmt: skip
    ticks = {"tickvals": list(range(len(beams))), "ticktext": [f"{beam:g}" for beam in beams]}
    figure.update_xaxes(title_text="beam size", zeroline=False, **ticks)
    figure.update_yaxes(title_text="BLEU (%)", col=1)
    figure.update_layout(legend=BELOW, margin_b=130)
    return dressed(figure, "BLEU by beam size: planned lengths beside other searches", 480)
