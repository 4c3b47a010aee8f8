"""`nmtlab reproduce`."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nmtlab.cli.options import interrupted
from nmtlab.cli.tables import print_table, printed
from nmtlab.thesis.tables.listing import find_table, listed
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
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
    workspace, declared = Workspace.find(), find_table(table)
    wanted = declared.only(pair) if pair else declared

    from nmtlab.cli.grid_bar import GridBar  # after the names are checked: it loads torch
    from nmtlab.grids.results.results import Results
    from nmtlab.grids.results.sheets import estimate_sheet
    from nmtlab.grids.results.signatures import ceilings
    from nmtlab.grids.running.cells import cells_of
    from nmtlab.grids.running.engines import in_processes, one_by_one
    from nmtlab.grids.running.estimate import estimate_grid
    from nmtlab.grids.running.grid import run_grid, unpack_table
    from nmtlab.grids.running.ray_engine import on_ray
    from nmtlab.thesis.claims.declared import questions_about

    asked = questions_about(declared)
    if stored:
        found = Results.measured(declared, scale, workspace)
        print_table(*found.sheet)
        if save:
            _save(found.merge(found, asked))
        return
    if seeds:
        wanted = wanted.with_seeds([row.name for row in wanted.rows], seeds)
    if packed:
        print(f"copied {len(unpack_table(wanted, scale, workspace))} packed runs into {workspace.runs}")
    if estimate:
        print_table(*estimate_sheet(wanted, scale, estimate_grid(cells_of(wanted, scale), workspace)))
        return

    bar, should_stop = GridBar(f"{table} {scale}", workers), interrupted()
    local = one_by_one if workers == 1 else in_processes(workers)
    chosen = on_ray(workers) if engine == "ray" else local
    problems = run_grid(cells_of(wanted, scale), workspace, chosen, bar, should_stop)
    bar.close()
    found = Results.collect(wanted, scale, workspace, asked, bar.left_out)
    print_table(*found.sheet)
    if below := ceilings(wanted, scale, workspace):
        of_rows = ", ".join(f"{row} {ceiling:.1f}" for row, ceiling in below.items())
        print(f"  BLEU of a word system that finds every word of the reference: {of_rows}")
    if save:
        _save(found.merge(Results.latest(declared, scale, workspace), asked))
    for problem in problems:
        print(f"failed: {problem.problem}")
    if should_stop():
        print("interrupted; the same command resumes it")
    if problems or should_stop():
        raise typer.Exit(1)


def _save(results: "Results") -> None:
    text = f"nmtlab reproduce {results.table.name} --scale {results.scale}\n\n{printed(*results.sheet)}"
    for path in results.save(text):
        print(f"written to {path}")
