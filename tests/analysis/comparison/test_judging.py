"""Blind judgements of two systems."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nmtlab.analysis.comparison.compared import Compared
from nmtlab.analysis.comparison.judging import COLUMNS, Sheet, agreement, preference
from nmtlab.errors import NmtlabError, RunError

LINES = [f"line {number}" for number in range(40)]
ONE = [f"one {number}" for number in range(40)]
OTHER = ["one 0", *(f"other {number}" for number in range(1, 40))]


def compared(one=ONE) -> Compared:
    return Compared(LINES, [LINES], {"one": [one], "other": [OTHER]}, ("de", "en"))


@pytest.fixture
def sheet(tmp_path) -> Sheet:
    return Sheet(tmp_path, compared(), "one", "other")


def sides(sheet: Sheet, person: str = "Ana") -> list[tuple[int, bool]]:
    """Judge all sentences as equal, and return lines and whether the one was on the left."""
    found = []
    while item := sheet.next_item(person):
        found.append((item.line, item.left.startswith("one")))
        sheet.judge(person, item.line, "equal")
    return found


def test_all_sentences_that_differ_come_once_in_mixed_order_and_on_mixed_sides(sheet):
    found = sides(sheet)
    assert sorted(line for line, _ in found) == list(range(2, 41))
    assert len(sheet) == 39
    assert [line for line, _ in found] != sorted(line for line, _ in found)
    assert 9 < sum(left for _, left in found) < 30


def test_the_same_translations_give_the_same_sheet_and_others_another(tmp_path, sheet):
    first = sides(sheet)
    again = Sheet(tmp_path, compared(), "one", "other")
    assert again.next_item("Ana") is None
    assert sides(again, "Ben") == first
    other = Sheet(tmp_path, compared([*ONE[:-1], "one changed"]), "one", "other")
    assert other.next_item("Ana") is not None
    assert other.judgements().empty


def test_a_judgement_is_of_the_system_and_not_of_its_side(sheet):
    while item := sheet.next_item("Ana"):
        sheet.judge("Ana", item.line, "left" if item.left.startswith("one") else "right")
    assert set(sheet.judgements()["better"]) == {"system"}
    assert preference(sheet.judgements())["share"] == 1


def test_a_second_judgement_replaces_the_first(sheet):
    item = sheet.next_item("Ana")
    sheet.judge("Ana", item.line, "equal")
    sheet.judge(" Ana ", item.line, "left")
    (row,) = sheet.judgements().to_dict("records")
    assert (row["person"], row["line"]) == ("Ana", item.line)
    assert row["better"] == ("system" if item.left.startswith("one") else "than")


def test_a_judgement_without_a_name_is_refused(sheet):
    with pytest.raises(NmtlabError, match="no name"):
        sheet.judge(" ", sheet.next_item("Ana").line, "left")


def test_a_damaged_file_is_named(tmp_path, sheet):
    sheet.judge("Ana", sheet.next_item("Ana").line, "left")
    (path,) = tmp_path.rglob("*.json")
    assert json.loads(path.read_text(encoding="utf-8"))["person"] == "Ana"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match=path.name):
        sheet.judgements()


def given(**people: str) -> pd.DataFrame:
    """Return judgements, a letter for each line: s, t or e."""
    names = {"s": "system", "t": "than", "e": "equal"}
    rows = [(name, line, names[one]) for name, said in people.items() for line, one in enumerate(said) if one != " "]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_a_sentence_counts_once_by_the_majority():
    found = preference(given(ana="ssste", ben="ssett", cem="  e s"))
    # s, s, s (two of three say equal, one s), t, a tie
    assert [found[key] for key in ("people", "sentences", "system", "than", "equal")] == [3, 5, 3, 1, 1]
    wilson = stats.binomtest(3, 4).proportion_ci(method="wilson")
    assert (found["share"], found["low"], found["high"]) == pytest.approx((0.75, wilson.low, wilson.high))
    assert np.isnan(preference(given(ana="ee"))["share"])


def test_agreement_is_of_the_sentences_that_both_have_judged():
    found = agreement(given(ana="sste", ben="stt", cem="e   ss")).set_index(["one", "other"])
    row = found.loc[("ana", "ben")]
    assert (row["sentences"], row["agreement"]) == (3, pytest.approx(2 / 3))
    # chance agrees with 2/3 · 1/3 + 1/3 · 2/3 = 4/9, so kappa is (2/3 - 4/9) / (5/9)
    assert row["kappa"] == pytest.approx(2 / 5)
    assert found.loc[("ana", "cem"), "sentences"] == 1
    assert agreement(given(ana="ss", ben="ss"))["kappa"].isna().all()
