"""The evaluations behind a table are those of its runs."""

from dataclasses import replace

import pytest
from support.little_table import little_table

from nmtlab.experiments import cells_of, results, run_grid
from nmtlab.experiments.results.collected import made_rows
from nmtlab.experiments.results.dev_curves import dev_curves, with_dev_curves
from nmtlab.experiments.results.kept import Kept
from nmtlab.experiments.results.stored import Stored, saved_table
from nmtlab.experiments.tables.declaration import Scale, System, Table
from nmtlab.workspace import Workspace


def saved(table: Table, scale: Scale, workspace: Workspace, folder) -> Stored:
    stored = replace(saved_table(table, scale, workspace), path=folder / f"{table.name}.{scale}.csv")
    results(table, scale, workspace).to_csv(stored.path, index=False)
    return stored


def test_every_cell_of_a_table_has_its_evaluations(grid, tmp_path):
    stored = saved(grid.table, "tiny", grid.workspace, tmp_path)
    found = dev_curves(stored, grid.workspace).set_index(["row", "column", "seed"])
    for cells, _, runs in made_rows(grid.table, "tiny", grid.workspace):
        for cell in cells:
            of_cell = found.loc[[(cell.row, cell.column, cell.seed)]]
            evaluations = runs[cell.run].metrics("validation")
            assert of_cell[["step", "bleu"]].to_numpy().tolist() == evaluations[["step", "bleu"]].to_numpy().tolist()
    assert with_dev_curves(stored, Kept.of(grid.workspace)) == {"ha-en": ["fixnorm", "tied"]}


def test_a_run_that_is_not_here_or_of_another_machine_has_none(grid, space, tmp_path):
    stored = saved(grid.table, "tiny", grid.workspace, tmp_path)
    assert dev_curves(stored, space).empty
    assert with_dev_curves(stored, Kept.of(space)) == {}
    cells = stored.path.read_text(encoding="utf-8").splitlines()
    machine = cells[1].rsplit(",", 1)[1] if cells[1][-1] != '"' else cells[1].rsplit(',"', 1)[1]
    stored.path.write_text("\n".join(cells).replace(machine, machine.replace("cores", "kernels")) + "\n", "utf-8")
    assert dev_curves(stored, grid.workspace).empty


@pytest.mark.full
def test_a_phrase_based_system_has_no_curve(space, tmp_path, tiny_recipe):
    recipe = tmp_path / "phrase.toml"
    recipe.write_text('base = "moses"\n[model]\ntuning_evaluations = 8\n', encoding="utf-8")
    phrase = System("phrase-based", str(recipe), seeded=False)
    table = replace(little_table(tmp_path, tiny_recipe), systems=(phrase,))
    assert run_grid(cells_of(table, "tiny"), space) == []
    assert dev_curves(saved(table, "tiny", space, tmp_path), space).empty
