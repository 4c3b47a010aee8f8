"""Do the methods find the word that a word is linked to? Attention, erasure and gradients against word links."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.access.needs import ATTENDS, NEURAL, WEIGHTS, in_direction
from nmtlab.analysis.access.reference_links import reference_links
from nmtlab.analysis.access.word_pairs import forced_attention, word_pairs
from nmtlab.analysis.attention.shift import attention_error, peak_shifts, sink_summary
from nmtlab.analysis.attribution.contributions import METHODS, Method, word_contributions
from nmtlab.figures.theme import BELOW, FAINT, SOLID, dressed, name_in_lines, styles
from nmtlab.figures.words import listed
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample

Explanation = Literal["attention"] | Method
EXPLANATIONS: tuple[Explanation, ...] = ("attention", *METHODS)
_SHARES = {"on": "on the linked word", "first": "on the first word"}


def agreement(
    run: Run, corpus: ParallelCorpus, part: str = "test", method: Explanation = "attention", sample: int = 100
) -> pd.DataFrame:
    """Return how often the source word with the highest weight is the linked one, under forced references.

    Links are those of `reference_links`. Attention is the mean over the heads of the last layer.

    Args:
        corpus: in its languages, with its training text or with links.
        method: attention, or one of `contributions`.
        sample: number of sentence pairs, drawn as by `draw_sample`.

    Returns:
        A row: that of `sink_summary`, of the words with a single link, without the run's name; and `error_rate`,
        `precision` and `recall` of the peaks as links, of all words.

    Raises:
        CorpusError: no such split, no training text, or other languages.
    """
    run = in_direction(run, corpus)
    links = reference_links(run.pipeline, corpus, part)
    lines = set(draw_sample(corpus, part, sample).lines)
    pairs = [pair for pair in word_pairs(run, corpus, part, links) if pair.line in lines]
    system = open_model(run)
    weights = forced_attention(system, pairs) if method == "attention" else word_contributions(system, pairs, method)
    shifts = peak_shifts(run.name, pairs, weights)
    return sink_summary(shifts).merge(attention_error(shifts, links), on="run").drop(columns="run")


AGREEMENT_OF = Analysis(
    "How often does a method find the linked source word?",
    agreement,
    needs=(NEURAL, ATTENDS, WEIGHTS),
    version=1,
    columns=tuple(
        "words first first_linked last last_linked on on_if_moved most_frequent error_rate precision recall".split()
    ),
    in_context=True,
)


def agreements(
    run: Run,
    corpus: ParallelCorpus,
    part: str = "test",
    methods: Sequence[Explanation] = EXPLANATIONS,
    sample: int = 100,
) -> pd.DataFrame:
    """Return the `agreement` of several methods, which is stored: a row for each `method`.

    Args:
        methods: what to compare.
        run, corpus, part, sample: as of `agreement`.
    """
    found = [AGREEMENT_OF.of(run, corpus=corpus, part=part, method=one, sample=sample) for one in methods]
    return pd.concat(found, ignore_index=True).assign(method=list(methods))


def agreement_figure(found: pd.DataFrame) -> go.Figure:
    """Draw where each method has its peaks: a dot for each run and method, on the linked word and on the first.

    A line shows the share of links that lead to the first word.

    Args:
        found: rows of `agreements`, with their `run`.
    """
    figure = make_subplots(cols=2, shared_yaxes=True, horizontal_spacing=0.04)
    style = styles(found["run"], SOLID)
    for column, share in enumerate(_SHARES, start=1):
        for run, of_run in found.groupby("run", sort=False):
            figure.add_scatter(
                x=100 * of_run[share], y=of_run["method"], customdata=of_run["words"], mode="markers", orientation="h",
                name=name_in_lines(run), offsetgroup=str(run), legendgroup=str(run), showlegend=column == 1,
                col=column, row=1, marker={"size": 11, "color": style[str(run)]["color"]},
                hovertemplate="%{y}: %{x:.1f} % of %{customdata:,} words<extra>" + name_in_lines(run) + "</extra>",
            )  # fmt: skip
        figure.update_xaxes(title_text=f"{_SHARES[share]} (% of words)", rangemode="tozero", col=column)
    line = {"color": FAINT, "dash": "dot"}
    linked = 100 * found["first_linked"].iloc[0]
    figure.add_vline(
        linked, col=2, line=line, annotation={"text": "links to it", "yanchor": "bottom", "xanchor": "center"}
    )
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(scattermode="group", scattergap=0.5, legend=BELOW, margin_b=110)
    return dressed(figure, "Where does each method have its peaks?", 380)


def _said(found: pd.DataFrame) -> str:
    """Say how often attention points to the aligned word, and which method does so most often."""
    parts = []
    for run, rows in found.groupby("run", sort=False) if len(found) else ():
        shares = rows.set_index("method")["on"]
        best = shares.idxmax()
        attention = shares.drop(best).filter(items=["attention"])
        parts.append(
            f"{run}: {best} {percent(shares[best])}{''.join(f', attention {percent(on)}' for on in attention)}"
        )
    return f"Words for which a method points to the aligned word, at best: {listed(parts, '; ')}." if parts else ""


AGREEMENT = Analysis(
    "Where does each method have its peaks?",
    agreements,
    needs=(NEURAL, ATTENDS, WEIGHTS),
    table=lambda found: found[["run", "method", "words", "on", "first", "first_linked"]],
    figure=agreement_figure,
    finding=_said,
    in_context=True,
)
