"""How do translations change as their length is rewarded more? (survey 6; n-best lists are rescored, not decoded)"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import NEURAL
from nmtlab.analysis.search.n_best import n_best_lists
from nmtlab.evaluation.resampling import corpus_score
from nmtlab.evaluation.scores import bleu_metric, default_tokenizer
from nmtlab.figures.theme import BELOW, dressed, styles
from nmtlab.figures.words import listed, number
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.search.rerank import best_candidates
from nmtlab.text.corpora.corpus import ParallelCorpus

STRENGTHS = tuple(np.arange(0, 2.01, 0.1).round(1).tolist())

FORMS: dict[str, Callable[[np.ndarray, np.ndarray, float], np.ndarray]] = {
    "log p / length^w": lambda log_prob, length, strength: log_prob / np.maximum(length, 1) ** strength,
    "log p + w length": lambda log_prob, length, strength: log_prob + strength * length,
}
"""Title -> the score of candidates, given their log-probabilities and lengths, and w."""


def length_scores(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    size: int = 50,
    search: SearchSettings | None = None,
    strengths: Sequence[float] = STRENGTHS,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
    sample: int | None = None,
) -> pd.DataFrame:
    """Rescore the n-best lists of a text with two scores of growing strength.

    Args:
        size, search, sample: as of `n_best`, whose answer is stored.
        strengths: values of w.

    Returns:
        A row for each score and strength: `score`, as `log p / length^w`; `strength`; `bleu`; `length_ratio` to the
        reference, in BLEU's tokens.
    """
    metric = bleu_metric(default_tokenizer(corpus.target))
    lists = n_best_lists(run, corpus, split, size, search, on_progress=on_progress, machine=machine, sample=sample)
    statistics = lists.statistics("bleu")
    log_prob, length = (lists.found[name].to_numpy(float) for name in ("log-prob", "length"))
    rows = []
    for title, form in FORMS.items():
        for strength in strengths:
            sums = statistics[best_candidates(form(log_prob, length, strength), lists.lines)].sum(0)
            rows.append((title, strength, corpus_score(metric)(sums.tolist()), sums[0] / sums[1]))
    return pd.DataFrame(rows, columns=["score", "strength", "bleu", "length_ratio"])


def _best(found: pd.DataFrame) -> pd.DataFrame:
    """Return the best strength of each score and run."""
    return found.loc[found.groupby(["run", "score"], sort=False)["bleu"].idxmax()].reset_index(drop=True)


def _said(found: pd.DataFrame) -> str:
    """Say how well each score does at its best strength, and how long its translations are."""
    parts = []
    for run, rows in _best(found).groupby("run", sort=False) if len(found) else ():
        best = (
            f"{number(row.bleu)} by {row.score} with w {number(row.strength, 1)}, {number(row.length_ratio)} of the "
            "reference's length"
            for row in rows.itertuples()
        )
        parts.append(f"{run} {listed(list(best), '; ')}; by log p alone {number(_by_log_p(found, str(run)))}")
    return f"Highest BLEU: {listed(parts, '. ')}." if parts else ""


def _by_log_p(found: pd.DataFrame, run: str) -> float:
    """Return the BLEU of a run's candidates with the highest log p; NaN if no strength is 0."""
    rows = found[(found["run"] == run) & (found["strength"] == 0)]
    return float(rows["bleu"].iloc[0]) if len(rows) else math.nan


def length_scores_figure(found: pd.DataFrame) -> go.Figure:
    """Draw BLEU and the length ratio over the strength: a line for each score and run."""
    panels = {"bleu": "BLEU (%)", "length_ratio": "length ratio to the reference"}
    figure = make_subplots(rows=1, cols=2, subplot_titles=list(panels.values()), horizontal_spacing=0.1)
    curves = found.assign(name=found["score"] + ", " + found["run"])
    look = styles(curves["name"])
    for column, measure in enumerate(panels, start=1):
        for name, curve in curves.groupby("name", sort=False):
            figure.add_scatter(
                x=curve["strength"], y=curve[measure], mode="lines+markers", name=str(name), legendgroup=str(name),
                showlegend=column == 1, line=look[str(name)], row=1, col=column,
                hovertemplate=f"w %{{x}}: %{{y:.3f}}<extra>{name}</extra>",
            )  # fmt: skip
    figure.add_hline(y=1, line={"dash": "dot", "width": 1}, row=1, col=2)
    figure.update_xaxes(title_text="strength w")
    figure.update_layout(legend=BELOW, margin_b=140)
    return dressed(figure, "BLEU and length of rescored n-best lists by the strength of the length's part", 460)


LENGTH_SCORES = Analysis(
    "How good and how long are the best of an n-best list as length counts more?",
    length_scores,
    source="survey 6",
    needs=(NEURAL,),
    version=1,
    columns=("score", "strength", "bleu", "length_ratio"),
    table=_best,
    figure=length_scores_figure,
    finding=_said,
)
