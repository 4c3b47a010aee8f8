"""`nmtlab evidence`."""

from typing import Annotated, Literal

import typer

from nmtlab.cli.options import Threads
from nmtlab.cli.runs import Licence, Sentences, Weights, sentences_to_pack
from nmtlab.runs.listing import open_run
from nmtlab.thesis import evidence
from nmtlab.thesis.tables.listing import find_table
from nmtlab.workspace import Workspace


def add_run(
    name: Annotated[str, typer.Argument(help="Name of a run.")],
    weights: Weights = False,
    sentences: Sentences = 0,
    licence: Licence = "",
    threads: Threads = None,
) -> None:
    """Add a run, packed as by 'nmtlab runs pack'."""
    workspace = Workspace.find()
    run = open_run(name, workspace)
    with sentences_to_pack(run, workspace, sentences, licence, threads) as text:
        path = evidence.add_run(run, workspace, weights, text)
    print(f"added {path} ({path.stat().st_size / 1000:,.0f} kB)")


def add_table(
    table: Annotated[str, typer.Argument(help="Name of a table, as for 'nmtlab reproduce'.")],
    scale: Annotated[Literal["tiny", "small", "thesis"], typer.Option(help="Scale at which it was run.")] = "small",
) -> None:
    """Add the cells of a table that 'nmtlab reproduce --save' saved, and its runs, about 20 kB each.

    Runs that are in the evidence already stay as they are.
    """
    added = evidence.add_table(find_table(table), scale, Workspace.find())
    size = sum(path.stat().st_size for path in added.runs) / 1000
    print(f"added {len(added.runs)} runs ({size:,.0f} kB); {len(added.present)} were there already")
    for path in added.results:
        print(f"written to {path}")
