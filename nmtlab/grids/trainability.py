"""Which Transformers learn to translate? Many trainings of a few hundred updates, in one process.

The thesis has single points of this map: Tables 3.12 (initial weights and warm-up) and 3.15 (depth without warm-up).
There a training that fails has hardly any BLEU; its loss may still be far below that of the unigram distribution, as is
that of a model of the target language alone. So a training counts as converged only if its model uses the source.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice, product
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from nmtlab.grids.results.schemas import Schema
from nmtlab.recipe import Recipe
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.trial import Trial, short_training
from nmtlab.workspace import RESULTS, Workspace

Outcome = Literal["converged", "ignores the source", "plateaued", "diverged"]

MARGIN = math.log(2)
"""In nats per token: a training has plateaued if its perplexity is not below half that of the unigram distribution."""

SOURCE_MARGIN = 0.1
"""In nats per token: a model uses the source if the sources of other sentences raise its loss by more than this."""

_HELD_OUT = 200
"""Pairs of dev on which the use of the source is measured."""


@dataclass(frozen=True)
class Point:
    """A training on the map.

    Args:
        placement: of the normalisation, `pre` or `post`.
        init: of the attention's weights, `small` or `xavier`.
        layers: number of layers of encoder and decoder each, at least 1.
        rate: learning rate, above 0, constant from the first update.
        seed: seed of weights, dropout and data order.
    """

    placement: Literal["pre", "post"]
    init: Literal["small", "xavier"]
    layers: int
    rate: float
    seed: int


@dataclass(frozen=True)
class Trained:
    """A training and what became of it.

    Args:
        point: the training.
        verdict: `diverged` if the loss or a gradient was not finite, `plateaued` if the loss is not more than `MARGIN`
            below that of the unigram distribution; otherwise `converged` if the source gain is above `SOURCE_MARGIN`,
            else `ignores the source`.
        updates: number of updates made.
        loss: mean negative log-likelihood over the last tenth of the updates, in nats per token; NaN if it diverged.
        unigram: loss of the unigram distribution of the training tokens, the best that a model can do without context.
        first_gradient: gradient norm at the first update.
        source_gain: how much the sources of other sentences raise the loss of held-out pairs, in nats per token, about
            0 for a model of the target language alone; NaN if it diverged.
    """

    point: Point
    verdict: Outcome
    updates: int
    loss: float
    unigram: float
    first_gradient: float
    source_gain: float


def points(layers: Sequence[int], rates: Sequence[float], seeds: Sequence[int]) -> list[Point]:
    """Return a full map: both placements and both initialisations, with each depth, rate and seed."""
    placements: Sequence[Literal["pre", "post"]] = ("post", "pre")
    inits: Sequence[Literal["small", "xavier"]] = ("xavier", "small")
    return [Point(*values) for values in product(placements, inits, layers, rates, seeds)]


def trainability(
    wanted: Iterable[Point], recipe: Recipe, corpus: ParallelCorpus, workspace: Workspace, updates: int
) -> Iterator[Trained]:
    """Train the points of a map one after the other, and yield what became of each.

    Vocabulary and token ids are made once. No run is written; only the outcome of a point is kept.

    Args:
        wanted: points to train.
        recipe: recipe of a Transformer, for its text, width, kind of norm, batches, dropout, loss and clipping.
        corpus: corpus to train on, with dev text.
        workspace: caches the token ids.
        updates: number of updates of each training, at least 10.

    Raises:
        CorpusError: the corpus has no training or no dev text.
    """
    corpus = replace(corpus, context=bool(recipe.text.context))
    pipeline = Pipeline.learn(recipe.text, corpus)
    mixture = Mixture([EncodedCorpus.open(workspace.cache, pipeline, corpus)])
    held_out = _held_out(corpus, pipeline, recipe.training.batch_tokens)
    unigram = _target_entropy(mixture, pipeline.target.size)
    for point in wanted:
        trial = short_training(_at(point, recipe), pipeline, mixture, held_out, point.rate, updates)
        yield _trained(point, trial, unigram)


def _held_out(corpus: ParallelCorpus, pipeline: Pipeline, batch_tokens: int) -> list[Batch[np.ndarray]]:
    """Return the first pairs of dev in batches of similar length."""
    ids = [(pipeline.source_ids(s), pipeline.target_ids(t)) for s, t in islice(corpus.pairs("dev"), _HELD_OUT)]
    groups = sorted_batches([max(map(len, pair)) for pair in ids], batch_tokens)
    return [batch_of(*(pad([ids[n][side] for n in group]) for side in (0, 1))) for group in groups]


def _target_entropy(mixture: Mixture, types: int) -> float:
    """Return the entropy of the target tokens, in nats."""
    shards = (shard for text in mixture.texts for shard in text.shards)
    counts = sum((np.bincount(shard.target.ids, minlength=types) for shard in shards), np.zeros(types, np.int64))
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _at(point: Point, recipe: Recipe) -> Recipe:
    """Return a recipe with the settings of a point."""
    changes = {
        "model.placement": point.placement,
        "model.init": point.init,
        "model.encoder_layers": point.layers,
        "model.decoder_layers": point.layers,
        "training.seed": point.seed,
    }
    return recipe.with_changes(changes)


def _trained(point: Point, trial: Trial, unigram: float) -> Trained:
    updates, first = len(trial.losses), trial.first_gradient
    if trial.diverged:
        return Trained(point, "diverged", updates, math.nan, unigram, first, math.nan)
    loss = float(np.mean(trial.losses[-max(1, updates // 10) :]))
    return Trained(point, _outcome(unigram - loss, trial.source_gain), updates, loss, unigram, first, trial.source_gain)


def _outcome(below_unigram: float, source_gain: float) -> Outcome:
    if below_unigram <= MARGIN:
        return "plateaued"
    return "converged" if source_gain > SOURCE_MARGIN else "ignores the source"


MAP = Schema(
    "trainability.csv",
    "trainability map",
    (
        "training", "placement", "init", "layers", "rate", "seed", "verdict", "updates", "loss", "unigram",
        "first_gradient", "source_gain", "commit", "machine",
    ),
    {
        "layers": int, "rate": float, "seed": int, "updates": int, "loss": float, "unigram": float,
        "first_gradient": float, "source_gain": float,
    },
    remedy="rename it, or choose another file",
)  # fmt: skip
"""A point a line: `training`, the settings that all points of a map share; the fields of `Point` and `Trained`;
`commit` of nmtlab and kind of `machine`."""

_POINT = [one.name for one in fields(Point)]


def map_path(workspace: Workspace) -> Path:
    """Return the file of the maps to show: the workspace's, or the checkout's if the workspace has none."""
    path = workspace.results / MAP.ending
    return path if path.exists() else RESULTS / MAP.ending


def left_to_train(wanted: Iterable[Point], training: str, kept: pd.DataFrame) -> list[Point]:
    """Return the points that are not in a map yet.

    Args:
        wanted: points to train.
        training: the settings that they share, as in the map.
        kept: lines of `MAP`.
    """
    same = kept[kept["training"] == training]
    done = {Point(*values) for values in same[_POINT].itertuples(index=False, name=None)}
    return [point for point in wanted if point not in done]


def with_trained(kept: pd.DataFrame, trained: Trained, training: str, provenance: Mapping[str, str]) -> pd.DataFrame:
    """Return the lines of a map with one added, or in place of an earlier one of the same point.

    Args:
        kept: lines of `MAP`.
        trained: the new point.
        training: the settings that the points share.
        provenance: its `commit` and `machine`.
    """
    facts = vars(trained) | vars(trained.point) | {"training": training, **provenance}
    new = pd.DataFrame([facts], columns=list(MAP.columns))
    both = new if kept.empty else pd.concat([kept, new], ignore_index=True)
    return both.drop_duplicates(["training", *_POINT], keep="last", ignore_index=True)
