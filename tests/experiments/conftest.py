"""A little table that was really run."""

from typing import NamedTuple

import pytest
from learned import LEARNED
from little_table import little_table

from nmtlab.experiments import Table, cells_of, run_grid
from nmtlab.workspace import Workspace


class Grid(NamedTuple):
    """A table, the workspace it was run in, and what was told while it was."""

    table: Table
    workspace: Workspace
    told: list


@pytest.fixture
def space(tmp_path, tiny_corpus) -> Workspace:
    """A workspace of its own that finds the corpus `tiny`."""
    return Workspace(tmp_path / "data", (tiny_corpus.folder.parent,))


@pytest.fixture(scope="session")
def grid(tmp_path_factory, tiny_corpus, tiny_recipe) -> Grid:
    """Two systems with two seeds each that have learned something, finished; nothing is written to it."""
    folder = tmp_path_factory.mktemp("grid")
    table = little_table(folder, tiny_recipe.with_changes(LEARNED))
    workspace = Workspace(folder / "data", (tiny_corpus.folder.parent,))
    told = []
    assert run_grid(cells_of(table, "tiny"), workspace, on_event=told.append) == []
    return Grid(table, workspace, told)
