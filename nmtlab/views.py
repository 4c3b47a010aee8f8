"""The thesis' figures and tables, drawn from measured runs: each view is a table from an analysis and its plot."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from nmtlab.analysis.dynamics.curves import dev_curve, gradient_curve, loss_curve, spike_counts
from nmtlab.analysis.dynamics.depth import g_by_depth, g_fits, g_slopes
from nmtlab.analysis.dynamics.signals import stored_signals
from nmtlab.analysis.search.beams import stored_sweeps
from nmtlab.analysis.search.search_tree import ended_hypotheses, ranked, search_tree
from nmtlab.errors import NmtlabError, RunError
from nmtlab.experiments import Scale, find_table, summary, with_published
from nmtlab.experiments.claims.budgets import at_two_budgets
from nmtlab.experiments.claims.declared import declared_claims
from nmtlab.experiments.claims.verdicts import measured_claims
from nmtlab.experiments.results.dev_curves import dev_curves
from nmtlab.experiments.results.effects import effects_over_training, still_rising
from nmtlab.experiments.results.stored import measured_cells, measured_table
from nmtlab.experiments.results.summary import stored_summary
from nmtlab.experiments.running.trainability import map_path, read_map
from nmtlab.experiments.tables.labels import drawn_labels, labelled, published_name, row_label, system_labels
from nmtlab.experiments.tables.length_planning import LENGTH_PLANNING, WHOLE_TEXT
from nmtlab.plots import (
    View,
    budgets_figure,
    depth_figure,
    dev_figure,
    effect_figure,
    gradient_figure,
    loss_figure,
    signals_figure,
    slopes_figure,
    sweep_figure,
    table_figure,
    trainability_figure,
    tree_figure,
    ways_figure,
)
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


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


def table_view(name: str, scale: Scale = "small", measure: str = "") -> View:
    """Show one of the published tables as measured and saved, beside the published values.

    If the table has a baseline, the figure and the view's table have differences from it.

    Args:
        name: of the table, `table-3.15`.
        scale: at which it was run.
        measure: name of one of the table's measures; its first if not given.

    Raises:
        NmtlabError: there is no such table, or it was not measured at this scale or with this measure.
    """
    table = find_table(name)
    chosen = measured_cells(table.name, scale, measure or table.measures[0].name)["metric"].iloc[0]
    whole = stored_summary(measured_table(table.name, scale))
    lines = with_published(whole[whole["metric"] == chosen], table)
    compared = ["difference", "low", "high", "q", "verdict"] if table.baseline else []
    begun = lines[lines["row"].isin(lines.loc[lines["seeds"] > 0, "row"])]
    published = ["published"] if (begun["published"] != "").any() else []
    shown = ["row", "column", "seeds", "mean", "margin", *compared, *published]
    show, baseline = "difference" if table.baseline else "value", system_labels(table).get(table.baseline, "")
    figure = table_figure(drawn_labels(lines, table, scale), table.title, show, baseline, published_name(scale))
    lines = labelled(begun[shown], table, scale).rename(columns={"published": published_name(scale)})
    return View(lines, figure)


def effect_view(name: str, row: str, than: str = "", scale: Scale = "small") -> View:
    """Show how far the systems of a table are from another one over the course of training, in dev BLEU.

    Its table has the differences at the end, and how many trainings were still rising then.

    Args:
        name: of the table.
        row: one of its rows.
        than: the system that the others are compared with; the table's baseline if not given.
        scale: at which the table was run.

    Raises:
        NmtlabError: the table or its dev scores were not measured at this scale, or it has no such row or system.
    """
    than = than or find_table(name).baseline
    curves = dev_curves(measured_table(name, scale), Workspace.find())
    if curves.empty:
        raise NmtlabError(f"{name}: the dev scores of its trainings were not kept", f"run 'nmtlab reproduce {name}'")
    effects = effects_over_training(curves, row, than)
    if effects.empty:
        rows = ", ".join(curves["row"].unique())
        raise NmtlabError(f"{name}: no two systems to compare on {row!r} with {than!r}", f"choose a row from {rows}")
    rising = still_rising(curves[curves["row"] == row]).groupby("column")["rising"].sum()
    last = effects.groupby("system", sort=False).tail(1)
    (declared,) = find_table(name).only([row]).rows
    title = f"{name}, {row_label(declared, scale)}"
    return View(last.assign(rising=last["system"].map(rising)), effect_figure(effects, than, title))


def budgets_view(name: str, row: str) -> View:
    """Show what claims that compare two systems find after a table's short trainings and once these are trained out.

    Args:
        name: of the table.
        row: what one of its rows is called, such as `de-en, Multi30k`.

    Raises:
        NmtlabError: nothing about this row was measured at both budgets.
    """
    both = at_two_budgets(measured_claims())
    of_systems = {claim.text for claim in declared_claims() if isinstance(claim.than, str)}
    both = both[both["evidence"].str.startswith(f"{name}.") & (both["text"] == row) & both["claim"].isin(of_systems)]
    if both.empty:
        raise NmtlabError(f"{name}, {row}: not measured at two budgets", "see at_two_budgets for what is")
    shown = both[["direction", "metric", "effect_short", "verdict_short", "effect_long", "verdict_long"]]
    return View(shown.reset_index(drop=True), budgets_figure(both, f"{name}, {row}: short and trained out"))


def planning_view(scale: Scale = "small") -> View:
    """Compare length planning with other searches by beam size (thesis 4.1).

    Its table has mean BLEU over the seeds.

    Args:
        scale: at which `length-planning` was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    cells, measures = measured_cells(LENGTH_PLANNING.name, scale), {one.name: one for one in WHOLE_TEXT}
    lines = summary(cells[cells["metric"].isin(measures)], LENGTH_PLANNING)
    searches = lines["metric"].map(lambda name: measures[name].way.search)
    ordinary = lines["column"] == LENGTH_PLANNING.baseline
    lines["planned"] = ~ordinary
    lines["beam"] = searches.map(lambda search: search.beam_size)
    lines["way"] = lines["column"].mask(ordinary, lines["column"] + ", " + searches.map(lambda search: search.score))
    # A system that plans lengths ranks by one score, whatever the settings.
    chosen = lines[ordinary | (searches.map(lambda search: search.score) == "log-prob")]
    begun = labelled(chosen[chosen["seeds"] > 0], LENGTH_PLANNING, scale)
    means = begun.pivot_table("mean", ["row", "way"], "beam").rename(columns="beam {}".format)
    return View(means.reset_index(), ways_figure(begun))


def trainability_view(training: str = "") -> View:
    """Show a map of which Transformers learn to translate; its table has their shares by depth.

    Args:
        training: the training settings that the points of the map share; those of the file's first map if not given.

    Raises:
        NmtlabError: there is no such map.
    """
    path = map_path(Workspace.find())
    maps = read_map(path)
    chosen = maps[maps["training"] == (training or maps["training"].head(1).squeeze())]
    if chosen.empty:
        raise NmtlabError(f"{path}: no map of {training or 'trainability'}", "make one with 'nmtlab trainability'")
    converged = chosen["verdict"].eq("converged").astype(float)
    shown = chosen.assign(converged=converged).pivot_table("converged", ["placement", "init", "layers"], "rate")
    shown.columns = [f"{rate:g}" for rate in shown.columns]
    return View(shown.reset_index(), trainability_figure(chosen))
