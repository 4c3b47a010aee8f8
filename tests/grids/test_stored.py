"""Stored tables, read back."""

import lzma
import shutil
from dataclasses import replace

import pandas as pd
import pytest
from support.child_sizes import results_of
from support.packed import NO_WORKSPACE

from nmtlab.errors import NmtlabError
from nmtlab.grids.results.collected import collected_cells
from nmtlab.grids.results.results import Results, stored_results
from nmtlab.grids.results.schemas import CELLS, COMPRESSED, SENTENCES
from nmtlab.thesis.measured import all_measured, scores_on_test
from nmtlab.thesis.tables.listing import TABLES
from nmtlab.workspace import RESULTS, Workspace

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

HEAD = ",".join(SENTENCES.columns) + "\n"


def test_cells_are_read_as_they_were_written(grid, tmp_path):
    found = collected_cells(grid.table, "tiny", grid.workspace)
    found.to_csv(tmp_path / "cells.csv", index=False)
    pd.testing.assert_frame_equal(CELLS.read(tmp_path / "cells.csv"), found, check_exact=True)


def test_cells_are_read_from_a_compressed_file_as_the_evidence_has_them(grid, tmp_path):
    found = collected_cells(grid.table, "tiny", grid.workspace)
    found.to_csv(tmp_path / f"table-3.4.tiny.csv{COMPRESSED}", index=False)
    read = Results(grid.table, "tiny", grid.workspace, tmp_path)
    assert read.exists
    pd.testing.assert_frame_equal(read.cells, found, check_exact=True)


@pytest.mark.parametrize("content", [b"", b"row,metric\n", lzma.compress(b"row,metric\n")[:-20]])
def test_a_damaged_compressed_file_is_named(tmp_path, content):
    (tmp_path / f"table-3.4.tiny.csv{COMPRESSED}").write_bytes(content)
    with pytest.raises(NmtlabError, match=r"table-3\.4\.tiny\.csv\.xz: not a table of results \("):
        CELLS.read(tmp_path / "table-3.4.tiny.csv")


def test_what_is_saved_takes_the_place_of_compressed_files(grid, tmp_path):
    space = Workspace(tmp_path)
    first = Results.collect(grid.table, "tiny", grid.workspace)
    space.results.mkdir(parents=True)
    for kind in (CELLS, SENTENCES):
        (space.results / f"{first.name}{kind.ending}{COMPRESSED}").write_bytes(lzma.compress(b"older"))
    written = replace(first, workspace=space).save("text")
    assert sorted(space.results.iterdir()) == sorted(written)
    pd.testing.assert_frame_equal(Results.saved(grid.table, "tiny", space).cells, first.cells)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("row,metric\n", r"no column system, than, variance, freedom, sentences, signature"),
        (f"{HEAD}ha-en,BLEU,a,b,much,9,10,\n", r"column variance: could not convert string to float: 'much'"),
        (f"{HEAD}ha-en,BLEU,a,b,1,9,1.5,\n", r"column sentences: invalid literal for int"),
        (f"{HEAD}ha-en,BLEU,a,b,1,9,10,\nha-en,BLEU,a,b,2,9,10,\n", r"two lines of one row, metric, system, than"),
    ],
)
def test_a_damaged_file_is_named_with_its_column(tmp_path, lines, said):
    path = tmp_path / "table-3.4.tiny.sentences.csv"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(NmtlabError, match=rf"sentences\.csv: not a table of variances \({said}.*; remove it"):
        SENTENCES.read(path)


def test_what_was_collected_is_merged_with_what_was_saved_and_read_back(grid, space):
    shutil.copytree(grid.workspace.runs, space.runs)
    of_seed_1 = grid.table.with_seeds(["ha-en"], 1)
    first = Results.collect(grid.table, "tiny", space)
    assert not Results.saved(grid.table, "tiny", space).exists
    assert [path.name for path in first.save("as printed\n")] == [
        f"table-3.4.tiny{ending}" for ending in (".csv", ".sentences.csv", ".signatures.csv", ".txt")
    ]
    saved = Results.latest(grid.table, "tiny", space)
    pd.testing.assert_frame_equal(saved.cells, first.cells)
    pd.testing.assert_frame_equal(saved.sentences, first.sentences)
    whole = Results.collect(of_seed_1, "tiny", space, left_out={"ha-en": "gone", "hu-en": "no text"}).merge(saved)
    assert whole.cells["seed"].tolist() == [1, 2, 1, 2]
    assert whole.left_out == {"hu-en": "no text"}
    pd.testing.assert_frame_equal(whole.summary(), saved.summary())


def test_tables_come_in_the_order_of_the_seeds_and_the_first_folder_counts(tmp_path):
    files = ("table-3.8.small.csv", "notes.csv")
    for name in (*(f"results/{file}" for file in files), "other/table-3.8.small.csv", "other/table-3.6.tiny.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = stored_results(TABLES, Workspace(tmp_path), tmp_path / "other")
    assert [(one.name, one.scale, one.folder.name) for one in found] == [
        ("table-3.6.tiny", "tiny", "other"), ("table-3.8.small", "small", "results"),
    ]  # fmt: skip
    assert [one.table.name for one in found] == ["table-3.6", "table-3.8"]


def test_the_score_of_a_run_is_the_mean_over_its_trained_directions(tmp_path):
    (tmp_path / "results").mkdir()
    trained = results_of("many-languages", {"gl-en": {"shared": [20.0]}, "en-gl": {"shared": [10.0]}})
    elsewhere = results_of("zero-shot", {"gl-pt": {"shared": [3.0]}})
    news = results_of("table-3.6-ntrex", {"tu-en": {"tied": [1.0]}})
    for name, cells in (("many-languages", trained), ("zero-shot", elsewhere), ("table-3.6-ntrex", news)):
        cells.assign(run="many").to_csv(tmp_path / f"results/{name}.small.csv", index=False)
    assert scores_on_test(Workspace(tmp_path))["many"] == 15


def test_the_score_of_a_run_that_was_trained_again_is_that_of_the_earlier_table(tmp_path):
    (tmp_path / "results").mkdir()
    for name, score in (("attention-sink", 11.0), ("table-3.6", 10.0)):
        cells = results_of(name, {"tu-en": {"tied": [score]}}).assign(run="twice")
        cells.to_csv(tmp_path / f"results/{name}.small.csv", index=False)
    assert scores_on_test(Workspace(tmp_path))["twice"] == 10


@pytest.mark.parametrize("stored", all_measured(NO_WORKSPACE), ids=lambda stored: stored.name)
def test_what_stands_in_the_checkout_is_of_the_tables_as_they_are_declared(stored):
    cells = stored.cells
    assert stored.folder == RESULTS
    assert set(cells["row"]) <= {row.name for row in stored.table.rows}
    assert set(cells["column"]) <= {system.name for system in stored.table.columns}
    metrics, declared = set(cells["metric"]), {*stored.table.metrics}
    assert metrics == declared
    assert set(cells["scale"]) == {stored.scale}
