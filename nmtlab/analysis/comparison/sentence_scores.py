"""Which sentences does a system win over another one, and by which words?"""

from collections.abc import Sequence
from html import escape
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.comparison.compared import Compared
from nmtlab.analysis.comparison.words import matched
from nmtlab.figures.theme import BELOW, FAINT, dressed, styles
from nmtlab.figures.words import number


class Marked(NamedTuple):
    """A word, and whether the other text has it too."""

    word: str
    shared: bool


class Scale(NamedTuple):
    """How the scores of sentences by a metric are compared.

    Args:
        metric: its title.
        tie: largest difference that counts as equally well.
        better: which scores are better, `higher` or `lower`.
        decimals: of scores, for display.
    """

    metric: str = "chrF"
    tie: float = 1.0
    better: Literal["higher", "lower"] = "higher"
    decimals: int = 1

    @property
    def ties(self) -> str:
        """What counts as a tie, in words."""
        return f"±{self.tie:g} {self.metric}" if self.tie else f"equal {self.metric}"

    def gains(self, scores: pd.DataFrame, system: str, than: str) -> pd.Series:
        """Return by how much one system is better than another one in each sentence; negative where it is worse."""
        gain = scores[system] - scores[than]
        return gain if self.better == "higher" else -gain


CHRF = Scale()


def scales(compared: Compared) -> dict[str, Scale]:
    """Return the metrics that score sentences, by title: chrF, then those from elsewhere."""
    return {"chrF": CHRF} | {one.name: Scale(one.name, 0.0, one.better, 3) for one in compared.given}


def sentence_scores(compared: Compared, scale: Scale = CHRF) -> pd.DataFrame:
    """Return how well each system translates each sentence, as the mean over seeds.

    Returns:
        A row for each sentence, indexed by `line`, from 1, and a column for each system.
    """
    scores = {
        name: np.mean([[of.score(counts) for counts in of_seed] for of_seed in of.statistics.tolist()], axis=0)
        for name, of in compared.counted(scale.metric).items()
    }
    return pd.DataFrame(scores, index=pd.RangeIndex(1, len(compared.source) + 1, name="line"))


def wins_and_losses(scores: pd.DataFrame, system: str, than: str, scale: Scale = CHRF) -> dict[str, int]:
    """Return how many sentences a system translates better, equally well and worse than another one."""
    gain, tie = scale.gains(scores, system, than), scale.tie
    return {"wins": int((gain > tie).sum()), "ties": int((gain.abs() <= tie).sum()), "losses": int((gain < -tie).sum())}


def gains_figure(gains: pd.Series, system: str, than: str, scale: Scale = CHRF) -> go.Figure:
    """Draw the differences of sentence scores, sorted: how many sentences are won and lost, and by how much.

    Args:
        gains: of `Scale.gains`, by line.
    """
    ordered = gains.sort_values(kind="stable")
    share = 100 * (np.arange(len(ordered)) + 0.5) / max(1, len(ordered))
    figure = go.Figure(
        go.Scatter(
            x=share, y=ordered, mode="lines", fill="tozeroy", line={"color": styles([than, system])[system]["color"]},
            customdata=ordered.index, meta="line",
            hovertemplate=f"line %{{customdata}}: %{{y:+.{scale.decimals}f}}<extra></extra>",
        )
    )  # fmt: skip
    figure.add_hline(0, line={"color": FAINT, "width": 1})
    figure.update_xaxes(title_text="sentences, from the largest loss to the largest win (%)", range=[0, 100])
    figure.update_yaxes(title_text=f"difference in {escape(scale.metric)}")
    one, other = (system, than) if scale.better == "higher" else (than, system)
    return dressed(figure, f"Sentences lost and won:<br>{escape(one)} minus {escape(other)}", 420)


def scores_figure(scores: pd.DataFrame, system: str, than: str, scale: Scale = CHRF) -> go.Figure:
    """Draw the score of each sentence by two systems; `customdata` of a point is its line.

    Args:
        scores: of `sentence_scores`.
    """
    gain, style = scale.gains(scores, system, than), styles([than, system])
    figure = go.Figure()
    parts = (
        (f"{escape(system)} better", gain > scale.tie, style[system]["color"]),
        (f"{escape(than)} better", gain < -scale.tie, style[than]["color"]),
        (f"ties ({escape(scale.ties)})", gain.abs() <= scale.tie, FAINT),
    )
    point = f"%{{y:.{scale.decimals}f}} against %{{x:.{scale.decimals}f}}"
    for name, chosen, colour in parts:
        some = scores[chosen]
        figure.add_scatter(
            x=some[than], y=some[system], mode="markers", name=f"{name}: {len(some):,}", customdata=some.index,
            meta="line", marker={"size": 6, "opacity": 0.6, "color": colour},
            hovertemplate=f"line %{{customdata}}: {point}<extra></extra>",
        )  # fmt: skip
    pair = scores[[system, than]].to_numpy()
    low, high = (0, 100) if scale is CHRF else (float(pair.min()), float(pair.max()))
    figure.add_shape(type="line", x0=low, y0=low, x1=high, y1=high, line={"color": FAINT, "width": 1})
    margin = (high - low) / 50
    whole = {"range": [low - margin, high + margin], "zeroline": False}
    figure.update_xaxes(title_text=f"{escape(scale.metric)} of {escape(than)}", **whole)
    figure.update_yaxes(title_text=f"{escape(scale.metric)} of {escape(system)}", **whole)
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, f"Each sentence by both systems:<br>{escape(system)} and {escape(than)}", 520)


def comparison_finding(
    scores: pd.DataFrame, differences: pd.DataFrame, system: str, than: str, scale: Scale = CHRF
) -> str:
    """Return by how much one of two systems is better, and how many sentences it wins.

    Args:
        scores: of `sentence_scores`.
        differences: rows of one metric, BLEU or that of the scale, of `grids.results.score_differences`, in which
            `than` is the first system; without them the finding is on sentences alone.
    """
    counts = wins_and_losses(scores, system, than, scale)
    won = f"wins {counts['wins']} sentences, loses {counts['losses']} and ties {counts['ties']} ({scale.ties})"
    found = differences[differences["system"] == system].dropna(subset="difference")
    if found.empty:
        return f"{system} {won} against {than}." if system != than else ""
    metric, gain, low, high = found.iloc[0][["metric", "difference", "low", "high"]]
    decimals = scale.decimals
    if low <= 0 <= high:
        ends = f"{number(low, decimals)} to {number(high, decimals)}"
        interval = f"{number(gain, decimals, sign=True)}, 95 % interval {ends}"
        return f"No clear difference in {metric} between {system} and {than} ({interval}); {system} {won}."
    way = "better" if (gain > 0) == (scale.better == "higher") else "worse"
    interval = " to ".join(number(end, decimals) for end in sorted(abs(end) for end in (low, high)))
    size = number(abs(gain), decimals)
    return f"{system} is {way} than {than} by {size} {metric} (95 % interval {interval}); it {won}."


def marked(words: Sequence[str], others: Sequence[str]) -> list[Marked]:
    """Return the words of a line, each marked by whether another line has it; each of its words counts once."""
    return [Marked(*one) for one in zip(words, matched(words, others), strict=True)]
