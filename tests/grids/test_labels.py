"""What rows and systems are called where a person sees them."""

from dataclasses import replace

import pandas as pd
import pytest

from nmtlab.grids.declared.declaration import SCALES
from nmtlab.grids.declared.labels import caveats, drawn_labels, labelled, published_name, row_label, system_labels
from nmtlab.thesis.tables.listing import TABLES, find_table


def label_of(table: str, name: str, scale: str = "small") -> str:
    (row,) = find_table(table).only([name]).rows
    return row_label(row, scale)


@pytest.mark.parametrize(
    ("table", "row", "label"),
    [
        ("table-3.13", "gl-en", "gl-en, LibreOffice"),
        ("table-3.6", "tu-en", "tr-en, Tatoeba"),
        ("table-3.6", "ha-en", "ha-en, LAFAND + WMT news + TICO-19"),
        ("table-3.6", "en-ja (Tanaka)", "en-ja (Tanaka)"),
        ("table-3.6", "qaa-en", "qaa-en, artificial"),
        ("child-size", "gl-en (4,000)", "gl-en (4,000), LibreOffice"),
        ("many-languages", "en-gl", "en-gl, LibreOffice"),
        ("zero-shot", "pt-gl", "pt-gl, LibreOffice"),
        ("table-3.13", "en-he", "en-he, TED"),  # not run here: the text of the thesis
    ],
)
def test_a_row_is_called_by_its_languages_and_its_text(table, row, label):
    assert label_of(table, row) == label


def test_a_row_of_the_thesis_is_called_by_the_text_of_the_thesis():
    assert label_of("table-3.6", "tu-en", "thesis") == "tr-en, LORELEI"
    assert label_of("table-3.13", "gl-en", "thesis") == "gl-en, TED"
    assert published_name("thesis") == "published"
    assert "another text" in published_name("small")


def test_a_row_without_the_scale_of_the_thesis_is_called_by_its_text():
    (row,) = find_table("table-3.13").only(["gl-en"]).rows
    assert row_label(replace(row, at={"small": row.at["small"]}), "small") == "gl-en, LibreOffice"


def test_no_two_rows_of_a_table_are_called_the_same():
    for table in TABLES:
        for scale in SCALES:
            names = [row_label(row, scale) for row in table.rows]
            assert len(set(names)) == len(names)
        assert len(set(system_labels(table).values())) == len(table.columns)


def test_lines_are_named_for_reading_and_keep_what_is_not_declared():
    lines = pd.DataFrame({"row": ["tu-en", "other"], "column": ["Moses", "tied"], "value": [1.0, 2.0]})
    found = labelled(lines, find_table("table-3.6"), "small")
    assert found.to_numpy().tolist() == [["tr-en, Tatoeba", "phrase-based (Thot)", 1.0], ["other", "tied", 2.0]]
    assert lines["row"].tolist() == ["tu-en", "other"]


def test_a_row_with_published_numbers_alone_is_drawn_under_the_text_of_the_thesis():
    lines = pd.DataFrame({"row": ["ha-en", "tu-en", "tu-en"], "column": ["tied", "tied", "Moses"], "seeds": [0, 3, 0]})
    found = drawn_labels(lines, find_table("table-3.6"), "small")
    assert found["row"].tolist() == ["ha-en, LORELEI", "tr-en, Tatoeba", "tr-en, Tatoeba"]
    assert found["column"].tolist() == ["tied", "tied", "phrase-based (Thot)"]


def test_the_phrase_based_system_says_what_it_lacks():
    (caveat,) = caveats(find_table("table-3.6"))
    assert caveat.startswith("phrase-based (Thot): ")
    for lack in ("distance", "3-gram", "200 dev sentences"):
        assert lack in caveat
    assert caveats(find_table("table-3.13")) == []
