"""Tables of a page: their cells as JSON, their keys as they were."""

import json

import numpy as np
import pandas as pd
import pytest

from nmtlab.dashboards.widgets.glossary import meanings
from nmtlab.dashboards.widgets.table import Table
from nmtlab.figures.marks import Token

FRAME = pd.DataFrame({"word": ["a", "b", "c"], "count": [3, 2, 1]}, index=["x", "y", "z"])


def content(frame: pd.DataFrame) -> dict:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    table = Table("some")
    table.show(frame)
    return json.loads(table.content, parse_constant=refuse)


def cells(*values: object) -> list:
    frame = pd.DataFrame({"x": pd.Series(list(values), dtype=object)})
    return [row["cells"][0] for row in content(frame)["rows"]]


def test_a_table_is_its_columns_and_its_rows_with_their_keys():
    assert content(FRAME) == {
        "columns": ["word", "count"],
        "rows": [{"key": "x", "cells": ["a", 3]}, {"key": "y", "cells": ["b", 2]}, {"key": "z", "cells": ["c", 1]}],
    }  # fmt: skip


def test_what_the_glossary_explains_has_its_meaning():
    table = Table("some")
    table.show(pd.DataFrame({"system": ["tied"], "BLEU": [1.0]}))
    assert table.meanings == {name: meanings()[name] for name in ("tied", "BLEU")}
    table.show(FRAME)
    assert table.meanings == {}


def test_an_empty_table_has_no_rows():
    assert content(pd.DataFrame()) == {"columns": [], "rows": []}
    assert content(FRAME[:0]) == {"columns": ["word", "count"], "rows": []}


def test_what_is_no_number_is_null():
    missing = (None, float("nan"), float("inf"), np.float64("nan"), np.float32("nan"), np.float32("-inf"), pd.NA)
    assert cells(*missing) == [None] * len(missing)


def test_missing_numbers_of_whole_columns_are_null():
    frame = pd.DataFrame({"f": np.array([np.nan, 1], dtype="float32"), "i": pd.array([pd.NA, 1], dtype="Int64")})
    assert [row["cells"] for row in content(frame)["rows"]] == [[None, None], [1, 1]]


def test_numbers_stay_numbers_and_truths_truths():
    assert cells(np.int64(3), np.float32(0.5), True, np.bool_(False)) == [3, 0.5, True, False]


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "<b>&amp;", "مرحبا", '"quoted"\n\u2028'])
def test_text_stays_as_it_is_whatever_stands_in_it(text):
    frame = pd.DataFrame({text: [text]}, index=[text])
    assert content(frame) == {"columns": [text], "rows": [{"key": text, "cells": [text]}]}


def test_endless_text_is_cut():
    (cell,) = cells("x" * 10_000)
    assert len(cell) == 2001
    assert cell.endswith("…")


def test_one_row_is_picked_by_its_key_as_it_was():
    table = Table("some", pick="one")
    table.show(FRAME.set_axis([1, 2, 3]))
    assert table.value is None
    table.choose([2, 3])
    assert (table.value, table.chosen) == (2, ["2"])
    table.chosen = ["3"]  # as the browser does
    assert table.value == 3


def test_several_rows_are_picked_in_their_order():
    table = Table("some", pick="many")
    table.show(FRAME)
    assert table.value == ()
    table.choose(["z", "nobody", "x"])
    assert table.value == ("z", "x")


def test_what_was_picked_stays_picked_where_it_is_still_there():
    table = Table("some", pick="many")
    table.show(FRAME)
    table.choose(["x", "z"])
    seen = []
    table.observe(lambda change: seen.append(change["new"]), "value")
    table.show(FRAME[::-1])
    assert seen == []
    table.show(FRAME[:2])
    assert seen == [("x",)]
    table.show(FRAME)
    assert table.value == ("x",)


def test_keys_that_the_browser_makes_up_are_none():
    table = Table("some", pick="one")
    table.show(FRAME)
    table.chosen = ["<script>"]
    assert table.value is None


def test_rows_have_their_groups_and_the_chosen_ones_their_labels():
    table = Table("some", pick="many")
    table.show(FRAME, ["first", "first", "second"])
    assert [row["group"] for row in json.loads(table.content)["rows"]] == ["first", "first", "second"]
    assert all("group" not in row for row in content(FRAME)["rows"])


def test_a_table_without_rows_says_why_or_is_not_shown():
    table = Table("some")
    table.show(FRAME[:0], why="No run has links.")
    assert (table.layout.display, table.why) == ("", "No run has links.")
    table.show(FRAME[:0])
    assert table.layout.display == "none"
    table.show(FRAME)
    assert (table.layout.display, table.why) == ("", "")


def test_pieces_are_shown_as_words_and_stay_what_they_are():
    table = Table("some", pick="one")
    table.show(pd.DataFrame({"piece": ["▁ev", "i", "<unk>"], "p": [1, 2, 3]}), pieces=["piece"])
    assert [row["cells"] for row in json.loads(table.content)["rows"]] == [["ev", 1], ["·i", 2], ["⟨unknown⟩", 3]]
    assert table.frame["piece"].tolist() == ["▁ev", "i", "<unk>"]
    table.mark(Token("target", 1, "<unk>"))
    assert table.marked == "⟨unknown⟩"
