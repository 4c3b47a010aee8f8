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
from nmtlab.figures.theme import BELOW, FAINT, dressed, styles
from nmtlab.figures.words import number


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


def scores_figure(scores: pd.DataFrame, system: str, than: str, tie: float = 1.0) -> go.Figure:
    """Draw the chrF of each sentence by two systems; `customdata` of a point is its line.

    Args:
        scores: of `sentence_scores`.
        tie: as of `wins_and_losses`.
    """
    gain, style = scores[system] - scores[than], styles([than, system])
    figure = go.Figure()
    parts = (
        (f"{escape(system)} better", gain > tie, style[system]["color"]),
        (f"{escape(than)} better", gain < -tie, style[than]["color"]),
        (f"ties (±{tie:g} chrF)", gain.abs() <= tie, FAINT),
    )
    for name, chosen, colour in parts:
        some = scores[chosen]
        figure.add_scatter(
            x=some[than], y=some[system], mode="markers", name=f"{name}: {len(some):,}", customdata=some.index,
            meta="line", marker={"size": 6, "opacity": 0.6, "color": colour},
            hovertemplate="line %{customdata}: %{y:.1f} against %{x:.1f}<extra></extra>",
        )  # fmt: skip
    figure.add_shape(type="line", x0=0, y0=0, x1=100, y1=100, line={"color": FAINT, "width": 1})
    whole = {"range": [-2, 102], "zeroline": False}
    figure.update_xaxes(title_text=f"chrF of {escape(than)}", **whole)
    figure.update_yaxes(title_text=f"chrF of {escape(system)}", **whole)
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, f"Each sentence by both systems:<br>{escape(system)} and {escape(than)}", 520)


def comparison_finding(scores: pd.DataFrame, differences: pd.DataFrame, system: str, than: str) -> str:
    """Return by how much one of two systems is better, and how many sentences it wins.

    Args:
        scores: of `sentence_scores`.
        differences: rows of BLEU of `grids.results.score_differences`, in which `than` is the first system; without
            them the finding is on sentences alone.
    """
    counts = wins_and_losses(scores, system, than)
    won = f"wins {counts['wins']} sentences, loses {counts['losses']} and ties {counts['ties']} (±1 chrF)"
    found = differences[differences["system"] == system].dropna(subset="difference")
    if found.empty:
        return f"{system} {won} against {than}." if system != than else ""
    gain, low, high = found.iloc[0][["difference", "low", "high"]]
    if low <= 0 <= high:
        interval = f"{number(gain, 1, sign=True)}, 95 % interval {number(low, 1)} to {number(high, 1)}"
        return f"No clear difference in BLEU between {system} and {than} ({interval}); {system} {won}."
    ends = sorted(abs(end) for end in (low, high))
    way = "better" if gain > 0 else "worse"
    interval = " to ".join(number(end, 1) for end in ends)
    return f"{system} is {way} than {than} by {number(abs(gain), 1)} BLEU (95 % interval {interval}); it {won}."


def marked(words: Sequence[str], others: Sequence[str]) -> list[Marked]:
    """Return the words of a line, each marked by whether another line has it; each of its words counts once."""
    return [Marked(*one) for one in zip(words, matched(words, others), strict=True)]
