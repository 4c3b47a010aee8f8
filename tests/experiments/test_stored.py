"""Stored tables, read back."""

import pandas as pd
import pytest

from nmtlab.experiments import results
from nmtlab.experiments.results.stored import RESULTS, read_cells, stored_tables

AWAITED = ("search-errors.small", "ambiguity.small", "length-planning.small", "unseen-lengths.small")
"""Tables that were measured before some of their measures were declared, or by other definitions."""


def test_cells_are_read_as_they_were_written(grid, tmp_path):
    found = results(grid.table, "tiny", grid.workspace)
    found.to_csv(tmp_path / "cells.csv", index=False)
    pd.testing.assert_frame_equal(read_cells(tmp_path / "cells.csv"), found, check_exact=True)


def test_tables_come_in_the_order_of_the_seeds_and_the_first_folder_counts(tmp_path):
    for name in ("own/table-3.8.small.csv", "own/notes.csv", "other/table-3.8.small.csv", "other/table-3.6.tiny.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = stored_tables([tmp_path / "own", tmp_path / "nowhere", tmp_path / "other"])
    assert [(one.name, one.scale, one.path.parent.name) for one in found] == [
        ("table-3.6.tiny", "tiny", "other"), ("table-3.8.small", "small", "own"),
    ]  # fmt: skip
    assert [one.table.name for one in found] == ["table-3.6", "table-3.8"]


@pytest.mark.parametrize("stored", stored_tables(), ids=lambda stored: stored.name)
def test_what_stands_in_the_checkout_is_of_the_tables_as_they_are_declared(stored):
    cells = read_cells(stored.path)
    assert stored.path.parent == RESULTS
    assert set(cells["row"]) <= {row.name for row in stored.table.rows}
    assert set(cells["column"]) <= {system.name for system in stored.table.systems}
    metrics, declared = set(cells["metric"]), {measure.name for measure in stored.table.measures}
    assert metrics & declared if stored.name in AWAITED else metrics == declared
    assert set(cells["scale"]) == {stored.scale}
