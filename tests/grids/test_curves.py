"""The evaluations of the cells of a table."""

from dataclasses import replace

import pytest
from support.little_table import little_table

from nmtlab.grids.declared.declaration import Column, Scale, Table
from nmtlab.grids.results.collected import collected_cells, made_rows
from nmtlab.grids.results.curves import with_dev_curves
from nmtlab.grids.results.kept import Kept
from nmtlab.grids.results.results import Results
from nmtlab.grids.running.cells import cells_of
from nmtlab.grids.running.grid import run_grid
from nmtlab.workspace import Workspace


def saved(table: Table, scale: Scale, workspace: Workspace, folder) -> Results:
    stored = replace(Results.saved(table, scale, workspace), folder=folder)
    collected_cells(table, scale, workspace).to_csv(stored.path(), index=False)
    return stored


def test_every_cell_of_a_table_has_its_evaluations(grid, tmp_path):
    stored = saved(grid.table, "tiny", grid.workspace, tmp_path)
    found = stored.curves.set_index(["row", "column", "seed"])
    for cells, _, runs in made_rows(grid.table, "tiny", grid.workspace):
        for cell in cells:
            of_cell = found.loc[[(cell.row, cell.column, cell.seed)]]
            evaluations = runs[cell.run].log.metrics("validation")
            assert of_cell[["step", "bleu"]].to_numpy().tolist() == evaluations[["step", "bleu"]].to_numpy().tolist()
    assert with_dev_curves(stored.table, stored.cells, Kept.of(grid.workspace)) == {"ha-en": ["fixnorm", "tied"]}


def test_a_run_that_is_not_here_or_of_another_machine_has_none(grid, space, tmp_path):
    stored = saved(grid.table, "tiny", grid.workspace, tmp_path)
    assert replace(stored, workspace=space).curves.empty
    assert with_dev_curves(stored.table, stored.cells, Kept.of(space)) == {}
    path = stored.path()
    cells = path.read_text(encoding="utf-8").splitlines()
    machine = cells[1].rsplit(",", 1)[1] if cells[1][-1] != '"' else cells[1].rsplit(',"', 1)[1]
    path.write_text("\n".join(cells).replace(machine, machine.replace("cores", "kernels")) + "\n", "utf-8")
    assert stored.curves.empty


@pytest.mark.full
def test_a_phrase_based_system_has_no_curve(space, tmp_path, tiny_recipe):
    recipe = tmp_path / "phrase.toml"
    recipe.write_text('base = "moses"\n[model]\ntuning_evaluations = 8\n', encoding="utf-8")
    phrase = Column("phrase-based", str(recipe), seeded=False)
    table = replace(little_table(tmp_path, tiny_recipe), columns=(phrase,))
    assert run_grid(cells_of(table, "tiny"), space) == []
    assert saved(table, "tiny", space, tmp_path).curves.empty
