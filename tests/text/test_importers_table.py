import csv
import json

import pandas as pd
import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import Limits
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.splitting import HoldOut
from nmtlab.text.importers.tabular import import_table

PAIRS = [
    (f'U "gap {n}" dedi' if n % 3 else f"{n} gap", f'"so {n}", she said' if n % 4 else f"so {n}") for n in range(20)
]
FRAME = pd.DataFrame([(n, *pair) for n, pair in enumerate(PAIRS)], columns=["id", "uz", "en"])


def _imported(path, form, columns=("", ""), source="uz", target="en"):
    folder = path.parent / "small"
    report = import_table(folder, path, form, columns, source, target, Limits(), HoldOut(dev=0, test=0))
    return list(ParallelCorpus.open(folder, source, target).pairs("train")), report


def _problem(path, form, columns=("", ""), **languages):
    with pytest.raises(CorpusError) as caught:
        _imported(path, form, columns, **languages)
    return str(caught.value)


@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_MINIMAL])
@pytest.mark.parametrize(("form", "separator"), [("tsv", "\t"), ("csv", ","), ("csv", ";"), ("csv", "\t")])
def test_what_pandas_writes_is_read_without_header_and_quotation_marks(tmp_path, quoting, form, separator):
    path = tmp_path / "table"
    FRAME.to_csv(path, sep=separator, index=False, quoting=quoting, encoding="utf-8-sig")
    assert _imported(path, form)[0] == PAIRS


def test_columns_are_found_in_a_header_whatever_their_order(tmp_path):
    FRAME[["en", "id", "uz"]].to_csv(tmp_path / "table", sep="\t", index=False)
    assert _imported(tmp_path / "table", "tsv")[0] == PAIRS
    FRAME.rename(columns={"uz": "Source", "en": "Target"}).to_csv(tmp_path / "other", index=False)
    assert _problem(tmp_path / "other", "csv", ("uz", "")).endswith(
        "no column 'uz'; choose --source-column from id, Source, Target, or give its number"
    )


@pytest.mark.parametrize(
    "lines",
    [
        ['"Salom\tHello"', 'U 5" keldi\tIt is 5"'],
        ['"Salom."\t"Hello."', "Ha.\tYes."],
        ['"Salom."\t"Hello."', 'U "ha" dedi.\tHe said "yes".'],
        ['"a" va "b"\t"a" and "b"'],
    ],
)
def test_quotation_marks_that_are_text_stay(tmp_path, lines):
    (tmp_path / "table").write_text("\n".join(lines) + "\n")
    assert _imported(tmp_path / "table", "tsv")[0] == [tuple(line.split("\t")) for line in lines]


def test_a_line_break_in_a_quoted_cell_is_a_space(tmp_path):
    (tmp_path / "table").write_text('"uz"\t"en"\n"bir\nikki"\t"one\ntwo"\n')
    assert _imported(tmp_path / "table", "tsv")[0] == [("bir ikki", "one two")]


def test_a_quotation_mark_that_is_not_closed_is_named_with_its_line(tmp_path):
    (tmp_path / "table").write_text('uz,en\na,b\n"c,d\n')
    assert "table, line 3: not readable as CSV (" in _problem(tmp_path / "table", "csv")


def test_columns_of_numbers_and_equal_columns_are_refused(tmp_path):
    path = tmp_path / "table"
    FRAME.to_csv(path, sep="\t", index=False, header=False)
    assert "column 1 has numbers, such as '0'; choose --source-column" in _problem(path, "tsv")
    assert "columns 2 and 2 are the same; choose" in _problem(path, "tsv", ("2", "2"))
    assert _imported(path, "tsv", ("2", "3"))[0] == PAIRS


@pytest.mark.parametrize("inside", [False, True])
def test_json_lines_are_read_by_their_keys(tmp_path, inside):
    rows = [{"en": target, "id": 3, "uz": source} for source, target in PAIRS]
    path = tmp_path / "table"
    path.write_text("".join(json.dumps({"translation": row} if inside else row) + "\n" for row in rows))
    pairs, report = _imported(path, "jsonl")
    assert (pairs, report.kind) == (PAIRS, "jsonl")
    (tmp_path / "small").rename(tmp_path / "first")
    path.write_text('{"uz": "a\\nb", "en": "c"}\n{"uz": "a"}\n{"uz": ["x"], "en": "d"}\n')
    pairs, report = _imported(path, "jsonl")
    assert (pairs, report.dropped["input"]) == ([("a b", "c")], {"blank side": 2})


@pytest.mark.parametrize(
    ("line", "message"), [("{", "line 2: not JSON ("), ("[1]", "line 2: not an object; write lines such as")]
)
def test_a_line_that_is_no_object_is_named(tmp_path, line, message):
    (tmp_path / "table").write_text(f'{{"uz": "a", "en": "b"}}\n{line}\n')
    assert message in _problem(tmp_path / "table", "jsonl")
