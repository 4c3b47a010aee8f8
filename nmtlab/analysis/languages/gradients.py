"""Do directions fight? The cosine of two directions' gradients on the weights that they share, part by part."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from torch import Tensor

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import SELF_ATTENTION, SEVERAL_DIRECTIONS, WEIGHTS
from nmtlab.analysis.access.opened import opened
from nmtlab.errors import CorpusError
from nmtlab.figures.theme import dressed
from nmtlab.figures.words import number
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.models.parts import vocabulary_side
from nmtlab.nn.private import private_language
from nmtlab.runs.run import Run
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.corpora.corpus import Pair, ParallelCorpus
from nmtlab.text.corpora.sample import draw_apart
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.objective import training_objective

_BATCH_TOKENS = 2000  # padded
_KINDS = {"attention": "attention", "cross_attention": "cross-attention", "feed_forward": "feed-forward"}

_MOST_NUMBERED = 10
"""Maximum number of columns of a heatmap with a number in each cell."""
_AGAINST_AND_WITH = "RdBu"
"""Colour scale for cosines: red below 0, white at 0, blue above."""

Gradients = Mapping[str, Tensor]
"""Gradients by the name of the parameter."""


class ModelPart(NamedTuple):
    """A part of a model."""

    side: str  # encoder or decoder; empty for embeddings
    kind: str  # embeddings, attention, cross-attention or feed-forward
    depth: int  # from 1; 0 for embeddings


EMBEDDINGS = ModelPart("", "embeddings", 0)


def gradient_cosines(
    run: Run, corpora: Sequence[ParallelCorpus], split: str = "dev", sample: int = 200
) -> pd.DataFrame:
    """Return the cosine of the gradients of two directions' losses on the weights that all languages share.

    The loss is that of training, summed over sentences, without dropout. Below 0, a step for one direction is a step
    back for the other. No sentence is in two samples, since it would pull both directions the same way. Chance turns
    the gradients of few sentences apart, so each sample is halved: the cosine of two directions is the mean over each
    half of one with each half of the other, and the cosine of one direction's halves is what full agreement would give.

    Args:
        run: of a Transformer, in any direction.
        corpora: of two or more directions.
        sample: number of sentences for each direction, 2 or more; fewer if there are not as many that no other
            direction has (`nmtlab.text.corpora.sample.draw_apart`).

    Returns:
        A row for each part of the model with shared weights, and each pair of directions and each direction alone:
        `side`, encoder or decoder, empty for embeddings; `kind`, embeddings (all vocabulary tables and output biases),
        attention, cross-attention or feed-forward; `depth` of the layer, from 1, 0 for embeddings; `weights`, the
        number of shared ones; `direction` and `other_direction`, such as `gl-en`, the same twice for two halves; the
        number of `sentences` in a half; `cosine`, -1 to 1, NaN if a gradient is 0. Norms, adapters, language vectors
        and g are in no part.

    Raises:
        CorpusError: no such split, fewer than two directions, or no two sentences that one alone has.
        RunError: the run has no weights or does not translate in one of the directions.
    """
    named = {"-".join(corpus.direction): corpus for corpus in corpora}
    if len(named) < max(2, len(corpora)):
        raise CorpusError(
            f"directions {', '.join(named) or 'none'}", "give corpora of two or more different directions"
        )
    system, smoothing = opened(run), run.recipe.training.label_smoothing
    parts = _parts(system.model)
    samples = draw_apart(corpora, split, sample)
    if len(samples[0]) < 2:
        raise CorpusError(
            f"directions {', '.join(named)}: fewer than two sentences of one are in no other", "choose other texts"
        )
    halves: dict[str, tuple[Gradients, Gradients]] = {}
    for (direction, corpus), pairs in zip(named.items(), samples, strict=True):
        directed = system.directed(*corpus.direction)
        first, second = (
            _gradients(directed.model, _batches(directed.pipeline, half, directed.model.device), smoothing, set(parts))
            for half in (pairs[::2], pairs[1::2])
        )
        halves[direction] = first, second
    tables = [_compared(ours, theirs, halves, parts) for ours, theirs in combinations(halves, 2)]
    tables += [_compared(one, one, halves, parts) for one in halves]
    return pd.concat(tables, ignore_index=True).assign(sentences=len(samples[0]) // 2)


def gradient_cosine_figure(cosines: pd.DataFrame) -> go.Figure:
    """Draw the cosine of two directions' gradients: parts of the model down, pairs of directions across.

    The columns on the right are each direction with itself, on two halves of its text: what full agreement gives.

    Args:
        cosines: rows of `gradient_cosines`, of one run.
    """
    alone = cosines["direction"] == cosines["other_direction"]
    ordered = cosines.assign(alone=alone).sort_values("alone", kind="stable")
    columns = [_pair(*pair) for pair in ordered[["direction", "other_direction"]].itertuples(index=False)]
    rows = [_part(*part) for part in ordered[["side", "kind", "depth"]].itertuples(index=False)]
    wide = ordered.assign(column=columns, row=rows).pivot(index="row", columns="column", values="cosine")
    across, down = list(dict.fromkeys(columns)), list(dict.fromkeys(rows))
    wide = wide.reindex(down, columns=across)
    figure = go.Figure(
        go.Heatmap(
            x=across, y=down, z=wide, text=np.vectorize(_signed, otypes=[str])(wide),
            texttemplate="%{text}" if len(across) <= _MOST_NUMBERED else None,
            colorscale=_AGAINST_AND_WITH, zmin=-1, zmid=0, zmax=1, hoverongaps=False, xgap=1, ygap=1,
            colorbar={"title": {"text": "cosine"}}, hovertemplate="%{y}<br>%{x}: %{text}<extra></extra>",
        )
    )  # fmt: skip
    pairs = len(set(columns) - {_pair(name, name) for name in ordered["direction"]})
    figure.add_vline(pairs - 0.5, line={"color": "#222222", "width": 2})
    figure.update_xaxes(
        title_text="two directions; right of the line, two halves of one direction's text",
        type="category", showgrid=False,
    )  # fmt: skip
    if len(across) > _MOST_NUMBERED:  # two lines of a name would overlap the next
        one_line = [pair.replace("<br>", ", ") for pair in across]
        figure.update_xaxes(tickmode="array", tickvals=across, ticktext=one_line, tickangle=90, tickfont_size=10)
    figure.update_yaxes(title_text="part of the model", type="category", autorange="reversed", showgrid=False)
    return dressed(figure, "Do directions fight? Cosine of their gradients on shared weights", 200 + 26 * len(down))


def gradient_finding(cosines: pd.DataFrame) -> str:
    """Return whether directions fight, from rows of `gradient_cosines`."""
    alone = cosines["direction"] == cosines["other_direction"]
    pairs, halves = (cosines.loc[rows, "cosine"].dropna() for rows in (~alone, alone))
    if pairs.empty:
        return ""
    return (
        f"Gradients of two directions have a mean cosine of {number(pairs.mean())}, where full agreement gives "
        f"{number(halves.mean())}; they oppose each other in {int((pairs < 0).sum())} of {len(pairs)} parts and pairs."
    )


GRADIENT_COSINES = Analysis(
    "Do the gradients of two directions pull shared weights the same way?",
    gradient_cosines,
    needs=(SELF_ATTENTION, WEIGHTS, SEVERAL_DIRECTIONS),
    version=3,
    columns=("side", "kind", "depth", "weights", "direction", "other_direction", "cosine", "sentences"),
    figure=gradient_cosine_figure,
    finding=gradient_finding,
)


def _pair(direction: str, other: str) -> str:
    return f"{direction}<br>two halves" if direction == other else f"{direction}<br>{other}"


def _part(side: str, kind: str, depth: int) -> str:
    return f"{side} {depth} {kind}" if side else kind


def _signed(cosine: float) -> str:
    return "" if math.isnan(cosine) else f"{cosine:+.2f}".replace("-", "−")


def _compared(
    ours: str, theirs: str, halves: Mapping[str, tuple[Gradients, Gradients]], parts: Mapping[str, ModelPart]
) -> pd.DataFrame:
    """Return the rows of two directions, or of one: the mean of their halves' cosines."""
    pairs = [halves[ours]] if ours == theirs else product(halves[ours], halves[theirs])
    tables = [cosine_by_part(one, other, parts) for one, other in pairs]
    mean = sum(table["cosine"] for table in tables) / len(tables)
    table = tables[0].assign(direction=ours, other_direction=theirs, cosine=mean)
    return table[["side", "kind", "depth", "weights", "direction", "other_direction", "cosine"]]


def cosine_by_part(ours: Gradients, theirs: Gradients, parts: Mapping[str, ModelPart]) -> pd.DataFrame:
    """Return the cosine of two gradients in each part of a model.

    Args:
        ours, theirs: gradients of two losses; a parameter that is not in both has none in one of them.
        parts: parameter -> its part.

    Returns:
        A row for each part, in their order: `side`, `kind`, `depth`; `weights`, their number; `cosine`, -1 to 1, NaN if
        a gradient is 0.
    """
    names: dict[ModelPart, list[str]] = defaultdict(list)
    for name, part in parts.items():
        names[part] += [name] if name in ours and name in theirs else []
    rows = []
    for part, some in names.items():
        products = torch.zeros(3, dtype=torch.float64)
        for name in some:
            one, other = (gradients[name].double().flatten() for gradients in (ours, theirs))
            products += torch.stack((one @ other, one @ one, other @ other)).cpu()
        inner, first, second = products.tolist()
        cosine = inner / (first * second) ** 0.5 if first and second else float("nan")
        rows.append((*part, sum(ours[name].numel() for name in some), cosine))
    return pd.DataFrame(rows, columns=[*ModelPart._fields, "weights", "cosine"])


def _parts(model: TranslationModel) -> dict[str, ModelPart]:
    """Return the part of each shared parameter that is in one, embeddings first."""
    shared = [name for name, _ in model.named_parameters() if not private_language(name)]
    embeddings = {name: EMBEDDINGS for name in shared if vocabulary_side(name)}
    return embeddings | {name: part for name in shared if (part := _sublayer(name))}


def _sublayer(name: str) -> ModelPart | None:
    """Return the sublayer of a parameter such as `encoder.0.attention.query.weight`, if it is in one."""
    side, depth, kind, *_ = [*name.split("."), "", ""]
    return ModelPart(side, _KINDS[kind], int(depth) + 1) if kind in _KINDS else None


def _gradients(
    model: TranslationModel, batches: Iterator[Batch[Tensor]], smoothing: float, names: set[str]
) -> dict[str, Tensor]:
    """Return the gradients of the loss on some batches with respect to the named parameters, as far as it has any."""
    objective = training_objective(model.requires_grad_(), smoothing)  # weights of an opened model are constant
    parameters = {name: parameter for name, parameter in model.named_parameters() if name in names}
    found: dict[str, Tensor] = {}
    for batch in batches:
        loss = objective(batch).total
        of_batch = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
        found = _sum(found, {name: one for name, one in zip(parameters, of_batch, strict=True) if one is not None})
    return found


def _sum(ours: Gradients, theirs: Gradients) -> dict[str, Tensor]:
    both = {name: ours[name] + theirs[name] for name in ours.keys() & theirs.keys()}
    return {**ours, **theirs, **both}


def _batches(pipeline: Pipeline, pairs: Sequence[Pair], device: torch.device) -> Iterator[Batch[Tensor]]:
    """Yield pairs as batches in the pipeline's direction on a device."""
    sources, targets = (
        pipeline.encode_source([source for source, _ in pairs]),
        pipeline.encode_target([t for _, t in pairs]),
    )
    source_language, target_language = pipeline.languages
    lengths = [max(map(len, both)) for both in zip(sources, targets, strict=True)]
    for numbers in sorted_batches(lengths, _BATCH_TOKENS):
        sides = (pad([side[number] for number in numbers]) for side in (sources, targets))
        batch = batch_of(*sides, source_language=source_language, target_language=target_language)
        yield on_device(batch, device)
