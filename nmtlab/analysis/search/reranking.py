"""What does another order of n-best lists change? Beside the search's order, and the best and worst of each list."""

import math
from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.search.n_best import Lists
from nmtlab.evaluation.resampling import compared
from nmtlab.figures.theme import COLOURS, FAINT, dressed
from nmtlab.figures.words import number

METRICS = {"bleu": "BLEU", "chrf": "chrF"}
"""Metric, as of `Lists.counted` -> its title."""

ORDERS = {
    "worst": "the worst of each list", "search": "the search's first", "reranked": "reranked first",
    "oracle": "the best of each list",
}  # fmt: skip
"""What is chosen of each list -> its title. Best and worst are so by sentence chrF, which needs the reference."""

TITLES = {
    "log-prob": "log p(y|x)", "length": "length", "chrf": "expected chrF", "channel": "log p(x|y)",
    "second": "second log p(y|x)", "language-model": "log p(y)",
    "blank": "neural log p(y)", "lexicon": "lexical log p(y|x)", "coverage-wu": "coverage (Wu)",
    "coverage-li": "coverage (Li)", "covered": "covered source tokens",
}  # fmt: skip
"""Feature of a candidate y of the source x -> its title."""

_DRAWS = 200  # resampled texts: a fifth of a test's, so that sliders need not wait


def scores_of_orders(lists: Lists, weights: Mapping[str, float]) -> pd.DataFrame:
    """Return the scores of the translations that come first in each order of n-best lists.

    Args:
        weights: of features, by their names.

    Returns:
        A row for each of `ORDERS`: `order`; `bleu` and `chrf`; `bleu_margin` and `chrf_margin`, half of their 95 %
        interval over 200 resampled texts, and `bleu_p` and `chrf_p` of the difference to the search's first, by paired
        bootstrap resampling, all four NaN for best and worst; `changed`, of how many of the `sentences` it is another
        text than the search's first.
    """
    chosen = {
        "worst": lists.worst(), "search": lists.first(), "reranked": lists.reranked(weights), "oracle": lists.oracle(),
    }  # fmt: skip
    texts = {order: lists.texts(places) for order, places in chosen.items()}
    rows = {
        order: {"changed": sum(one != first for one, first in zip(texts[order], texts["search"], strict=True))}
        for order in chosen
    }
    found = pd.DataFrame.from_dict(rows, orient="index").assign(sentences=len(chosen["search"]))
    for metric in METRICS:
        counts = lists.counted(metric, chosen.values())
        found[metric] = [counts.score(sums) for sums in counts.statistics.sum(1).tolist()]
        tested = ["search", "reranked"]
        for row in compared(tested, lists.counted(metric, [chosen[order] for order in tested]), _DRAWS):
            found.loc[row.system, f"{metric}_margin"] = row.margin
            found.loc[row.system, f"{metric}_p"] = math.nan if row.p is None else row.p
    return found.rename_axis("order").reset_index()


def orders_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the rows of `scores_of_orders`: what is reranked between the best and the worst that the lists have."""
    figure = make_subplots(cols=2, shared_yaxes=True, subplot_titles=list(METRICS.values()), horizontal_spacing=0.05)
    colours = {"search": COLOURS[0], "reranked": COLOURS[1]}
    for column, metric in enumerate(METRICS, start=1):
        figure.add_scatter(
            x=found[metric], y=found["order"].map(ORDERS), mode="markers+text", showlegend=False,
            marker={"size": 12, "color": [colours.get(order, FAINT) for order in found["order"]]},
            error_x={"array": found[f"{metric}_margin"], "color": FAINT, "thickness": 1.5},
            text=found[metric].map(number), textposition="top center", cliponaxis=False,
            hovertemplate=f"%{{y}}: {METRICS[metric]} %{{x:.2f}}<extra></extra>", row=1, col=column,
        )  # fmt: skip
        figure.update_xaxes(title_text=METRICS[metric], rangemode="tozero", col=column)
    return dressed(figure, "Scores of the first translations by the order of the n-best lists", 380)


def reranking_finding(found: pd.DataFrame, weights: Mapping[str, float]) -> str:
    """Return what an order by weights changes, in two sentences.

    Args:
        found: rows of `scores_of_orders`.
        weights: of features, which its reranked order has.
    """
    by = found.set_index("order")
    gained = [
        f"{title} {number(by.loc['reranked', metric])} instead of {number(by.loc['search', metric])} "
        f"(p {number(by.loc['reranked', f'{metric}_p'], 3)})"
        for metric, title in METRICS.items()
    ]
    best, worst = (number(by.loc[order, "bleu"]) for order in ("oracle", "worst"))
    changed, sentences = by.loc["reranked", ["changed", "sentences"]].astype(int)
    return (
        f"Reranked by {sum_in_words(weights)}: {' and '.join(gained)}; {changed:,} of {sentences:,} sentences change. "
        f"The best candidate of each list would give BLEU {best}, the worst {worst}."
    )


def sum_in_words(weights: Mapping[str, float]) -> str:
    """Return a weighted sum of features as a reader writes it, without those that count nothing."""
    parts = [
        f"{'−' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):g} '}{TITLES[name]}"
        for name, weight in weights.items()
        if weight
    ]
    return " ".join(parts).removeprefix("+ ") or "nothing"


def reranked_sentences(lists: Lists, weights: Mapping[str, float]) -> pd.DataFrame:
    """Return the search's first translation of each sentence beside that of another order, changed ones first.

    Returns:
        A row for each sentence: `line` in the text, from 1; `source`; `search` and `reranked`, texts; `gain`, the
        latter's sentence chrF minus the former's.
    """
    first, reranked, chrf = lists.first(), lists.reranked(weights), lists.sentence_chrf
    lines = lists.lines[first]
    sources = list(lists.corpus.lines(lists.split, lists.corpus.source))
    found = pd.DataFrame({"line": lines, "source": [sources[line - 1] for line in lines]})
    found = found.assign(search=lists.texts(first), reranked=lists.texts(reranked), gain=chrf[reranked] - chrf[first])
    unchanged = found["search"] == found["reranked"]
    return found.iloc[unchanged.argsort(kind="stable")].reset_index(drop=True)


def reranked_list(lists: Lists, weights: Mapping[str, float], line: int) -> pd.DataFrame:
    """Return the candidates of a sentence in the order of their weighted sums.

    Args:
        line: of the text, from 1.

    Returns:
        A row for each candidate: `text`; `rank` in the search's order, from 1; `sum`; the features; `reference`, its
        sentence chrF with the reference.
    """
    (places,) = (lists.lines == line).nonzero()
    found = lists.found.iloc[places][["text", *lists.features]].assign(
        rank=range(1, len(places) + 1), sum=lists.sums(weights)[places], reference=lists.sentence_chrf[places]
    )
    ordered = found.sort_values("sum", ascending=False, kind="stable", ignore_index=True)
    return ordered[["text", "rank", "sum", *lists.features, "reference"]]
