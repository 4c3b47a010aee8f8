"""The runs behind a table, packed into one file of the gallery."""

import json
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from nmtlab.errors import RunError
from nmtlab.experiments import cells_of, run_grid
from nmtlab.experiments.measures.quality import TRAIN_PERPLEXITY
from nmtlab.experiments.measures.search import SearchedBleu, Way
from nmtlab.experiments.results.collected import results
from nmtlab.experiments.results.hypotheses import (
    drop_hypotheses,
    hypotheses,
    read_hypotheses,
    save_hypotheses,
    with_packed,
)
from nmtlab.experiments.results.packs import pack_table, packed_hypotheses, unpack_table
from nmtlab.experiments.running.events import CellEnded
from nmtlab.recipe import SearchSettings
from nmtlab.runs.listing import open_run
from nmtlab.runs.pack import pack
from nmtlab.workspace import Workspace


@pytest.fixture
def copied(grid, tmp_path) -> Workspace:
    """A copy of the grid's runs, whose table has four."""
    shutil.copytree(grid.workspace.runs, tmp_path / "data/runs")
    return Workspace(tmp_path / "data", grid.workspace.more_corpora)


def test_all_seeds_of_a_table_are_packed_and_open_without_their_folders(grid, copied):
    names = sorted(run.name for run in copied.runs.iterdir())
    target, packed, elsewhere = pack_table(grid.table, "tiny", copied)
    assert (target, packed, elsewhere) == (copied.gallery / "table-3.4.tiny.tar.xz", names, {})
    shutil.rmtree(copied.runs)
    assert [open_run(name, copied).status for name in names] == ["finished"] * 4


def test_what_was_packed_before_stays(grid, copied):
    names = pack_table(grid.table, "tiny", copied).packed
    shutil.rmtree(copied.runs / names[0])
    assert pack_table(grid.table, "tiny", copied).packed == names
    shutil.rmtree(copied.runs)
    assert open_run(names[0], copied).status == "finished"


def test_what_the_gallery_has_anyway_is_left_out(grid, copied):
    first, *others = sorted(run.name for run in copied.runs.iterdir())
    pack(open_run(first, copied), copied.gallery / first)
    assert pack_table(grid.table, "tiny", copied)[1:] == (others, {first: True})
    other = pack_table(replace(grid.table, name="table-3.6"), "tiny", copied)
    assert other[1:] == ([], dict.fromkeys([first, *others], True))
    assert not other.target.exists()


def test_another_training_of_the_same_name_in_the_gallery_is_told_apart(grid, copied):
    first = min(run.name for run in copied.runs.iterdir())
    noted = pack(open_run(first, copied), copied.gallery / first) / "packed.json"
    noted.write_text(json.dumps({**json.loads(noted.read_text(encoding="utf-8")), "weights": "0" * 64}))
    assert pack_table(grid.table, "tiny", copied).elsewhere == {first: False}


@pytest.mark.full
def test_packed_runs_are_taken_as_made_and_only_the_others_are_trained(grid, copied):
    before = results(grid.table, "tiny", copied)
    first = min(run.name for run in copied.runs.iterdir())
    pack_table(grid.table, "tiny", copied)
    shutil.rmtree(copied.runs)
    assert unpack_table(grid.table, "tiny", copied) == [cell.run for cell in cells_of(grid.table, "tiny")]
    shutil.rmtree(copied.runs / first)
    events = []
    assert run_grid(cells_of(grid.table, "tiny"), copied, on_event=events.append) == []
    assert {event.cell.run for event in events if isinstance(event, CellEnded)} == {first}
    again = results(grid.table, "tiny", copied)
    assert again[["run", "seed", "value"]].equals(before[["run", "seed", "value"]])


def test_a_run_without_its_model_is_not_taken_where_a_table_needs_more_than_translations(grid, copied):
    pack_table(grid.table, "tiny", copied)
    shutil.rmtree(copied.runs)
    more = replace(grid.table, measures=(*grid.table.measures, TRAIN_PERPLEXITY))
    assert unpack_table(more, "tiny", copied) == []


def test_a_run_without_its_model_that_cannot_give_a_number_stops_a_grid_before_anything_is_trained(grid, copied):
    pack_table(grid.table, "tiny", copied)
    shutil.rmtree(copied.runs)
    name, *_ = unpack_table(grid.table, "tiny", copied)
    shutil.rmtree(max(copied.runs.iterdir()))
    assert run_grid(cells_of(grid.table, "tiny")[:1], copied) == []
    searched = SearchedBleu("BLEU by log-prob, beam 2", Way(SearchSettings(score="log-prob", beam_size=2)))
    cells = [replace(cell, measures=(*cell.measures, searched)) for cell in cells_of(grid.table, "tiny")]
    with pytest.raises(RunError, match=rf"{name}.*packed without its model.*'nmtlab runs remove'"):
        run_grid(cells, copied)
    assert len([*copied.runs.iterdir()]) == 3


def test_another_training_of_the_same_name_is_not_taken(grid, copied):
    pack_table(grid.table, "tiny", copied)
    shutil.rmtree(copied.runs)
    other = replace(grid.table, changes={"tiny": {"training.clip_norm": 7.0}})
    assert unpack_table(other, "tiny", copied) == []


def test_translations_that_are_packed_with_runs_need_no_file_beside_the_table(grid, copied, tmp_path):
    path = tmp_path / "table.translations.parquet"
    made = hypotheses(grid.table, "tiny", copied)
    save_hypotheses(path, made)
    first = min(run.name for run in copied.runs.iterdir())
    shutil.rmtree(copied.runs / first)
    pack_table(grid.table, "tiny", copied)
    packed = packed_hypotheses(grid.table, "tiny", copied)
    drop_hypotheses(path, packed)
    left = read_hypotheses(path)
    lost = {(cell.row, cell.column, cell.seed) for cell in cells_of(grid.table, "tiny") if cell.run == first}
    assert set(left[["row", "column", "seed"]].itertuples(index=False, name=None)) == lost
    keys = ["row", "column", "seed", "split", "line"]
    again = with_packed(path, packed).sort_values(keys, ignore_index=True)
    pd.testing.assert_frame_equal(again, made.sort_values(keys, ignore_index=True), check_dtype=False)
    drop_hypotheses(path, made)
    assert not path.exists()
    assert with_packed(path, packed).equals(packed)
