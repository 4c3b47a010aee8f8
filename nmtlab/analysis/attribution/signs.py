"""Which sign of a bad translation can be trusted when there is no reference? (Fomicheva et al. 2020; survey 12.3)

found = SOURCE_SHARE.of(run, corpus=corpus, split="dev", sample=100).assign(run=run.label)
display(signs_view(found).table, signs_view(found))
"""

import math
from collections.abc import Callable, Mapping
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.lexical.embedding_norms import spearman
from nmtlab.evaluation.expected_utility import pairwise_chrf
from nmtlab.figures.theme import BELOW, FAINT, SOLID, dressed, name_in_lines, styles
from nmtlab.figures.view import View
from nmtlab.figures.words import listed, number

_OTHERS = "likeness to other systems"
_TAIL = 0.1
"""Share of the sentences that are the worst."""


def _usual_length(rows: pd.DataFrame) -> pd.Series:
    """Return how near translations are to the usual ratio of lengths; the empty one is the farthest."""
    ratios = rows["length_ratio"].clip(lower=1e-9)
    return -np.log(ratios / ratios.median()).abs()


_SIGNS: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "high log p per token": lambda rows: rows["log_prob"],
    "large share from the source": lambda rows: rows["source_share"],
    "likeness to its samples": lambda rows: rows["agreement"],
    "usual length": _usual_length,
    "no repetition": lambda rows: -rows["repeats"],
    _OTHERS: lambda rows: rows["others"],
}
"""Signs of a good translation -> their strength, from rows of `signs`."""


def signs(found: pd.DataFrame) -> pd.DataFrame:
    """Return how well each sign of a translation goes with its chrF.

    Args:
        found: rows of `source_shares`, with their `run`; if all of several runs have a line, how alike its translations
            are is a sign, too.

    Returns:
        A row for each run and sign: `run`; `sign`, of a good translation; `rho`, its rank correlation with sentence
        chrF, -1 to 1; `worst_found`, the share of the tenth with the lowest chrF that is in the tenth with the weakest
        sign, 0 to 1 (0.1 by chance); both missing if sign or chrF is the same for all sentences; `sentences`.
    """
    with_others = found.assign(others=_likeness(found))
    lines = []
    for run, rows in with_others.groupby("run", sort=False):
        for sign, strength in _SIGNS.items():
            strengths = strength(rows)
            if strengths.notna().all():
                rho, found_worst = spearman(strengths, rows["chrf"]), _worst_found(strengths, rows["chrf"])
                lines.append((run, sign, rho, math.nan if math.isnan(rho) else found_worst, len(rows)))
    return pd.DataFrame(lines, columns=["run", "sign", "rho", "worst_found", "sentences"])


def _likeness(found: pd.DataFrame) -> pd.Series:
    """Return the mean chrF of each translation with those of other runs for its line; missing if one run lacks it."""
    likeness = pd.Series(np.nan, index=found.index)
    runs = found["run"].nunique()
    for _, rows in found.groupby("line"):
        if len(rows) == runs > 1:
            pairs = pairwise_chrf(rows["translation"].tolist())
            likeness[rows.index] = (pairs.sum(axis=1) - pairs.diagonal()) / (runs - 1)
    return likeness


def _worst_found(strengths: pd.Series, scores: pd.Series) -> float:
    """Return the share of the worst sentences among the weakest; ties of either are broken by chance, on average."""
    size = max(1, round(_TAIL * len(scores)))
    weakest, worst = (_chance_of_lowest(of, size) for of in (strengths, scores))
    return float(weakest @ worst) / size


def _chance_of_lowest(values: pd.Series, size: int) -> np.ndarray:
    """Return the probability of each value to be among so many of the lowest, if equal ones are in random order."""
    last = np.sort(values)[size - 1]
    below, tied = (values < last).to_numpy(), (values == last).to_numpy()
    return below + tied * (size - below.sum()) / tied.sum()


def signs_view(found: pd.DataFrame) -> View:
    """Show how well each sign of a good translation goes with its chrF; arguments as of `signs`."""
    measured = signs(found)
    shown = measured.rename(columns={"rho": "ρ with chrF", "worst_found": "worst tenth found"})
    return View(shown, signs_figure(measured), finding=signs_finding(measured))


def signs_figure(measured: pd.DataFrame) -> go.Figure:
    """Draw the rank correlation of each sign with chrF, a point a run.

    Args:
        measured: rows of `signs`.
    """
    figure, style = go.Figure(), styles(measured["run"], SOLID)
    for run, rows in measured.groupby("run", sort=False):
        figure.add_scatter(
            x=rows["rho"], y=rows["sign"], mode="markers", name=name_in_lines(str(run)),
            marker={"color": style[str(run)]["color"], "size": 10}, customdata=100 * rows["worst_found"],
            hovertemplate="%{y}: ρ %{x:.2f}; %{customdata:.0f} % of the worst tenth found"
            f"<extra>{escape(str(run))}</extra>",
        )  # fmt: skip
    names = list(dict.fromkeys(measured["sign"]))
    figure.add_vline(0, line={"color": FAINT, "width": 1})
    figure.update_xaxes(title_text="rank correlation ρ with sentence chrF", range=[-1, 1])
    figure.update_yaxes(categoryorder="array", categoryarray=names[::-1], title_text="sign of a good translation")
    figure.update_layout(legend=BELOW)
    return dressed(figure, "Which sign finds the bad translations?", 160 + 40 * len(names))


def signs_finding(measured: pd.DataFrame) -> str:
    """Say how well signs go with chrF, the best first; of rows of `signs`, the mean over runs."""
    means = measured.groupby("sign", sort=False)[["rho", "worst_found"]].mean().dropna()
    if means.empty:
        return ""
    best = means.sort_values("rho", ascending=False, kind="stable")
    said = [
        f"{line.Index} (ρ {number(line.rho)}, {number(100 * line.worst_found, 0)} % of the worst tenth)"
        for line in best.itertuples()
    ]
    return f"How well a sign of a good translation goes with its chrF: {listed(said)}."
