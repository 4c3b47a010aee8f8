"""The translations behind a table are kept for every seed."""

import pandas as pd
import pytest

from nmtlab.analysis.access.translations import source_digest, stored_translations
from nmtlab.errors import NmtlabError
from nmtlab.experiments.results.collected import made_rows
from nmtlab.experiments.results.hypotheses import COLUMNS, hypotheses, of_cells, read_hypotheses, save_hypotheses


def frame(column: str, *translations: str, seed: int = 1) -> pd.DataFrame:
    about = {"row": "de-en", "column": column, "seed": seed, "split": "test", "measure": "", "text": "digest"}
    lines = {"line": range(len(translations)), "translation": translations}
    return pd.DataFrame({**lines, **about})[COLUMNS]


def test_translations_come_back_and_those_of_other_cells_stay(tmp_path):
    path = tmp_path / "results" / "table.translations.parquet"
    path.parent.mkdir()
    save_hypotheses(path, pd.concat([frame("tied", "a", "b"), frame("tied", "c", "d", seed=2)]))
    save_hypotheses(path, frame("tied", "A", "B"))
    found = read_hypotheses(path)
    assert found[found["seed"] == 1]["translation"].tolist() == ["A", "B"]
    assert found[found["seed"] == 2]["translation"].tolist() == ["c", "d"]


def test_a_file_of_before_other_searches_were_kept_still_opens_and_is_added_to(tmp_path):
    path = tmp_path / "table.translations.parquet"
    frame("tied", "a", "b").drop(columns="measure").to_parquet(path)
    pd.testing.assert_frame_equal(read_hypotheses(path), frame("tied", "a", "b"))
    save_hypotheses(path, frame("tied", "c", "d").assign(measure="BLEU of a wide beam"))
    assert read_hypotheses(path).groupby("measure")["translation"].agg("".join).to_dict() == {
        "": "ab",
        "BLEU of a wide beam": "cd",
    }


def test_translations_of_cells_without_a_value_are_left_out():
    found = pd.concat([frame("tied", "a", "b"), frame("tied", "c", seed=2), frame("Moses", "d", seed=0)])
    cells = pd.DataFrame(
        {"row": "de-en", "column": ["tied", "tied", "Moses"], "seed": [1, 2, None], "value": [1, None, 2]}
    )
    assert of_cells(found, cells.astype({"seed": "Int64"}))["translation"].tolist() == ["a", "b", "d"]


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "table.translations.parquet").write_text("no parquet", encoding="utf-8")
    with pytest.raises(NmtlabError, match=r"table\.translations\.parquet: not a file of translations"):
        read_hypotheses(tmp_path / "table.translations.parquet")
    frame("tied", "a").drop(columns="seed").to_parquet(tmp_path / "table.translations.parquet")
    with pytest.raises(NmtlabError, match=r"table\.translations\.parquet: not a file of translations"):
        read_hypotheses(tmp_path / "table.translations.parquet")


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
