"""Which sentences does a system win over another one, and by which words?"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.comparison.compared import Compared
from nmtlab.analysis.comparison.words import matched
from nmtlab.evaluation.resampling import corpus_score
from nmtlab.evaluation.scores import chrf_metric
from nmtlab.figures.theme import FAINT, dressed, styles


class Marked(NamedTuple):
    """A word, and whether the other text has it too."""

    word: str
    shared: bool


def sentence_scores(compared: Compared) -> pd.DataFrame:
    """Return how well each system translates each sentence: its chrF, as the mean over seeds.

    Returns:
        A row for each sentence, indexed by `line`, from 1, and a column for each system.
    """
    score = corpus_score(chrf_metric())
    scores = {
        name: np.mean([[score(counts) for counts in of_seed] for of_seed in counts_of_seeds.tolist()], axis=0)
        for name, counts_of_seeds in compared.chrf_counts.items()
    }
    return pd.DataFrame(scores, index=pd.RangeIndex(1, len(compared.source) + 1, name="line"))


def wins_and_losses(scores: pd.DataFrame, system: str, than: str, tie: float = 1.0) -> dict[str, int]:
    """Return how many sentences a system translates better, equally well and worse than another one.

    Args:
        tie: largest difference that counts as equally well, in points of chrF.
    """
    gain = scores[system] - scores[than]
    return {"wins": int((gain > tie).sum()), "ties": int((gain.abs() <= tie).sum()), "losses": int((gain < -tie).sum())}


def gains_figure(gains: pd.Series, system: str, than: str) -> go.Figure:
    """Draw the differences of sentence scores, sorted: how many sentences are won and lost, and by how much.

    Args:
        gains: chrF of the one minus chrF of the other, by line.
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


def marked(words: Sequence[str], others: Sequence[str]) -> list[Marked]:
    """Return the words of a line, each marked by whether another line has it; each of its words counts once."""
    return [Marked(*one) for one in zip(words, matched(words, others), strict=True)]
