"""Is attention focused, and does it cover the source? Signs of a bad translation that need no reference.

Penalties of a translation of I tokens of a source of J, both without EOS, from its attention a (Rikters and Fishel
2017, *Confidence through Attention*). The coverage deviation is 1/J Σ_j log(1 + (1 - Σ_i a_ij)²). Absentmindedness is
-1/I Σ_i Σ_j a_ij log a_ij, the mean entropy of what a target token attends to, and -1/J Σ_j Σ_i â_ij log â_ij, that of
what attends to a source token, where â_ij = a_ij / Σ_i a_ij.
"""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import ATTENDS, NEURAL, WEIGHTS, Need, in_direction
from nmtlab.figures.theme import BELOW, dressed, name_in_lines, styles
from nmtlab.figures.words import listed, number
from nmtlab.runs.run import Run
from nmtlab.search.attention import last_layer
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.vocabulary import EOS

PENALTIES = ("coverage_deviation", "absentmindedness_out", "absentmindedness_in")
_COLUMNS = ("line", "source_length", "target_length", *PENALTIES)
_BIN = 5
"""Source tokens in a bin of the figure."""

_SENTENCES = Need(
    "no sentences", "no sentences are packed with it", "choose a packed run with sentences",
    lambda run: run.sentences is not None, packed_text=True,
)  # fmt: skip


def penalties(weights: np.ndarray) -> tuple[float, float, float]:
    """Return coverage deviation and both kinds of absentmindedness, in nats.

    Args:
        weights: (I, J), at least one of each; a row adds up to at most 1, the rest being on EOS.
    """
    coverage = weights.sum(0)
    received = weights / np.where(coverage > 0, coverage, 1)
    return float(np.log1p((1 - coverage) ** 2).mean()), _entropy(weights, 1), _entropy(received, 0)


def _entropy(weights: np.ndarray, axis: int) -> float:
    """Return the mean of -Σ w log w along an axis."""
    return float(-(weights * np.log(np.where(weights > 0, weights, 1))).sum(axis).mean())


def attention_confidence(run: Run, corpus: ParallelCorpus, part: str = "dev", limit: int | None = None) -> pd.DataFrame:
    """Return the penalties of a run's own translations: of the mean of the heads in its last layer.

    Args:
        limit: number of sentences, from the first; all if not given.

    Returns:
        A row for each sentence that is not blank and whose translation is not: `line`, from 1; `source_length` and
        `target_length` in tokens; `coverage_deviation`, `absentmindedness_out` and `absentmindedness_in`, from 0 up,
        in nats.

    Raises:
        CorpusError: no such split, or other languages.
    """
    run = in_direction(run, corpus)
    system = open_model(run)
    lines = [source for source, _ in corpus.pairs(part)][:limit]
    best = {
        place: translation.hypotheses[0].tokens
        for place, translation in enumerate(system.translate(lines))
        if translation.hypotheses and translation.hypotheses[0].tokens
    }
    sources = [system.pipeline.source_ids(lines[place]) for place in best]
    targets = [[*tokens, EOS] for tokens in best.values()]
    rows: list[tuple[float, ...]] = []
    places = list(best)
    for index, forced in forced_decode_all(system.model, sources, targets):
        weights = last_layer(forced.attention).mean(0)[:-1, : len(sources[index]) - 1]
        rows.append((places[index] + 1, weights.shape[1], weights.shape[0], *penalties(weights)))
    return pd.DataFrame(sorted(rows), columns=list(_COLUMNS)).astype(dict.fromkeys(_COLUMNS[:3], int))


def mean_penalties(found: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each penalty over the sentences of each run, and their number.

    Args:
        found: rows of `attention_confidence`, with their `run`.
    """
    grouped = found.groupby("run", sort=False)
    return grouped[list(PENALTIES)].mean().assign(sentences=grouped.size()).reset_index()


def entropy_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the mean entropy of what a target token attends to, by the length of the source.

    Args:
        found: rows of `attention_confidence`, with their `run`.
    """
    figure = go.Figure()
    style = styles(found["run"])
    for run, rows in found.groupby("run", sort=False):
        bins = rows.groupby((rows["source_length"] - 1) // _BIN)
        means = bins.agg(length=("source_length", "mean"), entropy=(PENALTIES[1], "mean"), count=("line", "size"))
        figure.add_scatter(
            x=means["length"], y=means["entropy"], mode="lines+markers", name=name_in_lines(run), line=style[str(run)],
            customdata=means[["count"]],
            hovertemplate="%{x:.1f} tokens: %{y:.2f} nats, %{customdata[0]:,} sentences"
            f"<extra>{name_in_lines(run)}</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="source tokens")
    figure.update_yaxes(title_text="entropy of attention (nats)", rangemode="tozero")
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, "How spread out is attention, by the length of the source?", 440)


def _said(found: pd.DataFrame) -> str:
    """Say how spread out attention is, and how far from one the attention that a source token receives."""
    if found.empty:
        return ""
    parts = [
        f"{row.run} {number(row.absentmindedness_out, 2)} and {number(row.coverage_deviation, 2)}"
        for row in mean_penalties(found).itertuples()
    ]
    return f"Mean entropy of attention in nats, and mean deviation from full coverage: {listed(parts, '; ')}."


CONFIDENCE = Analysis(
    "Is attention focused, and does it cover the source?",
    attention_confidence,
    source="Rikters and Fishel 2017; survey 12.3",
    needs=(NEURAL, ATTENDS, WEIGHTS, _SENTENCES),
    version=1,
    columns=_COLUMNS,
    table=mean_penalties,
    figure=entropy_figure,
    finding=_said,
    follows=(("corpus", lambda run: run.sentences),),
)
