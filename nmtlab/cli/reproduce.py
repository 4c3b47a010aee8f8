"""`nmtlab reproduce`."""

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import typer

from nmtlab.cli.grid_bar import GridBar
from nmtlab.cli.options import interrupted
from nmtlab.cli.results_table import number, print_reasons, print_results
from nmtlab.cli.tables import print_table
from nmtlab.experiments.claims.declared import questions_about
from nmtlab.experiments.results.collected import results, with_kept
from nmtlab.experiments.results.kept import Kept
from nmtlab.experiments.results.scored import hypotheses
from nmtlab.experiments.results.sentences import read_sentences, sentence_spreads, with_kept_sentences
from nmtlab.experiments.results.signatures import ceilings, signatures
from nmtlab.experiments.results.stored import measured_table, read_cells, saved_table, stored_tables
from nmtlab.experiments.running.cells import Cell, cells_of
from nmtlab.experiments.running.engines import in_processes, one_by_one
from nmtlab.experiments.running.estimate import estimate_grid
from nmtlab.experiments.running.grid import run_grid, unpack_table
from nmtlab.experiments.running.ray_engine import on_ray
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.experiments.tables.listing import find_table
from nmtlab.files import write_text
from nmtlab.workspace import RESULTS, Workspace


def reproduce(
    table: Annotated[
        str,
        typer.Argument(
            help="On transfer: table-3.2, table-3.3, figure-3.1, related-parents, child-size, transferred-parts, "
            "transliteration, transfer-transformer. On lexical choice: table-3.4, table-3.6, table-3.8, table-3.10, "
            "lexical-choice, lexicon-dropout, attention-sink. On normalisation: table-3.12, table-3.13, "
            "table-3.13-trained-out, table-3.14, table-3.15, table-3.16, table-3.17, figure-3.5, figure-3.7, "
            "gradients, untrained-gradients. Out of domain: table-3.6-ntrex, table-3.13-trained-out-ntrex. On "
            "search: search-errors, search-errors-trained-out, ambiguity, length-planning, "
            "length-planning-trained-out, unseen-lengths. On many languages: many-languages, "
            "many-languages-trained-out, zero-shot, many-languages-tuning."
        ),
    ],
    scale: Annotated[
        Literal["tiny", "small", "thesis"],
        typer.Option(
            help="tiny: minutes in total, an artificial language; small: minutes per cell on one core, real and "
            "artificial text; thesis: the thesis' sizes, on corpora that you provide."
        ),
    ] = "small",
    pair: Annotated[list[str] | None, typer.Option(help="Make only the cells of this pair; repeatable.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Train every system with seeds 1 to SEEDS. (default: the table's seeds)")
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Estimate the remaining work, and do nothing.")] = False,
    workers: Annotated[
        int, typer.Option(min=1, help="Cells trained and measured at once, each in a separate process with one thread.")
    ] = 1,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(
            help="ray: on the cluster that RAY_ADDRESS names, or that runs here, or else a new one of --workers "
            "processes; needs the library ray, and the workspace under the same path on every machine."
        ),
    ] = "local",
    save: Annotated[
        bool,
        typer.Option(
            "--save",
            help="Also write the cells and the printed table to data/results, with the cells of other pairs that are "
            "there or come with nmtlab.",
        ),
    ] = False,
    packed: Annotated[
        bool,
        typer.Option(
            "--packed",
            help="First copy the packed runs that are cells of the table into the workspace, so that only the others "
            "are trained.",
        ),
    ] = False,
    stored: Annotated[
        bool,
        typer.Option("--stored", help="Train nothing: judge and print the stored cells again; --save writes the text."),
    ] = False,
) -> None:
    """Run a table of the thesis as a grid of trainings, and print measured values beside published ones.

    Each cell is an ordinary run: finished ones are not trained again, interrupted ones are resumed, and a training
    that diverges is a result. Real text is searched for in data/corpora and in the folders of NMTLAB_CORPORA.
    """
    workspace = Workspace.find()
    declared = find_table(table)
    if stored:
        _print_stored(declared, scale, save, workspace)
        return
    wanted = declared.only(pair) if pair else declared
    if seeds:
        wanted = wanted.with_seeds([row.name for row in wanted.rows], seeds)
    if packed:
        _unpack(wanted, scale, workspace)
    if estimate:
        _print_estimate(wanted, scale, cells_of(wanted, scale), workspace)
        return

    bar, should_stop = GridBar(f"{table} {scale}", workers), interrupted()
    local = one_by_one if workers == 1 else in_processes(workers)
    chosen = on_ray(workers) if engine == "ray" else local
    problems = run_grid(cells_of(wanted, scale), workspace, chosen, bar, should_stop)
    bar.close()
    measured = results(wanted, scale, workspace)
    found = hypotheses(wanted, scale, workspace, measured)
    spreads = sentence_spreads(wanted, scale, workspace, found, questions_about(wanted))
    print_results(wanted, scale, measured, spreads, bar.left_out)
    if below := ceilings(wanted, scale, workspace):
        of_rows = ", ".join(f"{row} {ceiling:.1f}" for row, ceiling in below.items())
        print(f"  BLEU of a word system that finds every word of the reference: {of_rows}")
    if save:
        _save(declared, scale, measured, bar.left_out, workspace)
    for problem in problems:
        print(f"failed: {problem.problem}")
    if should_stop():
        print("interrupted; the same command resumes it")
    if problems or should_stop():
        raise typer.Exit(1)


def _print_estimate(table: Table, scale: Scale, wanted: list[Cell], workspace: Workspace) -> None:
    cells = estimate_grid(wanted, workspace)
    rows = [
        [row, column, str(len(some)), str((some["disk_mib"] == 0).sum())]
        + [number(some[name].sum(skipna=False), ",.0f") for name in ("minutes", "disk_mib")]
        for (row, column), some in cells.groupby(["row", "column"], sort=False)
    ]
    columns = ["pair", "system", "cells", "made", "minutes", "MiB"]
    print_table(f"{table.name} {scale}: {table.title}", columns, rows, set(columns[2:]))
    minutes, disk, uncounted = cells["minutes"].sum(), cells["disk_mib"].sum(), cells["minutes"].isna().sum()
    print(
        f"{len(cells)} cells, {(cells['disk_mib'] == 0).sum()} made; about {minutes:,.0f} minutes more if "
        f"trained one by one, within a factor of two; about {disk:,.0f} MiB more on disk"
        + (f"; {uncounted} cells without their text are not counted" if uncounted else "")
    )
    without = cells[cells["problem"] != ""]
    print_reasons(table, scale, dict(zip(without["row"], without["problem"], strict=True)))


def _print_stored(table: Table, scale: Scale, save: bool, workspace: Workspace) -> None:
    """Judge and print the stored cells of a table, and write what follows from them to the workspace if asked to."""
    stored = measured_table(table.name, scale)
    cells, spreads = read_cells(stored.path), read_sentences(stored.sentences)
    written = _write(table, scale, cells, spreads, {}, workspace) if save else []
    print_results(table, scale, cells, spreads, {}, Kept.of(workspace))
    for path in written:
        print(f"written to {path}")


def _save(
    table: Table, scale: Scale, measured: pd.DataFrame, left_out: Mapping[str, str], workspace: Workspace
) -> None:
    """Write the cells of the rows that were made, with those of the others as they were measured before."""
    name = saved_table(table, scale, workspace).name
    stored = stored_tables((workspace.results, RESULTS))
    before = next((one for one in stored if one.name == name), saved_table(table, scale, workspace))
    whole = with_kept(measured, read_cells(before.path), table) if before.path.exists() else measured
    for path in _write(table, scale, whole, read_sentences(before.sentences), left_out, workspace):
        print(f"written to {path}")


def _unpack(table: Table, scale: Scale, workspace: Workspace) -> None:
    copied = unpack_table(table, scale, workspace)
    print(f"copied {len(copied)} packed runs into {workspace.runs}")


def _write(
    table: Table,
    scale: Scale,
    cells: pd.DataFrame,
    spreads: pd.DataFrame,
    left_out: Mapping[str, str],
    workspace: Workspace,
) -> list[Path]:
    """Write cells, the part of sentences, signatures and the printed table to the results of the workspace."""
    stored, names = saved_table(table, scale, workspace), set(cells["row"])
    found = hypotheses(table, scale, workspace, cells)
    spreads = with_kept_sentences(sentence_spreads(table, scale, workspace, found, questions_about(table)), spreads)
    used = signatures(table.only([row.name for row in table.rows if row.name in names]), scale)
    frames = {stored.path: cells, stored.sentences: spreads, stored.signatures: used}
    written = [path for path, frame in frames.items() if len(frame)]
    for path in written:
        write_text(path, frames[path].to_csv(index=False))
    printed = io.StringIO()
    with redirect_stdout(printed):
        print(f"nmtlab reproduce {table.name} --scale {scale}\n")
        without = {row: why for row, why in left_out.items() if row not in names}
        print_results(table, scale, cells, spreads, without, Kept.of(workspace))
    write_text(stored.text, "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines()))
    return [*written, stored.text]
