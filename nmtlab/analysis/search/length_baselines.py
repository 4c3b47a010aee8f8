"""How well is the length of a translation predicted from the length of its source alone?

Baselines that a length model has to beat. Shapes: n training pairs, m sentences, N the greatest length.
"""

from collections.abc import Iterator
from html import escape
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import PLANNED_LENGTH, in_direction
from nmtlab.analysis.search.beams import text_of
from nmtlab.analysis.search.planned_lengths import (
    LENGTH_COLUMNS,
    PLANNED_LENGTHS,
    compared_lengths,
    error_metric,
    length_errors,
)
from nmtlab.errors import RunError
from nmtlab.figures.theme import COLOURS, dressed
from nmtlab.figures.words import listed, number
from nmtlab.recipe.transformer import TransformerSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import Pair, ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.learning import beyond_token_limits, blocks, usable_pairs


class EncodedPair(NamedTuple):
    """A sentence pair, with the ids of each side, EOS last."""

    pair: Pair
    source: list[int]
    target: list[int]


class Lengths(NamedTuple):
    """Lengths of the sides of some sentence pairs, (n,) each, in tokens without EOS."""

    source: np.ndarray
    target: np.ndarray


def trained_lengths(run: Run, corpus: ParallelCorpus) -> Lengths:
    """Return the lengths of the pairs of a corpus that a run was trained on: those within its recipe's limits.

    Raises:
        CorpusError: other languages, or no training text.
        RunError: the run was not trained on this corpus.
    """
    text = run.recipe.text
    pairs = encoded_pairs(run, corpus, text.max_words)
    kept = [
        (len(source) - 1, len(target) - 1)
        for _, source, target in pairs
        if not beyond_token_limits(run.recipe.text, source, target)
    ]
    return Lengths(*np.array(kept).reshape(-1, 2).T)


def encoded_pairs(run: Run, corpus: ParallelCorpus, max_words: int) -> Iterator[EncodedPair]:
    """Yield the training pairs of a corpus with at most `max_words` words on each side, as a run reads them.

    Raises:
        CorpusError, RunError: as for `trained_lengths`.
    """
    run = in_direction(run, corpus)
    if corpus.checksum() not in run.checksums:
        raise RunError(f"run {run.name!r}: was not trained on {corpus.name!r}", "choose the corpus of its recipe")
    for block in blocks(usable_pairs(corpus, max_words)):
        sources, targets = zip(*block, strict=True)
        ids = run.pipeline.encode_source(sources), run.pipeline.encode_target(targets)
        yield from map(EncodedPair, block, *ids)


Baseline = Literal["linear", "kernel"]

BASELINES: dict[Baseline, str] = {"linear": "linear fit to the source length", "kernel": "kernel on the source length"}
"""Name -> what it is."""

LENGTH_MODEL = "length model"

_WIDTH, _SMOOTHING = 0.08, 0.04  # of the kernel in source and target length, as shares of the source length
_LEAST_SPREAD = 1e-3  # tokens, where all pairs lie on a line
_ERRORS = {
    "error": "absolute error (tokens)", "among 5": "in the top 5 (share)", "nll": "loss (nats a sentence)",
}  # fmt: skip


def baseline_lengths(
    run: Run, corpus: ParallelCorpus, baseline: Baseline, part: str = "test", sample: int | None = None
) -> pd.DataFrame:
    """Predict the lengths of the references of a text, given those of their sources, as `planned_lengths` does.

    Args:
        run: one that plans lengths: its vocabulary counts tokens, and its greatest length is that of the baseline.
        corpus: that the run was trained on.
        baseline: `linear`, a line fitted to the training pairs by least squares, with normal errors; or `kernel`, the
            training pairs' lengths, weighted by a kernel in source length.

    Returns:
        Rows as of `planned_lengths`.

    Raises:
        RunError: the run does not plan lengths, or was not trained on this corpus.
    """
    run = in_direction(run, corpus)
    drawn = draw_sample(corpus, part, sample)
    ids = run.pipeline.encode_source(drawn.sources), run.pipeline.encode_target(drawn.targets)
    source, reference = (np.array([len(one) - 1 for one in side]) for side in ids)
    estimate = {"linear": linear_shares, "kernel": kernel_shares}[baseline]
    model = run.recipe.model
    assert isinstance(model, TransformerSettings)  # it plans lengths
    shares = estimate(trained_lengths(run, corpus), source, model.max_predicted_length)
    return compared_lengths(shares, reference, drawn.lines)


BASELINE_LENGTHS = Analysis(
    "How well do simple baselines predict the length of a translation?",
    baseline_lengths,
    needs=(PLANNED_LENGTH,),
    version=1,
    columns=tuple(LENGTH_COLUMNS),
    metrics=(
        error_metric("linear-length-mae", "linear-fit MAE (tokens)", "error", given={"baseline": "linear"}),
        error_metric("kernel-length-mae", "kernel MAE (tokens)", "error", given={"baseline": "kernel"}),
        error_metric(
            "kernel-length-top-5",
            "reference length in the kernel's top 5 (share)",
            "among 5",
            "higher",
            given={"baseline": "kernel"},
        ),
        error_metric("kernel-length-loss", "kernel loss (nats)", "nll", given={"baseline": "kernel"}),
    ),
)


def length_models(run: Run, corpus: ParallelCorpus, split: str = "test", sample: int | None = None) -> pd.DataFrame:
    """Return how well a run's length model and the baselines predict the lengths of a text; answers are stored.

    Args:
        corpus: in its languages; only that which the run was trained on has baselines.

    Returns:
        A row for each: `system`, and the values of `length_errors`.
    """
    found = {LENGTH_MODEL: PLANNED_LENGTHS.of(run, corpus=corpus, split=split, sample=sample)}
    if corpus.checksum() in run.checksums:
        found |= {
            name: BASELINE_LENGTHS.of(run, baseline=key, corpus=corpus, part=split, sample=sample)
            for key, name in BASELINES.items()
        }
    return pd.DataFrame([{"system": name, **length_errors(rows)} for name, rows in found.items()])


def length_models_figure(lines: pd.DataFrame) -> go.Figure:
    """Draw how well lengths are predicted: a panel for each measure, a line for each system.

    Args:
        lines: rows of `length_models`.
    """
    figure = make_subplots(rows=1, cols=len(_ERRORS), shared_yaxes=True, horizontal_spacing=0.05)
    systems = [escape(system) for system in lines["system"]]
    for place, (column, title) in enumerate(_ERRORS.items(), start=1):
        figure.add_scatter(
            x=lines[column], y=systems, mode="markers", name=title, showlegend=False,
            marker={"size": 11, "color": COLOURS[: len(systems)]},
            hovertemplate="%{y}: %{x:.3f}<extra></extra>", row=1, col=place,
        )  # fmt: skip
        figure.update_xaxes(title_text=title, rangemode="tozero", col=place)
    figure.update_yaxes(autorange="reversed")
    return dressed(figure, "Predicted lengths of translations, by the length model and by baselines", 300)


def length_models_finding(lines: pd.DataFrame) -> str:
    """Say by how many tokens each system is off, the best first; arguments as of `length_models_figure`."""
    ordered = lines.sort_values("error", kind="stable")
    parts = [f"{system} {number(error, 1)}" for system, error in zip(ordered["system"], ordered["error"], strict=True)]
    return f"Mean error of the predicted length, in tokens: {listed(parts)}." if parts else ""


def stored_length_models(run: Run) -> pd.DataFrame:
    """Return the rows of `length_models` whose answers are stored with a run, for any text: each with its `text`."""
    found = [(LENGTH_MODEL, answer) for answer in PLANNED_LENGTHS.answers(run)]
    found += [(BASELINES[answer.question.arguments["baseline"]], answer) for answer in BASELINE_LENGTHS.answers(run)]
    return pd.DataFrame(
        [{"text": text_of(answer), "system": name, **length_errors(answer.frame())} for name, answer in found]
    )


def linear_shares(trained: Lengths, source_length: np.ndarray, longest: int) -> np.ndarray:
    """Return p(|y| | |x|) of a normal distribution around a line fitted by least squares: (m, N + 1).

    Args:
        source_length: (m,) tokens.
        longest: N; it stands for all lengths from N, and 0 for all up to 0.
    """
    from scipy.stats import norm  # takes a second to load

    centred = trained.source - trained.source.mean()
    slope = centred @ trained.target / (float(centred @ centred) or 1.0)
    intercept = trained.target.mean() - slope * trained.source.mean()
    spread = max(float(np.std(trained.target - slope * trained.source - intercept)), _LEAST_SPREAD)
    edges = np.arange(longest) + 0.5
    below = norm.cdf(edges, loc=(slope * source_length + intercept)[:, None], scale=spread)
    return np.diff(below, prepend=0.0, append=1.0, axis=1)


def kernel_shares(trained: Lengths, source_length: np.ndarray, longest: int) -> np.ndarray:
    """Return p(|y| | |x|) estimated from the training pairs whose sources are about as long: (m, N + 1).

    Pairs have Gaussian weights in source length; each counts for lengths about as long as its target, again with
    Gaussian weights; both widths are proportional to |x|. One pair more, of weight 1, has all lengths equally.

    Args:
        trained, source_length, longest: as for `linear_shares`; longer targets count as N.
    """
    shares = np.empty((len(source_length), longest + 1))
    lengths = np.arange(longest + 1)
    for n in np.unique(source_length):
        width, smoothing = _WIDTH * max(n, 1), _SMOOTHING * max(n, 1)
        weights = _gaussian((trained.source - n) / width)
        counts = np.bincount(np.minimum(trained.target, longest), weights, longest + 1)
        near = _gaussian((lengths[:, None] - lengths) / smoothing)
        counts = near / near.sum(0) @ counts
        shares[source_length == n] = (counts + 1 / (longest + 1)) / (counts.sum() + 1)
    return shares


def _gaussian(distance: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * distance**2)
