"""The runs behind a table, packed into one file of the gallery."""

import json
import shutil
from dataclasses import replace

import pytest

from nmtlab.experiments.results.packs import pack_table
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
