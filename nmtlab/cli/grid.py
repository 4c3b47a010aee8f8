"""`nmtlab grid`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmtlab.cli.answer import Json
from nmtlab.cli.table_run import ChosenEngine, Estimate, Workers, make_table, print_estimate, report
from nmtlab.cli.tables import printed
from nmtlab.errors import NmtlabError, missing_package
from nmtlab.files import write_text
from nmtlab.grids.declared.example import EXAMPLE
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from nmtlab.grids.results.results import Results


def grid(
    file: Annotated[
        Path | None, typer.Argument(help="TOML file with systems, texts, seeds and metrics; see --example.")
    ] = None,
    example: Annotated[bool, typer.Option("--example", help="Print a file to begin with, explained.")] = False,
    estimate: Estimate = False,
    workers: Workers = 1,
    engine: ChosenEngine = "local",
    translations: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write the test translations to, with source and reference, for scores from elsewhere."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Also write the page Tables with this grid to one self-contained HTML file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a grid of your own: every system on every text with every seed, and say which systems differ.

    Finished cells are not trained again and interrupted ones are resumed, so the command can be repeated. The results
    are written to data/results under the name of the file; the page Tables of nmtlab dashboards shows them.
    """
    if example:
        print(EXAMPLE, end="")
        return
    if file is None:
        raise NmtlabError("nmtlab grid: no file", "name one; 'nmtlab grid --example > my-question.toml' writes one")
    from nmtlab.grids.declared.declaration import GRID  # these load torch
    from nmtlab.grids.declared.grid_file import read_grid
    from nmtlab.grids.results.measures import write_translations
    from nmtlab.grids.results.stored_grids import save_grid

    workspace = Workspace.find()
    table = read_grid(file, workspace)
    if estimate:
        print_estimate(table, GRID, workspace, as_json)
        return
    files: list[Path] = []

    def write() -> None:  # before scores from elsewhere are read, which a new run does not have yet
        if translations is not None:
            files.extend(write_translations(table, GRID, workspace, translations))

    made = make_table(table, GRID, workspace, table.name, workers, engine, as_json, trained=write)
    notes = [f"  {decision}" for decision in made.results.decisions]
    text = f"{made.results.command}\n\n{printed(*made.results.sheet)}" + "".join(f"{note}\n" for note in notes)
    files += save_grid(made.results, file, text)
    if html is not None:
        write_text(html, _page(made.results))
        files.append(html)
    report(made, files, as_json, notes)


def _page(results: "Results") -> str:
    """Return the page Tables with these results, which were saved, as HTML."""
    try:
        from nmtlab.dashboards.pages.tables import TablesPage
    except ImportError as error:
        raise missing_package("ipywidgets") from error
    page = TablesPage(results.workspace)
    page.table.value, page.state["open"].value = results.name, "behind,sources"
    return page.saved()
