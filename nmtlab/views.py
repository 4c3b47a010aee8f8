"""The thesis' figures and tables, drawn from measured runs: each view is a table from an analysis and its plot."""

from collections.abc import Collection, Sequence
from typing import Literal

import pandas as pd

from nmtlab.analysis.attention.masking import Place, masked_losses, masking_summary
from nmtlab.analysis.attention.shift import attention_shift, shift_distribution, sink_summary
from nmtlab.analysis.attention.weights import attention
from nmtlab.analysis.dynamics.curves import dev_curve, gradient_curve, loss_curve, spike_counts
from nmtlab.analysis.dynamics.depth import g_by_depth, g_fits, g_slopes
from nmtlab.analysis.dynamics.signals import stored_signals
from nmtlab.analysis.lexical.norms import norm_bins, norm_correlations, word_norms
from nmtlab.analysis.search.beams import stored_sweeps
from nmtlab.analysis.search.search_tree import ended_hypotheses, ranked, search_tree
from nmtlab.errors import RunError
from nmtlab.plots import (
    View,
    attention_figure,
    depth_figure,
    dev_figure,
    gradient_figure,
    loss_figure,
    masking_figure,
    norm_figure,
    shift_figure,
    signals_figure,
    slopes_figure,
    sweep_figure,
    tree_figure,
)
from nmtlab.plots.attention import shown_weights
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import Link


def norms_view(runs: Sequence[Run], bin_size: int = 256, points: bool = True, also: str = "") -> View:
    """Show norms of word vectors and biases by frequency (Figure 3.2); its table has their rank correlations.

    Args:
        runs: neural, one or more.
        bin_size: words per bin.
        points: draw the words, too; of many, every n-th.
        also: a word that is drawn in any case.

    Raises:
        RunError: a run is phrase-based, or has neither weights nor logged norms.
    """
    words = [word_norms(run).assign(run=run.label) for run in runs]
    bins = [norm_bins(norms, bin_size).assign(run=norms["run"].iloc[0]) for norms in words]
    table = pd.concat([norm_correlations(norms).assign(run=norms["run"].iloc[0]) for norms in words])
    return View(
        table[["run", "quantity", "words", "spearman"]],
        norm_figure(pd.concat(bins), pd.concat(words) if points else None, also),
    )


def attention_view(
    runs: Sequence[Run], source: str, target: str | None = None, links: Collection[tuple[int, int]] = ()
) -> View:
    """Show the attention of systems on one sentence side by side (Figure 3.3); its table has the peak of each piece.

    Of a Transformer it is that of the last layer, the mean of the heads.

    Args:
        runs: neural, one or more, with weights.
        source: a sentence.
        target: its translation; each system's output if not given.
        links: (source position, target position) of aligned pieces.

    Raises:
        CorpusError: the source sentence is blank.
        RunError: a run is phrase-based, or has no weights.
    """
    weights = attention(runs, source, target)
    drawn = [shown_weights(of_run) for _, of_run in weights.groupby("run", sort=False)]
    shown = pd.concat(drawn, ignore_index=True)
    peaks = shown.loc[shown.groupby(["run", "target_position"], sort=False)["weight"].idxmax()]
    return View(
        peaks[["run", "target_piece", "source_piece", "weight"]],
        attention_figure(weights, {run.label: links for run in runs}),
    )


def shift_view(runs: Sequence[Run], corpus: ParallelCorpus, split: str, links: Sequence[Collection[Link]]) -> View:
    """Show how far attention peaks are from the linked words; its table says whether they collect on the first word.

    Args:
        runs: trained neural systems.
        corpus: in their languages.
        split: train, dev or test.
        links: word links of each pair of the split.

    Raises:
        CorpusError, RunError: as of `shift.attention_shift`.
    """
    shifts = pd.concat([attention_shift(run, corpus, split, links) for run in runs], ignore_index=True)
    shifts["run"] = pd.Categorical(shifts["run"], [run.label for run in runs])
    return View(sink_summary(shifts), shift_figure(shift_distribution(shifts, by=["run"])))


def masking_view(
    runs: Sequence[Run],
    corpus: ParallelCorpus,
    split: str,
    links: Sequence[Collection[Link]],
    place: Place = "first",
) -> View:
    """Show what it costs to hide one source word from attention, where attention was on it.

    Args:
        runs: trained recurrent systems.
        corpus: in their languages.
        split: train, dev or test.
        links: word links of each pair of the split.
        place: of the hidden word.

    Raises:
        CorpusError, RunError: as of `masking.masked_losses`.
    """
    costs = [masking_summary(masked_losses(run, corpus, split, links, place)) for run in runs]
    table = pd.concat(costs, ignore_index=True)
    return View(table, masking_figure(table, place))


def dev_view(
    runs: Sequence[Run], score: Literal["bleu", "perplexity"] = "bleu", over: Literal["step", "minutes"] = "step"
) -> View:
    """Show dev scores during training (Figure 3.4); its table has each run's best."""
    curves = pd.concat([dev_curve(run) for run in runs], ignore_index=True)
    best = curves[curves["best"].astype(bool)]
    return View(best[["run", "step", score]], dev_figure(curves, score, over))


def loss_view(runs: Sequence[Run]) -> View:
    """Show the training loss and its terms; its table has the last logged value of each."""
    curves = pd.concat([loss_curve(run) for run in runs], ignore_index=True)
    last = curves[curves["step"] == curves.groupby("run")["step"].transform("max")]
    wide = last.pivot(index=["run", "step"], columns="term", values="value").reset_index().rename_axis(columns=None)
    return View(wide[["run", "step", *last["term"].unique()]], loss_figure(curves))


def gradient_view(runs: Sequence[Run]) -> View:
    """Show the gradient norm at every update (Figure 3.5); its table counts spikes per quarter of the training."""
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


def slopes_view(runs: Sequence[Run]) -> View:
    """Show the slope of g over depth during training; its table has the first and the last evaluation.

    Raises:
        RunError: as `depth_view`.
    """
    slopes = pd.concat([g_slopes(run) for run in runs], ignore_index=True)
    ends = slopes.groupby("run")["step"].agg(["min", "max"])
    at_ends = slopes["step"].isin(ends["min"]) | (slopes["step"] == slopes["run"].map(ends["max"]))
    table = slopes[at_ends].pivot(index=["run", "panel", "group"], columns="step", values="slope").reset_index()
    return View(table.rename(columns=str), slopes_figure(slopes))


def tree_view(run: Run, sentence: str, search: SearchSettings, reference: str | None = None) -> View:
    """Show what a beam keeps and drops (Figure 4.1); its table has the finished hypotheses, best first.

    Args:
        run: neural, with weights.
        sentence: to be translated.
        search: search settings.
        reference: its translation, to be tracked in the beam.

    Raises:
        RunError: the run is phrase-based, has no weights, or plans lengths.
    """
    tree = search_tree(run, sentence, search, reference)
    ended = ranked(ended_hypotheses(tree), search)
    return View(ended[["log_prob", "scored_length", "step", "text"]], tree_figure(tree))


def sweep_view(runs: Sequence[Run]) -> View:
    """Show results by beam size, as measured and stored with the runs.

    Raises:
        RunError: no beam sweep is stored with any of them.
    """
    sweeps = stored_sweeps(runs)
    if sweeps.empty:
        names = ", ".join(run.name for run in runs)
        raise RunError(f"runs {names}: no beam sweep is stored with them", "make one with 'nmtlab beam-sweep'")
    ordered = sweeps.sort_values(["name", "beam_size"])
    shown = ordered[["name", "beam_size", "bleu", "length_ratio", "empty", "log_prob", "errors"]]
    return View(shown.dropna(axis=1, how="all"), sweep_figure(sweeps))


def signals_view(runs: Sequence[Run]) -> View:
    """Show the inputs of each normalisation, as measured and stored with the runs.

    Its table has the sizes before the first and the last normalisation of each side.

    Raises:
        RunError: no signals are stored with any of them.
    """
    found = stored_signals(runs)
    if found.empty:
        names = ", ".join(run.name for run in runs)
        raise RunError(f"runs {names}: no signals are stored with them", "measure them on the page Training dynamics")
    ends = found.groupby(["run", "update", "side"], sort=False)[["activation", "gradient"]].agg(["first", "last"])
    ends.columns = [f"{when} {what}" for what, when in ends.columns]
    return View(ends.reset_index(), signals_figure(found), digits=5)
