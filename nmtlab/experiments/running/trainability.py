"""Which Transformers converge? Many trainings of a few hundred updates, in one process.

The thesis has single points of this map: Tables 3.12 (initial weights and warm-up) and 3.15 (depth without warm-up).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from nmtlab.errors import NmtlabError
from nmtlab.experiments.results.stored import RESULTS
from nmtlab.recipe import Recipe
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.encoded import EncodedCorpus
from nmtlab.text.mixture import Mixture
from nmtlab.text.pipeline import Pipeline
from nmtlab.training.trial import short_training
from nmtlab.workspace import Workspace

Verdict = Literal["converged", "plateaued", "diverged"]

MARGIN = math.log(2)
"""In nats per token: a training has converged if its perplexity is below half that of the unigram distribution."""


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
class Outcome:
    """The outcome of a training.

    Args:
        point: the training.
        verdict: `diverged` if the loss or a gradient was not finite, `converged` if the loss is more than `MARGIN`
            below that of the unigram distribution, else `plateaued`.
        updates: number of updates made.
        loss: mean negative log-likelihood over the last tenth of the updates, in nats per token; NaN if it diverged.
        unigram: loss of the unigram distribution of the training tokens, the best that a model can do without context.
        first_gradient: gradient norm at the first update.
    """

    point: Point
    verdict: Verdict
    updates: int
    loss: float
    unigram: float
    first_gradient: float


def points(layers: Sequence[int], rates: Sequence[float], seeds: Sequence[int]) -> list[Point]:
    """Return a full map: both placements and both initialisations, with each depth, rate and seed."""
    grid = product(("post", "pre"), ("xavier", "small"), layers, rates, seeds)
    return [Point(*values) for values in grid]


def trainability(
    wanted: Iterable[Point], recipe: Recipe, corpus: ParallelCorpus, workspace: Workspace, updates: int
) -> Iterator[Outcome]:
    """Train the points of a map one after the other, and yield the outcome of each.

    Vocabulary and token ids are made once. No run is written; only the outcome of a point is kept.

    Args:
        wanted: points to train.
        recipe: recipe of a Transformer, for its text, width, kind of norm, batches, dropout, loss and clipping.
        corpus: corpus to train on.
        workspace: caches the token ids.
        updates: number of updates of each training, at least 10.

    Raises:
        CorpusError: the corpus has no training text.
    """
    pipeline = Pipeline.learn(recipe.text, corpus)
    mixture = Mixture([EncodedCorpus.open(workspace.cache, pipeline, corpus)])
    unigram = _target_entropy(mixture, pipeline.target_size)
    for point in wanted:
        yield _outcome(point, recipe, pipeline, mixture, unigram, updates)


def _target_entropy(mixture: Mixture, types: int) -> float:
    """Return the entropy of the target tokens, in nats."""
    shards = (shard for text in mixture.texts for shard in text.shards)
    counts = sum(np.bincount(shard.target.ids, minlength=types) for shard in shards)
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _outcome(
    point: Point, recipe: Recipe, pipeline: Pipeline, mixture: Mixture, unigram: float, updates: int
) -> Outcome:
    changes = {
        "model.placement": point.placement,
        "model.init": point.init,
        "model.encoder_layers": point.layers,
        "model.decoder_layers": point.layers,
        "training.seed": point.seed,
    }
    trial = short_training(recipe.with_changes(changes), pipeline, mixture, point.rate, updates)
    if trial.diverged:
        return Outcome(point, "diverged", len(trial.losses), math.nan, unigram, trial.first_gradient)
    last = float(np.mean(trial.losses[-max(1, updates // 10) :]))
    verdict = "converged" if last < unigram - MARGIN else "plateaued"
    return Outcome(point, verdict, updates, last, unigram, trial.first_gradient)


MAP = "trainability.csv"

COLUMNS = [
    "training", "placement", "init", "layers", "rate", "seed", "verdict", "updates", "loss", "unigram",
    "first_gradient", "commit", "machine",
]  # fmt: skip


def map_path(workspace: Workspace) -> Path:
    """Return the file of the maps to show: the workspace's, or the checkout's if the workspace has none."""
    path = workspace.data / "results" / MAP
    return path if path.exists() else RESULTS / MAP


def read_map(path: Path) -> pd.DataFrame:
    """Return the points in a file; empty if the file does not exist.

    Returns:
        One row per point: `training`, the settings that all points of a map share; the fields of `Point` and
        `Outcome`; `commit` of nmtlab and kind of `machine`.

    Raises:
        NmtlabError: the file is not a map.
    """
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    try:
        missing = {"loss": [""], "first_gradient": [""]}
        # Python's float restores a rate to its last bit
        found = pd.read_csv(path, keep_default_na=False, na_values=missing, converters={"rate": float})
        return found[COLUMNS]
    except (ValueError, KeyError, OSError) as error:
        raise NmtlabError(f"{path}: not a trainability map: {error}", "rename it, or choose another file") from error


def left_to_train(wanted: Iterable[Point], training: str, kept: pd.DataFrame) -> list[Point]:
    """Return the points that are not in a map yet.

    Args:
        wanted: points to train.
        training: the settings that they share, as in the map.
        kept: rows of `read_map`.
    """
    same = kept[kept["training"] == training]
    done = {Point(*values) for values in same[[one.name for one in fields(Point)]].itertuples(index=False, name=None)}
    return [point for point in wanted if point not in done]


def with_outcome(kept: pd.DataFrame, outcome: Outcome, training: str, provenance: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of a map with one added.

    Args:
        kept: rows of `read_map`.
        outcome: outcome of the new point.
        training: the settings that the points share.
        provenance: its `commit` and `machine`.
    """
    facts = {one.name: getattr(outcome, one.name) for one in fields(Outcome) if one.name != "point"}
    new = pd.DataFrame([{"training": training, **vars(outcome.point), **facts, **provenance}], columns=COLUMNS)
    return new if kept.empty else pd.concat([kept, new], ignore_index=True)
