"""Many languages in one model (thesis 4.2): how alike they are inside, how well they translate, whether they fight."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.theme import BELOW, FAINT, SHADES, dressed, plain, see_through, styles

_CELL = 34
"""Pixels of a heatmap's row."""
_MOST_NUMBERED = 10
"""Maximum number of columns of a heatmap with a number in each cell."""
_AGAINST_AND_WITH = "RdBu"
"""Colour scale for cosines: red below 0, white at 0, blue above."""


def similarity_figure(similarity: pd.DataFrame) -> go.Figure:
    """Draw how alike languages are after each encoder layer: a line per pair, beside what chance gives.

    Args:
        similarity: rows of `layers.similarity_by_layer`, of one run.
    """
    titles = ["debiased CKA", "a translation is the nearest neighbour"]
    figure = make_subplots(cols=2, subplot_titles=titles, horizontal_spacing=0.12)
    named = similarity.assign(pair=similarity["language"] + " and " + similarity["other_language"])
    style = styles(named["pair"])
    by_layer = similarity.groupby("layer")
    chance = {1: (by_layer["null_mean"].min(), by_layer["null_95"].max()), 2: (by_layer["chance"].max(),)}
    for column, (low, *high) in chance.items():
        _add_chance(figure, low, high[0] if high else low, column)
    for pair, lines in named.groupby("pair", sort=False):
        both = lines[["precision", "precision_back"]].mean(axis=1)
        for column, values in ((1, lines["cka"]), (2, both)):
            figure.add_scatter(
                x=lines["layer"], y=values, mode="lines+markers", name=plain(pair), legendgroup=pair,
                showlegend=column == 1, line=style[pair], row=1, col=column,
                hovertemplate="after layer %{x}: %{y:.3f}<extra>" + plain(pair) + "</extra>",
            )  # fmt: skip
    figure.update_xaxes(title_text="encoder layer (0: embedding)", dtick=1)
    figure.update_yaxes(title_text="similarity of the same sentences", col=1)
    figure.update_yaxes(title_text="share of sentences (both ways)", rangemode="tozero", col=2)
    figure.update_layout(legend=BELOW, margin_b=110)
    sentences = int(similarity["sentences"].iloc[0]) if len(similarity) else 0
    return dressed(figure, f"How alike languages are, layer by layer: {sentences:,} sentences", 460)


def _add_chance(figure: go.Figure, low: pd.Series, high: pd.Series, column: int) -> None:
    figure.add_scatter(
        x=[*low.index, *high.index[::-1]], y=[*low, *high[::-1]], mode="lines", fill="toself", hoverinfo="skip",
        fillcolor=see_through(FAINT, 0.25), line={"color": FAINT, "width": 1}, legendgroup="chance",
        name="shuffled sentences (mean to 95 %), or chance", showlegend=column == 1, row=1, col=column,
    )  # fmt: skip


def probe_figure(probes: pd.DataFrame) -> go.Figure:
    """Draw how well the source language can be read off encoder states: a line for each kind of units.

    Args:
        probes: rows of `probes.language_by_layer`, of one run.
    """
    figure = go.Figure()
    style = styles(["all", "shared", "private"])
    for units, lines in probes.groupby("units", sort=False):
        figure.add_scatter(
            x=lines["layer"], y=100 * lines["accuracy"], mode="lines+markers", name=f"{units} units",
            line=style[str(units)], customdata=lines["width"],
            hovertemplate="after layer %{x}: %{y:.1f} %<extra>%{customdata} units, " + f"{units}</extra>",
        )  # fmt: skip
    chance = probes.drop_duplicates("layer")
    figure.add_scatter(
        x=chance["layer"], y=100 * chance["chance"], mode="lines", name="always the most frequent language",
        line={"color": FAINT, "dash": "dot"}, hoverinfo="skip",
    )  # fmt: skip
    figure.update_xaxes(title_text="encoder layer (0: embedding)", dtick=1)
    figure.update_yaxes(title_text="accuracy on new sentences (%)", range=[0, 103])
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, "Can the source language be read off the encoder's states?", 460)


def directions_figure(scores: pd.DataFrame, metric: str = "bleu", title: str = "") -> go.Figure:
    """Draw the scores of all directions, sources down and targets across; zero-shot ones are marked.

    A click on a cell gives the target as `x` and the source as `y`.

    Args:
        scores: rows of `directions.direction_scores`: `source`, `target`, `trained`, and a score.
        metric: column with the score, `bleu` or `chrf`.
        title: what was translated, and by what.
    """
    name = {"bleu": "BLEU", "chrf": "chrF"}[metric]
    known = dict.fromkeys([*scores["source"], *scores["target"]])
    sources, targets = ([code for code in known if code in set(scores[side])] for side in ("source", "target"))
    labelled = scores.assign(
        label=[
            f"<b>{score:.1f}</b>" if trained else f"{score:.1f}<br>zero-shot"
            for score, trained in zip(scores[metric], scores["trained"], strict=True)
        ]
    )
    values, labels = (
        labelled.pivot(index="source", columns="target", values=column).reindex(sources, columns=targets)
        for column in (metric, "label")
    )
    figure = go.Figure(
        go.Heatmap(
            x=targets, y=sources, z=values, text=labels.fillna(""), texttemplate="%{text}", colorscale=SHADES, zmin=0,
            zmax=max(1.0, scores[metric].max()), hoverongaps=False, colorbar={"title": {"text": name}}, xgap=2, ygap=2,
            hovertemplate="%{y} to %{x}: %{text}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(title_text="target language", type="category", showgrid=False)
    figure.update_yaxes(title_text="source language", type="category", autorange="reversed", showgrid=False)
    of = f": {plain(title)}" if title else ""
    return dressed(figure, f"{name} of all directions, trained ones bold{of}", 170 + 2 * _CELL * len(sources))


def gradient_cosine_figure(cosines: pd.DataFrame) -> go.Figure:
    """Draw the cosine of two directions' gradients: parts of the model down, pairs of directions across.

    The columns on the right are each direction with itself, on two halves of its text: what full agreement gives.

    Args:
        cosines: rows of `gradients.gradient_cosines`, of one run.
    """
    alone = cosines["direction"] == cosines["other_direction"]
    ordered = cosines.assign(alone=alone).sort_values("alone", kind="stable")
    columns = [_pair(*pair) for pair in ordered[["direction", "other_direction"]].itertuples(index=False)]
    rows = [_part(*part) for part in ordered[["side", "kind", "depth"]].itertuples(index=False)]
    wide = ordered.assign(column=columns, row=rows).pivot(index="row", columns="column", values="cosine")
    across, down = list(dict.fromkeys(columns)), list(dict.fromkeys(rows))
    wide = wide.reindex(down, columns=across)
    figure = go.Figure(
        go.Heatmap(
            x=across, y=down, z=wide, text=np.vectorize(_signed, otypes=[str])(wide),
            texttemplate="%{text}" if len(across) <= _MOST_NUMBERED else None,
            colorscale=_AGAINST_AND_WITH, zmin=-1, zmid=0, zmax=1, hoverongaps=False, xgap=1, ygap=1,
            colorbar={"title": {"text": "cosine"}}, hovertemplate="%{y}<br>%{x}: %{text}<extra></extra>",
        )
    )  # fmt: skip
    pairs = len(set(columns) - {_pair(name, name) for name in ordered["direction"]})
    figure.add_vline(pairs - 0.5, line={"color": "#222222", "width": 2})
    figure.update_xaxes(
        title_text="two directions; right of the line, two halves of one direction's text",
        type="category", showgrid=False,
    )  # fmt: skip
    if len(across) > _MOST_NUMBERED:  # two lines of a name would overlap the next
        one_line = [pair.replace("<br>", ", ") for pair in across]
        figure.update_xaxes(tickmode="array", tickvals=across, ticktext=one_line, tickangle=90, tickfont_size=10)
    figure.update_yaxes(title_text="part of the model", type="category", autorange="reversed", showgrid=False)
    return dressed(figure, "Do directions fight? Cosine of their gradients on shared weights", 200 + 26 * len(down))


def _pair(direction: str, other: str) -> str:
    return f"{direction}<br>two halves" if direction == other else f"{direction}<br>{other}"


def _part(side: str, kind: str, depth: int) -> str:
    return f"{side} {depth} {kind}" if side else kind


def _signed(cosine: float) -> str:
    return "" if math.isnan(cosine) else f"{cosine:+.2f}".replace("-", "−")
