"""Translations of a word: learned, aligned and gold (Table 3.9 as a figure)."""

import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.marks import with_tokens
from nmtlab.figures.theme import COLOURS, dressed, plain


def lexicon_figure(word: str, translations: pd.DataFrame) -> go.Figure:
    """Draw the translations of one source word and their probabilities.

    Args:
        word: of the source side.
        translations: `by` (their origin: a system, an aligner or gold data), `target`, `probability`, 0 to 1.
    """
    figure = go.Figure()
    for (by, rows), colour in zip(translations.groupby("by", sort=False), COLOURS, strict=False):
        figure.add_bar(
            x=[plain(target) for target in rows["target"]], y=rows["probability"], name=plain(str(by)),
            marker_color=colour, hovertemplate="%{x}: %{y:.3f}<extra>" + plain(str(by)) + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="translation", type="category")
    figure.update_yaxes(title_text="p(translation | word)", range=[0, 1.02])
    figure.update_layout(
        barmode="group", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}, showlegend=True
    )
    with_tokens(figure, {"x": ("target", dict.fromkeys(translations["target"]))}, types=True)
    return dressed(figure, f"Translations of {plain(word)}", 380)
