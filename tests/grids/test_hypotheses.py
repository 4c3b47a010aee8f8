"""The translations behind a table are those of its runs, of every seed."""

import shutil

import pandas as pd
import pytest

from nmtlab.analysis.access.translations import source_digest, stored_translations
from nmtlab.grids.results.collected import collected_cells, made_rows
from nmtlab.grids.results.hypotheses import hypotheses
from nmtlab.grids.results.results import Results
from nmtlab.thesis.evidence import add_table
from nmtlab.workspace import Workspace


@pytest.fixture
def packed(grid, tmp_path) -> Workspace:
    """A workspace with the table in its evidence, and without the runs themselves."""
    workspace = Workspace(tmp_path / "data", grid.workspace.more_corpora)
    shutil.copytree(grid.workspace.runs, workspace.runs)
    Results.collect(grid.table, "tiny", workspace).save("")
    add_table(grid.table, "tiny", workspace)
    shutil.rmtree(workspace.runs)
    return workspace


def test_every_finished_cell_of_a_table_has_its_translations(grid):
    found = hypotheses(grid.table, "tiny", grid.workspace)
    for cells, corpus, runs in made_rows(grid.table, "tiny", grid.workspace):
        for cell in cells:
            of_cell = found[
                (found["row"] == cell.row) & (found["column"] == cell.column) & (found["seed"] == cell.seed)
            ]
            split = of_cell["split"].iloc[0]
            assert of_cell["translation"].tolist() == stored_translations(runs[cell.run], corpus, split)
            assert set(of_cell["text"]) == {source_digest(corpus, split)}


def test_packed_runs_have_the_same(grid, packed):
    pd.testing.assert_frame_equal(
        hypotheses(grid.table, "tiny", packed), hypotheses(grid.table, "tiny", grid.workspace)
    )


def test_translations_of_cells_without_a_value_are_left_out(grid):
    cells = collected_cells(grid.table, "tiny", grid.workspace)
    cells.loc[cells["seed"] == 2, "value"] = None
    assert set(hypotheses(grid.table, "tiny", grid.workspace, cells)["seed"]) == {1}
