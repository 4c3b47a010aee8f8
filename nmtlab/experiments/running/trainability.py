"""Which Transformers learn at all? Many trainings of some hundred updates, in one process.

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
from nmtlab.text.pipeline import Pipeline
from nmtlab.training.trial import short_training
from nmtlab.workspace import Workspace

Verdict = Literal["alive", "dead", "diverged"]

MARGIN = math.log(2)
"""In nats a token: a training is alive that is half as perplexed as one that knows how frequent words are."""


@dataclass(frozen=True)
class Point:
    """A training on the map.

    Args:
        placement: of the normalisation, `pre` or `post`.
        init: of the attention's weights, `small` or `xavier`.
        layers: of encoder and decoder each, from 1.
        rate: learning rate, above 0, the same from the first update on.
        seed: of weights, dropout and order of the data.
    """

    placement: Literal["pre", "post"]
    init: Literal["small", "xavier"]
    layers: int
    rate: float
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What became of a training.

    Args:
        point: what was trained.
        verdict: `diverged` if the loss or a gradient was not finite, `alive` if the loss is at least `MARGIN` below
            the unigrams', else `dead`.
        updates: that were made.
        loss: mean negative log-likelihood, in nats a token, of the last tenth of the updates; NaN if it diverged.
        unigram: that of the tokens' frequencies in training, which a dead model learns.
        first_gradient: norm of the gradient of the first update.
    """

    point: Point
    verdict: Verdict
    updates: int
    loss: float
    unigram: float
    first_gradient: float


def points(layers: Sequence[int], rates: Sequence[float], seeds: Sequence[int]) -> list[Point]:
    """Return a whole map: both placements, both kinds of initial weights, with each depth, rate and seed."""
    grid = product(("post", "pre"), ("xavier", "small"), layers, rates, seeds)
    return [Point(*place) for place in grid]


def trainability(
    wanted: Iterable[Point], recipe: Recipe, corpus: ParallelCorpus, workspace: Workspace, updates: int
) -> Iterator[Outcome]:
    """Train the points of a map one after the other, and yield what became of each.

    Vocabulary and ids are made once. No run is written: the outcome is all that is kept of a point.

    Args:
        wanted: points.
        recipe: of a Transformer: text, width, kind of norm, batches, dropout, loss and clipping.
        corpus: what is learned from.
        workspace: where its ids are kept.
        updates: of each training, at least 10.

    Raises:
        CorpusError: the corpus has no text to train on.
    """
    pipeline = Pipeline.learn(recipe.text, corpus)
    encoded = EncodedCorpus.open(workspace.cache, pipeline, corpus)
    unigram = _entropy(encoded.target_side.ids)
    for point in wanted:
        yield _outcome(point, recipe, pipeline, encoded, unigram, updates)


def _entropy(tokens: np.ndarray) -> float:
    """Return the entropy of tokens, in nats."""
    _, counts = np.unique(tokens, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _outcome(
    point: Point, recipe: Recipe, pipeline: Pipeline, encoded: EncodedCorpus, unigram: float, updates: int
) -> Outcome:
    changes = {
        "model.placement": point.placement,
        "model.init": point.init,
        "model.encoder_layers": point.layers,
        "model.decoder_layers": point.layers,
        "training.seed": point.seed,
    }
    trial = short_training(recipe.with_changes(changes), pipeline, encoded, point.rate, updates)
    if trial.diverged:
        return Outcome(point, "diverged", len(trial.losses), math.nan, unigram, trial.first_gradient)
    last = float(np.mean(trial.losses[-max(1, updates // 10) :]))
    verdict = "alive" if last < unigram - MARGIN else "dead"
    return Outcome(point, verdict, updates, last, unigram, trial.first_gradient)


MAP = "trainability.csv"

COLUMNS = [
    "training", "placement", "init", "layers", "rate", "seed", "verdict", "updates", "loss", "unigram",
    "first_gradient", "commit", "machine",
]  # fmt: skip


def map_path(workspace: Workspace) -> Path:
    """Return the file of the maps that are looked at: the workspace's, or the checkout's if it has none."""
    own = workspace.data / "results" / MAP
    return own if own.exists() else RESULTS / MAP


def read_map(path: Path) -> pd.DataFrame:
    """Return the points that are kept in a file, none if it is not there.

    Returns:
        A row for each: `training`, what all points of a map have in common; the fields of `Point` and `Outcome`;
        `commit` of nmtlab and kind of `machine`.

    Raises:
        NmtlabError: the file is no map.
    """
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    try:
        missing = {"loss": [""], "first_gradient": [""]}
        # Python's own float: a rate that is read again is the same number to its last bit
        found = pd.read_csv(path, keep_default_na=False, na_values=missing, converters={"rate": float})
        return found[COLUMNS]
    except (ValueError, KeyError, OSError) as error:
        raise NmtlabError(f"{path}: not a map of trainability: {error}", "rename it, or name another file") from error


def left_to_train(wanted: Iterable[Point], training: str, kept: pd.DataFrame) -> list[Point]:
    """Return the points that are not kept yet.

    Args:
        wanted: points.
        training: what they have in common, as in the map.
        kept: rows of `read_map`.
    """
    own = kept[kept["training"] == training]
    there = {Point(*place) for place in own[[one.name for one in fields(Point)]].itertuples(index=False, name=None)}
    return [point for point in wanted if point not in there]


def with_outcome(kept: pd.DataFrame, outcome: Outcome, training: str, provenance: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of a map with one more.

    Args:
        kept: rows of `read_map`.
        outcome: of the new point.
        training: what the points have in common.
        provenance: its `commit` and `machine`.
    """
    facts = {one.name: getattr(outcome, one.name) for one in fields(Outcome) if one.name != "point"}
    new = pd.DataFrame([{"training": training, **vars(outcome.point), **facts, **provenance}], columns=COLUMNS)
    return new if kept.empty else pd.concat([kept, new], ignore_index=True)
