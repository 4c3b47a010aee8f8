"""The thesis' figures and tables, drawn from measured runs: each view is a table from an analysis and its plot."""

from collections.abc import Collection, Sequence

import pandas as pd

from nmtlab.analysis.attention.masking import Place, masked_losses, masking_summary
from nmtlab.analysis.attention.shift import attention_shift, shift_distribution, sink_summary
from nmtlab.analysis.attention.weights import attention
from nmtlab.analysis.lexical.norms import norm_bins, norm_correlations, word_norms
from nmtlab.errors import NmtlabError
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
    attention_figure,
    budgets_figure,
    effect_figure,
    masking_figure,
    norm_figure,
    shift_figure,
    table_figure,
    trainability_figure,
    ways_figure,
)
from nmtlab.plots.attention import shown_weights
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import Link
from nmtlab.workspace import Workspace


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
