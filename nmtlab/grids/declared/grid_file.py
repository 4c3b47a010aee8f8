"""A person's grid as a file of TOML: systems, texts, seeds and metrics, read as a table.

table = read_grid("my-question.toml", workspace)
run_grid(cells_of(table, GRID), workspace)
print(Results.collect(table, GRID, workspace).summary())
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from nmtlab.errors import CorpusError, NmtlabError, RecipeError
from nmtlab.grids.declared.declaration import GRID, Column, Parent, Row, Scores, Setup, Table
from nmtlab.grids.declared.grid_checks import check_names, check_recipes_and_texts
from nmtlab.grids.declared.grid_schema import Grid, GridFile, System, Text, flat, is_sized, row_names, texts_of
from nmtlab.grids.declared.grid_texts import corpus_of
from nmtlab.recipe import find_recipe
from nmtlab.workspace import PUBLISHED, Workspace


def read_grid(path: Path | str, workspace: Workspace) -> Table:
    """Return a grid as a table, which has the name of the file and the scale `GRID` alone.

    Args:
        path: of a file like `nmtlab.grids.declared.example.EXAMPLE`. Paths in it start from its folder.
        workspace: where its corpora are.

    Raises:
        NmtlabError: the file cannot be read, asks for what there is not, or has a system twice; the message has the
            line and the field.
    """
    file = GridFile.open(path)
    grid = file.grid()
    if (PUBLISHED / f"{file.path.stem}.csv").is_file():
        raise NmtlabError(f"{file.path}: named like a published table", "choose another name for the file")
    check_names(file, grid)
    check_recipes_and_texts(file, grid, workspace)
    return _table(file, grid, workspace, file.path.stem)


def stored_grid(path: Path, name: str, workspace: Workspace) -> Table:
    """Return a grid that was read before; a text that is gone since is the reason why its rows are not run.

    Args:
        path: of what `portable` returned.
        name: of the grid.
        workspace: where its corpora are.

    Raises:
        NmtlabError: the file is damaged.
    """
    file = GridFile.open(path)
    grid = file.grid()
    check_names(file, grid)
    return _table(file, grid, workspace, name)


def portable(path: Path | str) -> str:
    """Return the text of a file with a grid, with absolute paths in place of those from its folder."""
    file = GridFile.open(path)
    grid, text = file.grid(), file.text
    names = {*(one.recipe for one in grid.system), *(one.corpus for _, one in texts_of(grid))} - {""}
    places = {name: file.placed(name) for name in names}
    places |= {path: file.beside(path) for one in grid.scores for path in one.files.values()}
    for name, place in places.items():
        for quote in ('"', "'"):
            text = text.replace(f"{quote}{name}{quote}", f"{quote}{place}{quote}")
    return text


def _table(file: GridFile, grid: Grid, workspace: Workspace, name: str) -> Table:
    systems = {one.name: one for one in grid.system}

    def column(system: System) -> Column:
        base, teacher = (column(systems[name]) if name else None for name in (system.base, system.teacher))
        recipe, changes = file.placed(system.recipe), _changes(file, grid, system)
        return Column(
            system.name, recipe, changes, parent=system.parent, base=base, teacher=teacher,
            distillation=system.distillation, ensemble=system.ensemble,
        )  # fmt: skip

    return Table(
        name=name,
        title=grid.title or name,
        rows=tuple(row for text in grid.text for row in _row_of_sizes(file, grid, text, workspace)),
        columns=tuple(map(column, grid.system)),
        metrics=tuple(grid.metrics),
        baseline=grid.baseline or grid.system[0].name,
        seeds={GRID: tuple(grid.seeds)},
        published=False,
        marks="",
        given=tuple(
            Scores(one.name, one.better, {row: file.beside(path) for row, path in one.files.items()})
            for one in grid.scores
        ),
    )


def _changes(file: GridFile, grid: Grid, system: System) -> dict[str, Any]:
    """Return the changes to a recipe. Those to all do not concern a phrase-based system, nor a recipe that is gone."""
    try:
        common = grid.changes if find_recipe(file.placed(system.recipe)).model.neural else {}
    except RecipeError:
        common = {}
    return {**flat(common), **flat(system.changes)}


def _row_of_sizes(file: GridFile, grid: Grid, text: Text, workspace: Workspace) -> Iterator[Row]:
    for size, name in zip(text.sizes, row_names(text), strict=True):
        named = [text.name] if text.name and text.artificial else []
        note = ", ".join([*named, *([f"{size:,}" if size != "all" else "all"] if is_sized(text) else [])])
        try:
            setup: Setup | str = _setup(file, grid, text, size, workspace)
        except CorpusError as error:
            setup = str(error)
        yield Row(name, {GRID: setup}, note=f" ({note})" if note else "")


def _setup(file: GridFile, grid: Grid, text: Text, size: int | Literal["all"], workspace: Workspace) -> Setup:
    """Return a row; from its whole text, parents' subwords are learned, so that all its sizes share a parent."""
    largest = "all" if "all" in text.sizes else max(text.sizes, key=int)
    whole = corpus_of(file, text, largest, workspace)
    parents = {
        one.name: Parent(corpus_of(file, one, one.size, workspace), whole, flat(one.changes)) for one in grid.parent
    }
    return Setup(corpus_of(file, text, size, workspace), parents=parents)
