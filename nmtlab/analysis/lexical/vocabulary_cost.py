"""What does a larger vocabulary cost in parameters? (survey 8.1, Table 4)"""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.access.needs import NEURAL
from nmtlab.figures.theme import BELOW, dressed, name_in_lines, styles
from nmtlab.figures.words import listed
from nmtlab.models.build import model_for
from nmtlab.models.parts import vocabulary_side
from nmtlab.runs.run import Run

SIZES = (1_000, 3_000, 10_000, 30_000, 50_000, 150_000)


class Cost(NamedTuple):
    """Parameters in word tables, and all others."""

    embeddings: int
    body: int


def rnnsearch_cost(types: int) -> Cost:
    """Return the parameters of RNNsearch (Bahdanau et al. 2015; survey Table 4), whose biases are left out.

    It has three tables, of source, target input and output. The others are those of two GRUs of the encoder, of the
    decoder's GRU with context, of attention, of the first state, and of the maxout output, which is brought to the
    embedding's width.

    Args:
        types: on each side.
    """
    hidden, embedding, maxout = 1000, 620, 500
    encoder = 2 * 3 * hidden * (embedding + hidden)
    decoder = 3 * hidden * (embedding + hidden + 2 * hidden)
    attention = hidden * (hidden + 2 * hidden) + hidden
    output = 2 * maxout * (hidden + embedding + 2 * hidden) + embedding * maxout
    return Cost(3 * embedding * types, encoder + decoder + attention + hidden * hidden + output)


def vocabulary_cost(run: Run, sizes: Sequence[int] = SIZES) -> pd.DataFrame:
    """Return how many parameters a run's model would have with vocabularies of other sizes.

    Args:
        sizes: types of each side, or of both together if they share them.

    Returns:
        A row for each size: `types`; `embeddings`, the parameters in tables with a row for each type, output biases
        included; `body`, the others; `total`; `share`, that of the embeddings, 0 to 1.
    """
    with torch.device("meta"):
        model = model_for(run.recipe, run.pipeline, run.model_table)
    per_type = body = 0
    for name, parameter in model.named_parameters():
        if vocabulary_side(name) is None:
            body += parameter.numel()
        else:
            per_type += parameter.numel() // len(parameter)
    costs = pd.DataFrame({"types": sizes, "embeddings": [per_type * types for types in sizes], "body": body})
    total = costs["embeddings"] + costs["body"]
    return costs.assign(total=total, share=costs["embeddings"] / total)


def cost_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the number of parameters by the size of the vocabulary, with those of RNNsearch.

    Args:
        found: rows of `vocabulary_cost`, with their `run`.
    """
    figure = go.Figure()
    style = styles(found["run"])
    for run, rows in found.groupby("run", sort=False):
        figure.add_scatter(
            x=rows["types"], y=rows["total"] / 1e6, mode="lines+markers", name=name_in_lines(run),
            line=style[str(run)], customdata=100 * rows[["share"]],
            hovertemplate="%{x:,} types: %{y:.2f} M, %{customdata[0]:.0f} % in word tables"
            f"<extra>{name_in_lines(run)}</extra>",
        )  # fmt: skip
    known = [rnnsearch_cost(types) for types in SIZES]
    figure.add_scatter(
        x=SIZES, y=[sum(cost) / 1e6 for cost in known], mode="lines", name="RNNsearch (2015)",
        line={"dash": "dot", "color": "gray"}, customdata=[[100 * cost.embeddings / sum(cost)] for cost in known],
        hovertemplate="%{x:,} types: %{y:.1f} M, %{customdata[0]:.0f} % in word tables<extra>RNNsearch</extra>",
    )  # fmt: skip
    figure.update_xaxes(title_text="types of each side", type="log")
    figure.update_yaxes(title_text="parameters (millions)", type="log")
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, "How many parameters does a model have, by the size of its vocabulary?", 440)


def _said(found: pd.DataFrame) -> str:
    """Say what share of the parameters is in word tables, with the smallest vocabulary and the largest."""
    if found.empty:
        return ""
    parts = []
    for run, rows in found.groupby("run", sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        shares = f"{percent(first['share'])} with {first['types']:,} types, {percent(last['share'])}"
        parts.append(f"{run} {shares} with {last['types']:,}")
    return f"In word tables are, of the parameters: {listed(parts, '; ')}."


VOCABULARY_COST = Analysis(
    "What does a larger vocabulary cost in parameters?",
    vocabulary_cost,
    source="survey 8.1, Table 4",
    needs=(NEURAL,),
    figure=cost_figure,
    finding=_said,
)
