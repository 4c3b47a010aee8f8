"""The terms of candidates' logits (the tables of thesis 3.2.3 and 3.2.6.2 as a figure)."""

import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.marks import with_tokens
from nmtlab.figures.theme import COLOURS, dressed, plain

_SHOWN = {
    "word": "‖W<sub>e</sub>‖ ‖h̃‖ cos",
    "shared": "shared units: ‖W<sub>e</sub>‖ ‖h̃‖ cos",
    "private": "private units: ‖W<sub>e</sub>‖ ‖h̃‖ cos",
    "bias": "b<sub>e</sub>",
    "lexicon": "lexicon: ‖W<sup>l</sup><sub>e</sub>‖ ‖h<sup>l</sup>‖ cos",
    "lexicon_bias": "b<sup>l</sup><sub>e</sub>",
    "table": "table: log p",
}


def logit_figure(candidates: pd.DataFrame, values: pd.DataFrame) -> go.Figure:
    """Draw each candidate's terms as bars side by side, and their sum, the logit, as a marker.

    Args:
        candidates: rows of `logits.decompose` or `with_radius`.
        values: rows of `logits.term_values` for these candidates.
    """
    known = candidates["count"].notna()
    words, counts = candidates["word"].map(plain), candidates["count"]
    names = [
        f"{word}  ({count:,.0f}×)" if given else word for word, count, given in zip(words, counts, known, strict=True)
    ]
    labels = [f"<b>{name}</b>" if wanted else name for name, wanted in zip(names, candidates["wanted"], strict=True)]
    places = list(range(len(labels)))
    figure = go.Figure()
    for term, colour in zip(values.columns, COLOURS, strict=False):
        figure.add_bar(
            x=places, y=values[term], name=_SHOWN.get(term, term), marker_color=colour,
            hovertemplate="%{y:.3f}<extra>" + _SHOWN.get(term, term) + "</extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=places, y=candidates["logit"], mode="markers", name="logit",
        marker={"symbol": "diamond", "size": 10, "color": COLOURS[-1]},
        customdata=candidates[["rank"]], hovertemplate="logit %{y:.3f}, rank %{customdata[0]}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(
        tickmode="array",
        tickvals=places,
        ticktext=labels,
        title_text="candidate (training count); bold: the target word",
    )
    figure.update_yaxes(title_text="terms of the logit")
    figure.update_layout(barmode="group", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    with_tokens(figure, {"x": ("target", candidates["word"])}, types=True)
    return dressed(figure, "What makes a word win: the terms of its logit", 440)
