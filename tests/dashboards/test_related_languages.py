"""The page Parent and child."""

from urllib.parse import quote

import ipywidgets as widgets
import pandas as pd
import pytest
from dashboards.conftest import workspace_of
from dashboards.test_pages import leaves, make, told
from support.family import Family, make_family
from support.unfolded import unfolded

from nmtlab.analysis.languages.movement import MOVEMENT, movement_figure
from nmtlab.figures.theme import SYSTEMS
from nmtlab.runs.listing import open_run
from nmtlab.thesis.shown.children import vocabulary_view
from nmtlab.workspace import Workspace

GALICIAN = "child-gl-en.4000.transfer-bpe.related-parent.s1"
ARTIFICIAL = "child-qab-en.10000.transfer-bpe.cousin-parent.s1"


@pytest.fixture(scope="module")
def family(tmp_path_factory, tiny_recipe) -> Family:
    return make_family(Workspace(tmp_path_factory.mktemp("family") / "data"), tiny_recipe)


@pytest.mark.full
def test_cognates_are_shown_for_the_artificial_child_whose_cognates_are_known(tmp_path):
    page = unfolded(make("languages", workspace_of(tmp_path / "data", (GALICIAN, ARTIFICIAL))))
    page.runs.table.choose([GALICIAN])
    assert page.cognates.frame.empty
    assert page.cognates.why == "Known of artificial languages, and not measured of this run."
    page.runs.table.choose([ARTIFICIAL])
    assert told(page) == ""
    assert page.cognates in set(leaves(page))
    precision = page.cognates.frame.set_index(["kind", "vectors"])["precision"]
    assert precision["cognate", "child"] > precision["cognate", "spelling alone"] > precision["no cognate", "parent"]


@pytest.mark.full
def test_a_subword_is_chosen_in_the_figure_by_typing_or_among_its_neighbours_and_marked_in_all(family):
    page = unfolded(make("languages", family.workspace))
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
    page = unfolded(make("languages", family.workspace))
    word = next(
        str(trace.customdata[0][0]) for trace in page.movement.chart.figure.data if trace.customdata is not None
    )
    page._opened(f"?runs=child&selected=source:2:{quote(word)}")
    assert page.word.value == word
    assert word in page.neighbours.title


@pytest.mark.full
def test_the_answer_is_how_far_vectors_turned_and_the_figure_says_of_which_child(tmp_path):
    page = make("languages", workspace_of(tmp_path / "data", (GALICIAN,)))
    moved = MOVEMENT.any_stored(open_run(GALICIAN, Workspace(tmp_path / "data"))).groupby("kind")["angle"].median()
    said = f"inherited types {moved['shared']:.0f}°, new types {moved['new']:.0f}°."
    assert page.movement.answer.value.endswith(said)
    assert "child-gl-en.4000 (gl → en), seed 1" in page.movement.chart.figure.layout.title.text
    assert page.hint.value.startswith("Parent parent-pt-en")
    page.figure.value = "BLEU over the vocabulary (Figure 3.1)"
    assert not page.movement.chart.figure.data
    assert page.measured.section.chart.figure.data
    assert page.measured.section.answer.value == vocabulary_view().finding


def test_an_address_of_a_run_in_several_directions_leads_to_the_page_of_such_runs(workspace):
    page = make("languages", workspace)
    page._opened("?runs=many")
    assert "runs = many" in told(page)
    assert any("href='many.ipynb'" in leaf.value for leaf in leaves(page) if isinstance(leaf, widgets.HTML))


def test_vectors_of_no_kind_have_the_colour_of_a_system_with_a_parent():
    systems = {SYSTEMS[name] for name in SYSTEMS if name.startswith("bpe")}
    rows = [("a", 1, 0, "new"), ("b", 2, 2, "shared"), ("c", 3, 1, "given")]
    moved = pd.DataFrame(rows, columns=["word", "count", "parent_count", "kind"])
    figure = movement_figure(moved.assign(length_before=1.0, length=1.0, angle=1.0, distance=1.0))
    assert not systems & {trace.line.color for trace in figure.data if trace.line.color}
