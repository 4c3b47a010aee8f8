"""`nmtlab reproduce`."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nmtlab.cli.answer import Json
from nmtlab.cli.table_run import ChosenEngine, Estimate, Made, Workers, make_table, print_estimate, report
from nmtlab.cli.tables import printed
from nmtlab.thesis.tables.listing import find_table, listed
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from nmtlab.grids.results.results import Results


def reproduce(
    table: Annotated[str, typer.Argument(help=listed())],
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
    estimate: Estimate = False,
    workers: Workers = 1,
    engine: ChosenEngine = "local",
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
    as_json: Json = False,
) -> None:
    """Run a table of the thesis as a grid of trainings, and print measured values beside published ones.

    Each cell is an ordinary run: finished ones are not trained again, interrupted ones are resumed, and a training
    that diverges is a result. Real text is searched for in data/corpora and in the folders of NMTLAB_CORPORA.
    """
    workspace, declared = Workspace.find(), find_table(table)
    wanted = declared.only(pair) if pair else declared

    from nmtlab.grids.results.results import Results  # these load torch, after the names are checked
    from nmtlab.grids.results.signatures import ceilings
    from nmtlab.grids.running.grid import unpack_table
    from nmtlab.thesis.claims.declared import questions_about

    asked = questions_about(declared)
    if stored:
        found = Results.measured(declared, scale, workspace)
        report(Made(found), _saved(found.merge(found, asked)) if save else [], as_json)
        return
    if seeds:
        wanted = wanted.with_seeds([row.name for row in wanted.rows], seeds)
    if packed:
        copied = f"copied {len(unpack_table(wanted, scale, workspace))} packed runs into {workspace.runs}"
        print(copied, file=sys.stderr if as_json else sys.stdout)
    if estimate:
        print_estimate(wanted, scale, workspace, as_json)
        return

    made = make_table(wanted, scale, workspace, f"{table} {scale}", workers, engine, as_json, asked)
    files = _saved(made.results.merge(Results.latest(declared, scale, workspace), asked)) if save else []
    of_rows = ", ".join(f"{row} {ceiling:.1f}" for row, ceiling in ceilings(wanted, scale, workspace).items())
    limits = [f"  BLEU of a word system that finds every word of the reference: {of_rows}"] if of_rows else []
    report(made, files, as_json, limits)


def _saved(results: "Results") -> "list[Path]":
    return results.save(f"{results.command}\n\n{printed(*results.sheet)}")
