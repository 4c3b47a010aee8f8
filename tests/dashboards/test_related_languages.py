"""The page Related languages on a child and its parent."""

from urllib.parse import quote

import pytest
from dashboards.conftest import workspace_of
from dashboards.test_pages import leaves, make, told
from support.family import Family, make_family

from nmtlab.workspace import Workspace

GALICIAN = "child-gl-en.4000.transfer-bpe.related-parent.s1"
ARTIFICIAL = "child-qab-en.10000.transfer-bpe.cousin-parent.s1"


@pytest.fixture(scope="module")
def family(tmp_path_factory, tiny_recipe) -> Family:
    return make_family(Workspace(tmp_path_factory.mktemp("family") / "data"), tiny_recipe)


@pytest.mark.full
def test_cognates_are_shown_for_the_artificial_child_whose_cognates_are_known(tmp_path):
    page = make("languages", workspace_of(tmp_path / "data", (GALICIAN, ARTIFICIAL)))
    page.runs.table.choose([GALICIAN])
    assert page.cognates not in set(leaves(page))
    page.runs.table.choose([ARTIFICIAL])
    assert told(page) == ""
    assert page.cognates in set(leaves(page))
    precision = page.cognates.frame.set_index(["kind", "vectors"])["precision"]
    assert precision["cognate", "child"] > precision["cognate", "spelling alone"] > precision["no cognate", "parent"]


@pytest.mark.full
def test_a_subword_is_chosen_in_the_figure_by_typing_or_among_its_neighbours_and_marked_in_all(family):
    page = make("languages", family.workspace)
    moved = page.movement.chart
    points = next(trace for trace in moved.figure.data if trace.customdata is not None)
    word = str(points.customdata[0][0])
    moved._handle_custom_msg({"x": 1, "y": 1, "customdata": list(points.customdata[0]), "meta": None}, [])
    assert (page.selection.value, page.word.value) == (f"source::{word}", word)
    assert page.neighbours.frame["word"].iloc[0] != word
    assert moved.label.endswith(f"Marked: {page.selection.token.bare}.")
    assert f"selected=source%3A%3A{quote(word)}" in page._browser.query
    near = page.neighbours.frame["word"].iloc[0]
    page.neighbours.choose(list(page.neighbours.frame.index[:1]))
    assert page.selection.value == f"source::{near}"
    assert page.word.value == near
    page.word.value = word
    assert page.selection.value == f"source::{word}"
    page.word.value = ""
    assert page.selection.value == ""


@pytest.mark.full
def test_an_address_selects_a_subword(family):
    page = make("languages", family.workspace)
    word = next(
        str(trace.customdata[0][0]) for trace in page.movement.chart.figure.data if trace.customdata is not None
    )
    page._opened(f"?runs=child&selected=source:2:{quote(word)}")
    assert page.word.value == word
    assert word in page.neighbours.title
