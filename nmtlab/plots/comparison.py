"""Comparisons of translations: accuracy by kinds of words, and sentences won and lost."""

from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.theme import BELOW, FAINT, dressed, styles


def word_accuracy_figure(accuracy: pd.DataFrame, axis: str, text: str) -> go.Figure:
    """Draw the F1 of words by bucket, a bar for each system; `customdata` of a bar is its bucket.

    Args:
        accuracy: rows of `analysis.comparison.words.word_accuracy`.
        axis: what the buckets are of, such as "training frequency".
        text: name of the text.
    """
    figure = go.Figure()
    style = styles(accuracy["system"])
    for system, rows in accuracy.groupby("system", sort=False):
        hover = rows[["bucket", "words", "recall", "precision", "difference", "low", "high"]]
        difference = "<br>difference %{customdata[4]:+.3f} (%{customdata[5]:.3f} to %{customdata[6]:.3f})"
        figure.add_bar(
            x=rows["bucket"], y=100 * rows["f1"], name=escape(str(system)), customdata=hover, meta="bucket",
            marker_color=style[system]["color"],
            hovertemplate="%{x}: F1 %{y:.1f} %, %{customdata[1]:,.0f} words, recall %{customdata[2]:.1%}, precision "
            "%{customdata[3]:.1%}"
            + (difference if rows["difference"].notna().any() else "")
            + f"<extra>{escape(str(system))}</extra>",
        )  # fmt: skip
    words = accuracy.drop_duplicates("bucket").set_index("bucket")["words"]
    figure.update_xaxes(
        title_text=f"{axis} (words of the references)", type="category",
        tickvals=list(words.index), ticktext=[f"{bucket}<br>({count:,.0f})" for bucket, count in words.items()],
    )  # fmt: skip
    figure.update_yaxes(title_text="F1 of words (%)", rangemode="tozero")
    figure.update_layout(barmode="group", legend=BELOW, margin_b=120)
    return dressed(figure, f"Which words are right, by {escape(axis)}:<br>{escape(text)}", 420)


def gains_figure(gains: pd.Series, system: str, than: str) -> go.Figure:
    """Draw the differences of sentence scores, sorted: how many sentences are won and lost, and by how much.

    Args:
        gains: chrF of the one minus chrF of the other, by line.
        system: the one.
        than: the other.
    """
    ordered = gains.sort_values(kind="stable")
    share = 100 * (np.arange(len(ordered)) + 0.5) / max(1, len(ordered))
    figure = go.Figure(
        go.Scatter(
            x=share, y=ordered, mode="lines", fill="tozeroy", line={"color": styles([than, system])[system]["color"]},
            customdata=ordered.index, hovertemplate="line %{customdata}: %{y:+.1f}<extra></extra>", meta="line",
        )
    )  # fmt: skip
    figure.add_hline(0, line={"color": FAINT, "width": 1})
    figure.update_xaxes(title_text="sentences, from the largest loss to the largest win (%)", range=[0, 100])
    figure.update_yaxes(title_text="difference in chrF")
    return dressed(figure, f"Sentences lost and won:<br>{escape(system)} minus {escape(than)}", 420)
