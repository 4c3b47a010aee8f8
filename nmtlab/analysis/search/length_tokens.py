"""Do translations have the length that a length token asks for? (Fan et al. 2018)"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.access.needs import DECODING, Need, in_direction
from nmtlab.figures.theme import BELOW, FAINT, dressed, name_in_lines, styles
from nmtlab.figures.words import listed, number
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.translation import Translator

_COLUMNS = ("bin", "low", "high", "line", "source_length", "target_length")

_LENGTH_TOKENS = Need(
    "no length tokens", "it has no length tokens", "choose a run with text.length_bins",
    lambda run: run.recipe.text.length_bins > 0,
)  # fmt: skip


def requested_lengths(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Translate a text once with each length token that training text had.

    Args:
        sample: number of sentences to draw (`nmtlab.text.corpora.sample`); all if not given.

    Returns:
        A row for each length token and sentence that is not blank: `bin`, from 0; `low` and `high`, the edges of its
        ratios of target to source length, NaN where it has none; `line` in the text, from 1; `source_length` and
        `target_length` in tokens, without tags and EOS.

    Raises:
        CorpusError: no such split, or other languages.
    """
    run = in_direction(run, corpus)
    system = open_model(run, machine=machine)
    drawn = draw_sample(corpus, split, sample)
    lengths = [len(system.pipeline.source.tokenizer.split(source)) for source in drawn.sources]
    edges = np.array([np.nan, *system.pipeline.length_edges, np.nan])
    rows = []
    for asked in system.pipeline.used_length_bins:
        search = system.settings.model_copy(update={"length_bin": asked})
        found = Translator(system.model, system.pipeline, search, system.lexicon).translate(
            drawn.sources, on_progress=on_progress
        )
        rows += [
            (asked, edges[asked], edges[asked + 1], line, length, len(one.hypotheses[0].tokens))
            for line, length, one in zip(drawn.lines, lengths, found, strict=True)
            if one.hypotheses
        ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def realised(found: pd.DataFrame) -> pd.DataFrame:
    """Return how long translations are by the length token that they were asked for.

    Args:
        found: rows of `requested_lengths`, with their `run`.

    Returns:
        A row for each run and length token: `run`, `bin`, `low`, `high`; `sentences`; `ratio`, the mean of target to
        source length; `inside`, the share whose ratio is in the bin; `empty`, the share of empty translations.
    """
    ratio = found["target_length"] / found["source_length"]
    above, below = ~(ratio < found["low"]), ~(ratio >= found["high"])  # where there is no edge, all are
    marked = found.assign(ratio=ratio, inside=above & below, empty=found["target_length"] == 0)
    grouped = marked.groupby(["run", "bin"], sort=False)
    return grouped.agg(
        low=("low", "first"),
        high=("high", "first"),
        sentences=("line", "size"),
        ratio=("ratio", "mean"),
        inside=("inside", "mean"),
        empty=("empty", "mean"),
    ).reset_index()


def realised_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the mean ratio of target to source length by the length token, with the edges of the bins of each run.

    Args:
        found: rows of `requested_lengths`, with their `run`.
    """
    figure = go.Figure()
    style = styles(found["run"])
    for run, rows in realised(found).groupby("run", sort=False):
        for edge in ("low", "high"):
            figure.add_scatter(
                x=rows["bin"], y=rows[edge], mode="lines", line={"color": FAINT, "width": 1, "shape": "hvh"},
                showlegend=False, hoverinfo="skip",
            )  # fmt: skip
        figure.add_scatter(
            x=rows["bin"], y=rows["ratio"], mode="lines+markers", name=name_in_lines(run), line=style[str(run)],
            customdata=100 * rows[["inside", "empty"]],
            hovertemplate="length %{x}: ratio %{y:.2f}, %{customdata[0]:.0f} % in the bin, %{customdata[1]:.0f} % empty"
            f"<extra>{name_in_lines(run)}</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="length token", dtick=1)
    figure.update_yaxes(title_text="target tokens per source token", rangemode="tozero")
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, "How long are translations, by the length that is asked for?", 440)


def _said(found: pd.DataFrame) -> str:
    """Say how long the translations of the outer tokens are, and how many are in the bin that was asked for."""
    if found.empty:
        return ""
    parts = []
    for run, rows in realised(found).groupby("run", sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        inside, empty = percent(rows["inside"].mean()), percent(rows["empty"].mean())
        parts.append(
            f"{run} {number(first['ratio'], 2)} with length {first['bin']} and {number(last['ratio'], 2)} with length "
            f"{last['bin']}, {inside} in the bin asked for, {empty} empty"
        )
    return f"Target tokens per source token: {listed(parts, '; ')}."


LENGTH_TOKENS = Analysis(
    "Are translations as long as a length token asks for?",
    requested_lengths,
    source="Fan et al. 2018",
    needs=(*DECODING, _LENGTH_TOKENS),
    version=1,
    columns=_COLUMNS,
    table=realised,
    figure=realised_figure,
    finding=_said,
)
