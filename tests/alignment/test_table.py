"""Sparse tables p(target | source)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.full_disk import files_of_at_most

from nmtlab.alignment import LexicalTable
from nmtlab.errors import RunError

ROWS = [[], [(7, 0.25), (3, 0.5)], [(1, 0.3), (0, 0.3), (2, 0.3)], []]

row = st.dictionaries(st.integers(0, 20), st.floats(0.001, 1.0)).map(lambda entries: list(entries.items()))


def test_a_table_holds_the_entries_of_its_rows():
    table = LexicalTable.of_rows(ROWS)
    assert table.offsets.tolist() == [0, 0, 2, 5, 5]
    assert table.targets.tolist() == [3, 7, 0, 1, 2]
    assert table.probabilities.tolist() == pytest.approx([0.5, 0.25, 0.3, 0.3, 0.3])
    assert (table.offsets.dtype, table.probabilities.dtype) == (np.int64, np.float32)


def test_the_best_translations_come_first_and_equal_ones_by_id():
    table = LexicalTable.of_rows(ROWS)
    assert table.top(1, 1) == [(3, 0.5)]
    assert [target for target, _ in table.top(2, 2)] == [0, 1]
    assert table.top(0, 3) == []


@given(st.lists(row, max_size=6), st.integers(1, 4))
def test_a_pruned_table_has_the_best_translations_of_each_source_type(rows, k):
    table = LexicalTable.of_rows(rows)
    pruned = table.pruned(k)
    pruned.check()
    for source in range(len(rows)):
        assert pruned.top(source, 100) == table.top(source, k)
        assert sorted(pruned.translations(source)) == sorted(target for target, _ in table.top(source, k))


@given(st.lists(row, max_size=6))
def test_no_row_is_more_than_certain_and_its_order_stays(rows):
    table = LexicalTable.of_rows(rows)
    for source, entries in enumerate(rows):
        found = dict(table.top(source, 100))
        total = max(1.0, sum(probability for _, probability in entries))
        assert found == pytest.approx({target: probability / total for target, probability in entries}, rel=1e-5)
        assert sum(found.values()) <= 1 + 1e-5


def test_what_was_saved_is_loaded(tmp_path):
    table = LexicalTable.of_rows(ROWS)
    table.save(tmp_path / "run/table.safetensors")
    loaded = LexicalTable.load(tmp_path / "run/table.safetensors")
    for name in vars(table):
        assert np.array_equal(getattr(loaded, name), getattr(table, name))
        assert getattr(loaded, name).dtype == getattr(table, name).dtype


def test_an_empty_table_can_be_saved_too(tmp_path):
    LexicalTable.of_rows([[], []]).save(tmp_path / "table")
    assert LexicalTable.load(tmp_path / "table").offsets.tolist() == [0, 0, 0]


@pytest.mark.parametrize("kept", [0, 20, -1])
def test_a_damaged_or_missing_file_is_named_with_a_remedy(tmp_path, kept):
    path = tmp_path / "table.safetensors"
    LexicalTable.of_rows(ROWS).save(path)
    path.write_bytes(path.read_bytes()[:kept])
    for where in (path, tmp_path / "nowhere.safetensors"):
        with pytest.raises(RunError) as caught:
            LexicalTable.load(where)
        assert str(caught.value).startswith(f"{where}: {'missing' if where != path else 'damaged or truncated ('}")
        assert str(caught.value).endswith("; restore it from a copy, or train the run again")


def test_a_full_disk_leaves_the_table_that_was_there(tmp_path):
    LexicalTable.of_rows(ROWS).save(tmp_path / "table")
    with files_of_at_most(100), pytest.raises(OSError, match="table"):
        LexicalTable.of_rows([[(1, 1.0)]] * 100).save(tmp_path / "table")
    assert LexicalTable.load(tmp_path / "table").offsets.tolist() == [0, 0, 2, 5, 5]
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_translations_have_what_a_loop_over_model_1_gives_them():
    rows = [[], [(3, 0.5), (4, 0.5)], [(4, 0.2), (7, 0.6)]]
    table, chances = LexicalTable.of_rows(rows), [dict(row) for row in rows]
    source, translations = [1, 2, 1, 0], [[3, 4, 9], [], [7]]
    wanted = [
        sum(math.log(0.9 * sum(chances[s].get(t, 0) for s in source) / 4 + 0.1) for t in ids) for ids in translations
    ]
    assert table.log_probs(source, translations, floor=0.1) == pytest.approx(wanted)
    assert table.log_probs([0], [[2]]) == pytest.approx([math.log(1e-4)])
