"""The glossary explains what the pages show."""

import re
from typing import get_args

import pytest
from support.packed import NO_WORKSPACE

from nmtlab.dashboards.widgets.glossary import Entry, glossary, glossary_document, meaning_of, meanings
from nmtlab.grids.declared.labels import row_label
from nmtlab.grids.results.statistics import Verdict
from nmtlab.text.artificial.language_settings import CODES
from nmtlab.thesis.measured import all_measured

NAMES = [name for entry in glossary() for name in entry.names]


def test_every_name_stands_once_and_has_a_meaning():
    assert len(NAMES) == len(set(NAMES)) > 60
    assert all(entry.names and entry.meaning.endswith(".") for entry in glossary())


def test_every_verdict_and_every_artificial_language_is_explained():
    assert {*get_args(Verdict), *(f"{code}-en" for code in CODES)} <= {*NAMES}


@pytest.mark.parametrize("stored", all_measured(NO_WORKSPACE), ids=lambda stored: stored.name)
def test_every_text_of_a_measured_table_is_explained(stored):
    measured = {*stored.cells.loc[stored.cells["value"].notna(), "row"]}
    labels = [row_label(row, stored.scale) for row in stored.table.rows if row.name in measured]
    texts = {re.match(r"\w+-\w+", label)[0] for label in labels}
    assert len(labels) == len(measured)
    assert texts <= {*NAMES}


@pytest.mark.parametrize(
    ("text", "name"), [("q", "q"), ("test BLEU", "BLEU"), ("qaa-en, artificial", "qaa-en"), ("dev", "dev")]
)
def test_a_heading_or_a_cell_of_a_table_is_explained(text, name):
    assert meaning_of(text) == meanings()[name]


def test_what_is_no_name_has_no_meaning():
    assert meaning_of("Are you afraid of him?") == meaning_of("") == ""


def test_the_document_shows_text_as_it_is():
    document = glossary_document([Entry(("a<b", "‖W‖"), "Less than `a & b`.")])
    assert '<dt id="a&lt;b">a&lt;b</dt><dt id="‖W‖">‖W‖</dt><dd>Less than <code>a &amp; b</code>.</dd>' in document
