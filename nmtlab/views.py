"""The thesis' figures and tables, drawn from measured runs: each view is a table from an analysis and its plot."""

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
    budgets_figure,
    effect_figure,
    table_figure,
    trainability_figure,
    ways_figure,
)
from nmtlab.workspace import Workspace


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
