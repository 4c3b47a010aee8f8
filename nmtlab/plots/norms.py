"""Norm of output embeddings and output biases by frequency (thesis Figure 3.2)."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.figures.marks import some_words, with_words
from nmtlab.figures.theme import dressed, log_axis, name_in_lines, plain, see_through, styles

_MAX_WORDS = 1000  # per run
_ROUNDING = 1e-3  # difference of equal values, as a share of them
_SHOWN = {
    "used_norm": "‖W<sub>e</sub>‖ as used",
    "norm": "‖W<sub>e</sub>‖ as stored",
    "bias": "b<sub>e</sub>",
}


def norm_figure(bins: pd.DataFrame, words: pd.DataFrame | None = None, also: str = "") -> go.Figure:
    """Draw median and range of bins of words over their frequency rank.

    Args:
        bins: rows of `norms.norm_bins` with a column `run`.
        words: rows of `norms.word_norms` with a column `run`, drawn as selectable points, of many words every n-th;
            the `customdata` of a point is the word and its count, the `meta` of a trace its run.
        also: a word that is drawn in any case.
    """
    quantities = [name for name in ("used_norm", "norm", "bias") if name in set(bins["quantity"])]
    if "used_norm" in quantities and "norm" in quantities:
        quantities.remove("norm")  # the norm as used decides the logit
    figure = make_subplots(cols=len(quantities), horizontal_spacing=0.1)
    style = styles(bins["run"])
    for column, quantity in enumerate(quantities, start=1):
        for run, run_bins in bins[bins["quantity"] == quantity].groupby("run", sort=False):
            first = column == 1
            if words is not None:
                drawn = some_words(words[words["run"] == run], _MAX_WORDS, also)
                _add_words(figure, drawn, str(run), quantity, style[run]["color"], column)
            _add_bins(figure, run_bins, str(run), style[run], column, first)
        ranks = log_axis([*bins["first_rank"], *bins["last_rank"]])
        figure.update_xaxes(title_text="frequency rank of the word", **ranks, col=column)
        figure.update_yaxes(title_text=_SHOWN[quantity], **_whole_axis(bins[bins["quantity"] == quantity]), col=column)
    figure.update_layout(legend={"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0})
    with_words(figure, "target")
    return dressed(figure, "Norm of output embeddings, and biases, by frequency: median and range per bin", 460)


def _whole_axis(bins: pd.DataFrame) -> dict[str, list[float]]:
    """Return a range around values that differ by rounding alone, as fixed norms do; none for others."""
    low, high = float(bins["lowest"].min()), float(bins["highest"].max())
    middle, margin = (low + high) / 2, abs(low + high) / 20
    return {"range": [middle - margin, middle + margin]} if high - low < _ROUNDING * abs(middle) else {}


def _add_bins(figure: go.Figure, bins: pd.DataFrame, run: str, style: dict[str, str], column: int, named: bool) -> None:
    middle = (bins["first_rank"] * bins["last_rank"]) ** 0.5
    shared = {"legendgroup": name_in_lines(run), "x": middle}
    figure.add_scatter(
        y=bins["highest"], mode="lines", line_width=0, showlegend=False, hoverinfo="skip", **shared, row=1, col=column
    )
    figure.add_scatter(
        y=bins["lowest"], mode="lines", line_width=0, fill="tonexty", fillcolor=see_through(style["color"], 0.15),
        showlegend=False, hoverinfo="skip", **shared, row=1, col=column,
    )  # fmt: skip
    figure.add_scatter(
        y=bins["median"], mode="lines+markers", name=name_in_lines(run), line=style, showlegend=named,
        customdata=bins[["first_rank", "last_rank", "lowest", "highest"]],
        hovertemplate="ranks %{customdata[0]}–%{customdata[1]}<br>median %{y:.3f}, %{customdata[2]:.3f} to "
        "%{customdata[3]:.3f}<extra>" + name_in_lines(run) + "</extra>", **shared, row=1, col=column,
    )  # fmt: skip


def _add_words(figure: go.Figure, words: pd.DataFrame, run: str, quantity: str, colour: str, column: int) -> None:
    figure.add_scatter(
        x=words["rank"], y=words[quantity], mode="markers", legendgroup=name_in_lines(run), meta=run, showlegend=False,
        marker={"size": 4, "color": see_through(colour, 0.35)}, text=[plain(word) for word in words["word"]],
        customdata=words[["word", "count"]],
        hovertemplate="%{text}<br>%{customdata[1]} times in training<br>%{y:.3f}<extra></extra>", row=1, col=column,
    )  # fmt: skip
