"""The evaluations behind a table are kept for every seed."""

from dataclasses import replace

import pandas as pd
import pytest
from support.little_table import little_table

from nmtlab.errors import NmtlabError
from nmtlab.experiments import cells_of, run_grid
from nmtlab.experiments.results.collected import made_rows
from nmtlab.experiments.results.dev_curves import COLUMNS, dev_curves, read_dev_curves, save_dev_curves
from nmtlab.experiments.tables.declaration import System


def frame(column: str, *scores: float, seed: int = 1) -> pd.DataFrame:
    about = {"row": "de-en", "column": column, "seed": seed, "perplexity": 9.0, "seconds": 1.0}
    return pd.DataFrame({"step": [100 * place for place in range(1, len(scores) + 1)], "bleu": scores, **about})[
        COLUMNS
    ]


def test_a_cell_that_was_made_again_replaces_its_evaluations_and_others_stay(tmp_path):
    path = tmp_path / "table.small.curves.parquet"
    save_dev_curves(path, pd.concat([frame("tied", 1, 2, 3), frame("tied", 4, 5, seed=2)]))
    save_dev_curves(path, frame("tied", 7, 8))
    found = read_dev_curves(path)
    assert found[found["seed"] == 1]["bleu"].tolist() == [7, 8]
    assert found[found["seed"] == 2]["bleu"].tolist() == [4, 5]


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "table.curves.parquet").write_text("row,bleu\n", encoding="utf-8")
    with pytest.raises(NmtlabError, match=r"table\.curves\.parquet: not a file of evaluations"):
        read_dev_curves(tmp_path / "table.curves.parquet")


def test_every_cell_of_a_table_has_its_evaluations(grid):
    found = dev_curves(grid.table, "tiny", grid.workspace).set_index(["row", "column", "seed"])
    for cells, _, runs in made_rows(grid.table, "tiny", grid.workspace):
        for cell in cells:
            of_cell = found.loc[[(cell.row, cell.column, cell.seed)]]
            evaluations = runs[cell.run].metrics("validation")
            assert of_cell[["step", "bleu"]].to_numpy().tolist() == evaluations[["step", "bleu"]].to_numpy().tolist()


@pytest.mark.full
def test_a_phrase_based_system_has_no_curve(space, tmp_path, tiny_recipe):
    recipe = tmp_path / "phrase.toml"
    recipe.write_text('base = "moses"\n[model]\ntuning_evaluations = 8\n', encoding="utf-8")
    phrase = System("phrase-based", str(recipe), seeded=False)
    table = replace(little_table(tmp_path, tiny_recipe), systems=(phrase,))
    assert run_grid(cells_of(table, "tiny"), space) == []
    assert dev_curves(table, "tiny", space).empty
