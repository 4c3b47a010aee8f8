"""`nmtlab reproduce`."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from nmtlab.experiments import Cell, Scale, Table
    from nmtlab.experiments.claims.until_decided import Look
    from nmtlab.experiments.results.stored import Stored
    from nmtlab.workspace import Workspace


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
            "length-planning-trained-out, unseen-lengths. On many languages: many-languages, zero-shot, "
            "many-languages-tuning."
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
    until_decided: Annotated[
        int | None,
        typer.Option(
            metavar="MOST_SEEDS",
            help="Train every system of a row with 3 seeds, then 5, then 10, but no more than MOST_SEEDS, until all "
            "its differences to the baseline, and those of claims, are decided; p and intervals allow for the repeated "
            "tests.",
        ),
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
            help="Also write the cells and the printed table to data/results; stored cells of other pairs are kept.",
        ),
    ] = False,
    pack: Annotated[
        bool,
        typer.Option(
            "--pack",
            help="Also pack the runs of all seeds, without their models, into one small file of the gallery; its other "
            "runs are kept.",
        ),
    ] = False,
    packed: Annotated[
        bool,
        typer.Option(
            "--packed",
            help="First copy the runs of the gallery that are cells of the table into the workspace, so that only the "
            "others are trained.",
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
    from nmtlab.cli.results_table import print_results
    from nmtlab.errors import NmtlabError
    from nmtlab.experiments import cells_of, find_table, in_processes, on_ray, one_by_one, results, run_grid
    from nmtlab.experiments.claims.until_decided import run_until_decided
    from nmtlab.experiments.results.hypotheses import hypotheses
    from nmtlab.experiments.results.looks import read_looks
    from nmtlab.experiments.results.sentences import sentence_spreads
    from nmtlab.experiments.results.sequential import planned_looks
    from nmtlab.experiments.results.stored import saved_table
    from nmtlab.workspace import Workspace

    if seeds and until_decided:
        raise NmtlabError("both --seeds and --until-decided are given", "choose one of them")
    workspace = Workspace.find()
    declared = find_table(table)
    if stored:
        _print_stored(declared, scale, save, workspace)
        return
    wanted = declared.only(pair) if pair else declared
    looks = planned_looks(until_decided) if until_decided else ()
    if most := seeds or max(looks, default=0):
        wanted = wanted.with_seeds([row.name for row in wanted.rows], most)
    if packed:
        _unpack(wanted, scale, workspace)
    if estimate:
        _print_estimate(wanted, scale, cells_of(wanted, scale), workspace, looks)
        return

    from nmtlab.cli.grid_bar import GridBar

    bar, should_stop = GridBar(f"{table} {scale}", workers), _interrupted()
    local = one_by_one if workers == 1 else in_processes(workers)
    chosen = on_ray(workers) if engine == "ray" else local
    if looks:
        wanted, problems = run_until_decided(wanted, scale, workspace, looks, chosen, bar, _print_look, should_stop)
    else:
        problems = run_grid(cells_of(wanted, scale), workspace, chosen, bar, should_stop)
    bar.close()
    measured = results(wanted, scale, workspace)
    spreads = sentence_spreads(wanted, scale, workspace, hypotheses(wanted, scale, workspace))
    print_results(
        wanted, scale, measured, spreads, read_looks(saved_table(wanted, scale, workspace).looks), bar.left_out
    )
    if save:
        _save(declared, wanted, scale, measured, bar.left_out, workspace)
    if pack:
        _pack(declared, wanted, scale, workspace)
    for problem in problems:
        print(f"failed: {problem.problem}")
    if should_stop():
        print("interrupted; the same command resumes it")
    if problems or should_stop():
        raise typer.Exit(1)


def _interrupted() -> Callable[[], bool]:
    """Return a function that reports whether Ctrl-C was pressed; pressed again, it ends the process."""
    import signal

    caught: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: (caught.append(received), signal.signal(received, signal.SIG_DFL)))
    return lambda: bool(caught)


def _print_look(look: "Look") -> None:
    from tqdm.auto import tqdm

    left = [f"{row} ({undecided} of {lines})" for row, (undecided, lines) in look.undecided.items() if undecided]
    said = f"undecided lines of {', '.join(left)}" if left else "every line is decided"
    tqdm.write(f"look at {look.seeds} seeds: {said}")


def _print_estimate(
    table: "Table", scale: "Scale", wanted: "list[Cell]", workspace: "Workspace", looks: Sequence[int]
) -> None:
    from nmtlab.cli.results_table import number, print_reasons
    from nmtlab.cli.tables import print_table
    from nmtlab.experiments import estimate_grid

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
    if looks:
        up_to = [f"{look} ({cells.loc[cells['seed'].le(look, fill_value=0), 'minutes'].sum():,.0f})" for look in looks]
        print(
            f"this is the most: rows that are decided stop at fewer seeds; minutes up to each look: {', '.join(up_to)}"
        )
    without = cells[cells["problem"] != ""]
    print_reasons(table, scale, dict(zip(without["row"], without["problem"], strict=True)))


def _print_stored(table: "Table", scale: "Scale", save: bool, workspace: "Workspace") -> None:
    """Judge and print the stored cells of a table, and write what follows from them beside them if asked to."""
    from nmtlab.cli.results_table import print_results
    from nmtlab.experiments.results.kept import Kept, kept_runs
    from nmtlab.experiments.results.looks import read_looks
    from nmtlab.experiments.results.sentences import read_sentences
    from nmtlab.experiments.results.stored import measured_table, read_cells

    stored = measured_table(table.name, scale)
    cells = read_cells(stored.path)
    written = _write_judged(stored, cells, {}, workspace) if save else []
    spreads, looks = read_sentences(stored.sentences), read_looks(stored.looks)
    print_results(
        table, scale, cells, spreads, looks, {}, Kept.of(stored.path, kept_runs(stored.path.parent, workspace))
    )
    for path in written:
        print(f"written to {path}")


def _save(
    declared: "Table",
    made: "Table",
    scale: "Scale",
    measured: "pd.DataFrame",
    left_out: Mapping[str, str],
    workspace: "Workspace",
) -> None:
    """Write the cells of the rows that were made, and the whole table with those stored earlier."""
    from nmtlab.experiments.results.collected import with_kept
    from nmtlab.experiments.results.dev_curves import ENDING, dev_curves, save_dev_curves
    from nmtlab.experiments.results.hypotheses import hypotheses, save_hypotheses
    from nmtlab.experiments.results.stored import read_cells, saved_table
    from nmtlab.files import write_text

    stored = saved_table(declared, scale, workspace)
    cells, translated = stored.path, stored.path.with_suffix(".translations.parquet")
    whole = with_kept(measured, read_cells(cells), declared) if cells.exists() else measured
    written = [cells]
    if len(found := hypotheses(made, scale, workspace)):
        save_hypotheses(translated, found)
        written.append(translated)
    written += _write_judged(stored, whole, left_out, workspace)
    write_text(cells, whole.to_csv(index=False))
    if len(evaluated := dev_curves(made, scale, workspace)):
        curves = cells.with_suffix(ENDING)
        save_dev_curves(curves, evaluated)
        written.append(curves)
    for path in written:
        print(f"written to {path}")


def _unpack(table: "Table", scale: "Scale", workspace: "Workspace") -> None:
    from nmtlab.experiments.results.packs import unpack_table

    copied = unpack_table(table, scale, workspace)
    print(f"copied {len(copied)} packed runs into {workspace.runs}")


def _pack(declared: "Table", made: "Table", scale: "Scale", workspace: "Workspace") -> None:
    """Pack the runs of a table; translations that are packed with them need not stand beside its cells as well."""
    from nmtlab.experiments.results.hypotheses import drop_hypotheses
    from nmtlab.experiments.results.packs import pack_table, packed_hypotheses
    from nmtlab.experiments.results.stored import saved_table

    target, packed, elsewhere = pack_table(made, scale, workspace)
    if packed:
        size = target.stat().st_size / 1000
        print(f"packed {len(packed)} runs into {target} ({size:,.0f} kB, {size / len(packed):,.0f} kB each)")
    for name, same in elsewhere.items():
        print(f"not packed: {name}: in the gallery already" + ("" if same else ", but another training; remove that"))
    translated = saved_table(declared, scale, workspace).path.with_suffix(".translations.parquet")
    if translated.exists():
        drop_hypotheses(translated, packed_hypotheses(declared, scale, workspace))


def _write_judged(
    stored: "Stored", cells: "pd.DataFrame", left_out: Mapping[str, str], workspace: "Workspace"
) -> "list[Path]":
    """Write the printed table, its signatures, and the part of sentences where translations are stored."""
    import io
    from contextlib import redirect_stdout

    from nmtlab.cli.results_table import print_results
    from nmtlab.experiments.results.hypotheses import of_cells, with_packed
    from nmtlab.experiments.results.kept import Kept, kept_runs
    from nmtlab.experiments.results.looks import read_looks
    from nmtlab.experiments.results.packs import packed_hypotheses
    from nmtlab.experiments.results.sentences import read_sentences, sentence_spreads, with_kept_sentences
    from nmtlab.experiments.results.signatures import signatures
    from nmtlab.files import write_text

    table, scale = stored.table, stored.scale
    text, translated, signed = (
        stored.path.with_suffix(suffix) for suffix in (".txt", ".translations.parquet", ".signatures.csv")
    )
    written, spreads, names = [text], read_sentences(stored.sentences), set(cells["row"])
    found = of_cells(with_packed(translated, packed_hypotheses(table, scale, workspace)), cells)
    spreads = with_kept_sentences(sentence_spreads(table, scale, workspace, found), spreads)
    if len(spreads):
        write_text(stored.sentences, spreads.to_csv(index=False))
        written.append(stored.sentences)
    if len(used := signatures(table.only([row.name for row in table.rows if row.name in names]), scale)):
        write_text(signed, used.to_csv(index=False))
        written.append(signed)
    printed = io.StringIO()
    with redirect_stdout(printed):
        print(f"nmtlab reproduce {table.name} --scale {scale}\n")
        without = {row: why for row, why in left_out.items() if row not in names}
        kept = Kept.of(stored.path, kept_runs(stored.path.parent, workspace))
        print_results(table, scale, cells, spreads, read_looks(stored.looks), without, kept)
    write_text(text, "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines()))
    return written + ([stored.looks] if stored.looks.exists() else [])
