"""A person's grids with their results, in the results of a workspace: the declaration is beside the cells."""

from collections.abc import Iterator
from pathlib import Path

from nmtlab.errors import NmtlabError
from nmtlab.files import write_text
from nmtlab.grids.declared.declaration import GRID
from nmtlab.grids.declared.grid_file import portable, stored_grid
from nmtlab.grids.results.results import Results
from nmtlab.grids.results.schemas import DECLARED
from nmtlab.workspace import Workspace


def save_grid(results: Results, declaration: Path, text: str) -> list[Path]:
    """Write the results of a grid with its declaration, and return the files.

    Args:
        results: of the table that was read from the declaration.
        declaration: a file of TOML.
        text: the table as it is printed.
    """
    target = Results.saved(results.table, GRID, results.workspace).path(DECLARED)
    content = portable(declaration)
    written = results.save(text)
    write_text(target, content)
    return [*written, target]


def stored_grids(workspace: Workspace) -> list[Results]:
    """Return the grids that were saved in a workspace, the newest first, but for those whose declaration is damaged."""
    return [*_stored(workspace)]


def _stored(workspace: Workspace) -> Iterator[Results]:
    ending = f".{GRID}{DECLARED.ending}"
    found = workspace.results.glob(f"*{ending}")
    for path in sorted(found, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        try:
            table = stored_grid(path, path.name.removesuffix(ending), workspace)
        except NmtlabError:
            continue
        if (results := Results.saved(table, GRID, workspace)).exists:
            yield results
