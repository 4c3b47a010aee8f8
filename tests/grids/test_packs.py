"""The runs behind a table, packed and taken as made."""

import shutil
from dataclasses import replace

import pytest

from nmtlab.errors import RunError
from nmtlab.grids.declared.declaration import Column
from nmtlab.grids.results.collected import collected_cells
from nmtlab.grids.results.results import Results
from nmtlab.grids.running.cells import cells_of
from nmtlab.grids.running.events import CellEnded
from nmtlab.grids.running.grid import run_grid, unpack_table
from nmtlab.thesis.evidence import add_table
from nmtlab.workspace import Workspace


@pytest.fixture
def copied(grid, tmp_path) -> Workspace:
    """A copy of the grid's runs, whose table has four."""
    shutil.copytree(grid.workspace.runs, tmp_path / "data/runs")
    return Workspace(tmp_path / "data", grid.workspace.more_corpora)


def packed(grid, workspace: Workspace) -> None:
    Results.collect(grid.table, "tiny", workspace).save("")
    add_table(grid.table, "tiny", workspace)


@pytest.mark.full
def test_packed_runs_are_taken_as_made_and_only_the_others_are_trained(grid, copied):
    before = collected_cells(grid.table, "tiny", copied)
    first = min(run.name for run in copied.runs.iterdir())
    packed(grid, copied)
    shutil.rmtree(copied.runs)
    assert unpack_table(grid.table, "tiny", copied) == [cell.run for cell in cells_of(grid.table, "tiny")]
    shutil.rmtree(copied.runs / first)
    events = []
    assert run_grid(cells_of(grid.table, "tiny"), copied, on_event=events.append) == []
    assert {event.cell.run for event in events if isinstance(event, CellEnded)} == {first}
    again = collected_cells(grid.table, "tiny", copied)
    assert again[["run", "seed", "value"]].equals(before[["run", "seed", "value"]])


def test_a_run_without_its_model_is_not_taken_where_a_table_needs_more_than_translations(grid, copied):
    packed(grid, copied)
    shutil.rmtree(copied.runs)
    more = replace(grid.table, metrics=(*grid.table.metrics, "train-perplexity"))
    assert unpack_table(more, "tiny", copied) == []


def test_a_run_without_its_model_that_cannot_give_a_number_stops_a_grid_before_anything_is_trained(grid, copied):
    packed(grid, copied)
    shutil.rmtree(copied.runs)
    name, *_ = unpack_table(grid.table, "tiny", copied)
    shutil.rmtree(max(copied.runs.iterdir()))
    assert run_grid(cells_of(grid.table, "tiny")[:1], copied) == []
    cells = [replace(cell, metrics=(*cell.metrics, "bleu-log-prob-1")) for cell in cells_of(grid.table, "tiny")]
    with pytest.raises(RunError, match=rf"{name}.*packed without its model.*'nmtlab runs remove'"):
        run_grid(cells, copied)
    assert len([*copied.runs.iterdir()]) == 3


def test_another_training_of_the_same_name_is_not_taken(grid, copied):
    packed(grid, copied)
    shutil.rmtree(copied.runs)
    other = replace(grid.table, changes={"tiny": {"training.clip_norm": 7.0}})
    assert unpack_table(other, "tiny", copied) == []


def test_a_run_without_its_model_is_not_taken_where_another_training_is_still_to_start_from_it(grid, copied):
    packed(grid, copied)
    shutil.rmtree(copied.runs)
    first, *others = grid.table.columns
    child = Column("child", first.recipe, {"transfer.continued": True}, base=first)
    begun = unpack_table(replace(grid.table, columns=(first, *others, child)), "tiny", copied)
    assert begun == [cell.run for cell in cells_of(grid.table, "tiny") if cell.column != first.name]
