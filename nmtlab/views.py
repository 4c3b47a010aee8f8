"""The seeds' figures, of runs: an analysis, and the plot of what it finds."""

from collections.abc import Collection, Sequence
from typing import Literal

import pandas as pd

from nmtlab.analysis.attention import attention
from nmtlab.analysis.beams import stored_sweeps
from nmtlab.analysis.depth import g_by_depth, g_fits
from nmtlab.analysis.dynamics import dev_curve, gradient_curve, spike_counts
from nmtlab.analysis.norms import norm_bins, norm_correlations, word_norms
from nmtlab.analysis.search_tree import ended_hypotheses, ranked, search_tree
from nmtlab.errors import RunError
from nmtlab.plots import (
    View,
    attention_figure,
    depth_figure,
    dev_figure,
    gradient_figure,
    norm_figure,
    sweep_figure,
    tree_figure,
)
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run


def norms_view(runs: Sequence[Run], bin_size: int = 256, points: bool = True) -> View:
    """Show length of word vectors and biases by frequency (Figure 3.2); its table has their rank correlations.

    Args:
        runs: neural, one or more.
        bin_size: words in a bin.
        points: draw each word too.

    Raises:
        RunError: a phrase-based run, or one with neither weights nor logged lengths.
    """
    words = [word_norms(run).assign(run=run.name) for run in runs]
    bins = [norm_bins(own, bin_size).assign(run=own["run"].iloc[0]) for own in words]
    table = pd.concat([norm_correlations(own).assign(run=own["run"].iloc[0]) for own in words])
    return View(
        table[["run", "quantity", "words", "spearman"]],
        norm_figure(pd.concat(bins), pd.concat(words) if points else None),
    )


def attention_view(
    runs: Sequence[Run], source: str, target: str | None = None, links: Collection[tuple[int, int]] = ()
) -> View:
    """Show the attention of systems in one sentence side by side (Figure 3.3); its table has where each looks most.

    Args:
        runs: neural, one or more, with weights.
        source: a sentence.
        target: its translation; each system's own if not given.
        links: (source position, target position) of pieces that belong together.

    Raises:
        CorpusError: the source sentence is blank.
        RunError: a run is phrase-based, or has no weights.
    """
    weights = attention(runs, source, target)
    first = weights[(weights["layer"] == 1) & (weights["head"] == 1)].reset_index(drop=True)
    peaks = first.loc[first.groupby(["run", "target_position"], sort=False)["weight"].idxmax()]
    return View(
        peaks[["run", "target_piece", "source_piece", "weight"]],
        attention_figure(weights, {run.name: links for run in runs}),
    )


def dev_view(
    runs: Sequence[Run], score: Literal["bleu", "perplexity"] = "bleu", over: Literal["step", "minutes"] = "step"
) -> View:
    """Show dev scores while training (Figure 3.4); its table has the best of each run."""
    curves = pd.concat([dev_curve(run) for run in runs], ignore_index=True)
    best = curves[curves["best"].astype(bool)]
    return View(best[["run", "step", score]], dev_figure(curves, score, over))


def gradient_view(runs: Sequence[Run]) -> View:
    """Show the gradient's norm at every update (Figure 3.5); its table counts spikes by quarter of the training."""
    curves = pd.concat([gradient_curve(run) for run in runs], ignore_index=True)
    table = spike_counts(curves)[["run", "part", "updates", "median", "spikes"]]
    return View(table, gradient_figure(curves))


def depth_view(runs: Sequence[Run]) -> View:
    """Show learned g against depth (Figures 3.6 and 3.7); its table has the slopes.

    Raises:
        RunError: a run has no ScaleNorm, or was never evaluated.
    """
    values = pd.concat([g_by_depth(run) for run in runs], ignore_index=True)
    fits = g_fits(values)
    return View(fits[["run", "panel", "group", "slope", "correlation"]], depth_figure(values, fits))


def tree_view(run: Run, sentence: str, search: SearchSettings, reference: str | None = None) -> View:
    """Show what a beam keeps and drops (Figure 4.1); its table has the translations that it has ended, best first.

    Args:
        run: neural, with weights.
        sentence: to be translated.
        search: how to search.
        reference: its translation, to be followed in the beam.

    Raises:
        RunError: a phrase-based run, one without weights, or one that plans lengths.
    """
    tree = search_tree(run, sentence, search, reference)
    ended = ranked(ended_hypotheses(tree), search)
    return View(ended[["log_prob", "length", "step", "text"]], tree_figure(tree))


def sweep_view(runs: Sequence[Run]) -> View:
    """Show what larger beams came to, as it was measured and is kept with the runs.

    Raises:
        RunError: nothing was swept of them.
    """
    sweeps = stored_sweeps(runs)
    if sweeps.empty:
        names = ", ".join(run.name for run in runs)
        raise RunError(f"runs {names}: no sweep of beams is kept with them", "make one with 'nmtlab beam-sweep'")
    ordered = sweeps.sort_values(["name", "beam_size"])
    return View(ordered[["name", "beam_size", "bleu", "length_ratio", "empty", "log_prob"]], sweep_figure(sweeps))
