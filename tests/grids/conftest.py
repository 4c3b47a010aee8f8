"""A small table, actually run."""

from typing import NamedTuple

import pytest
from support.learned import LEARNED
from support.little_table import little_table

from nmtlab.grids.declared.declaration import Table
from nmtlab.grids.running.cells import cells_of
from nmtlab.grids.running.grid import run_grid
from nmtlab.workspace import Workspace


class Grid(NamedTuple):
    """A table, the workspace it was run in, and the events of the run."""

    table: Table
    workspace: Workspace
    events: list


@pytest.fixture
def space(tmp_path, tiny_corpus) -> Workspace:
    """An empty workspace that finds the corpus `tiny`."""
    return Workspace(tmp_path / "data", (tiny_corpus.folder.parent,))


@pytest.fixture(scope="session")
def grid(tmp_path_factory, tiny_corpus, tiny_recipe) -> Grid:
    """Two finished systems with two seeds each that have learned something; read-only."""
    folder = tmp_path_factory.mktemp("grid")
    table = little_table(folder, tiny_recipe.with_changes(LEARNED))
    workspace = Workspace(folder / "data", (tiny_corpus.folder.parent,))
    events = []
    assert run_grid(cells_of(table, "tiny"), workspace, on_event=events.append) == []
    return Grid(table, workspace, events)
