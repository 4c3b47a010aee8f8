"""The probability of each token of a translation."""

import math

import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.marks import with_tokens
from nmtlab.figures.theme import COLOURS, FAINT, dressed, plain

_SURE = 0.5


def token_figure(tokens: pd.DataFrame) -> go.Figure:
    """Draw the probability of each token, with those below 0.5 in another colour.

    Args:
        tokens: rows of `tokens.token_probabilities`.
    """
    colours = [COLOURS[0] if sure else COLOURS[1] for sure in tokens["probability"] >= _SURE]
    figure = go.Figure()
    figure.add_bar(
        x=tokens["position"], y=tokens["probability"], marker_color=colours,
        customdata=[
            [plain(piece), _times(count), rank, plain(likeliest)]
            for piece, count, rank, likeliest in tokens[["piece", "count", "rank", "likeliest"]].itertuples(index=False)
        ],
        hovertemplate="%{customdata[0]}: %{y:.3f}, rank %{customdata[2]}<br>%{customdata[1]}<br>"
        "likeliest: %{customdata[3]}<extra></extra>",
    )  # fmt: skip
    figure.add_hline(y=_SURE, line={"color": FAINT, "dash": "dot"})
    pieces = [
        f"<b>{plain(piece)}</b>" if unknown else plain(piece)
        for piece, unknown in zip(tokens["piece"], tokens["unknown"], strict=True)
    ]
    ticks = {
        "tickmode": "array",
        "tickvals": tokens["position"],
        "ticktext": pieces,
    }
    figure.update_xaxes(**ticks, tickangle=-40, title_text="token (bold: unknown to the system)")
    figure.update_yaxes(range=[0, 1.02], title_text="p(token | source, prefix)")
    with_tokens(figure, {"x": ("target", tokens["piece"])})
    return dressed(figure, "How sure the system is of each token", 380)


def _times(count: float) -> str:
    return "training count unknown" if math.isnan(count) else f"{count:.0f} times in training"
