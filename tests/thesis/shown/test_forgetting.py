"""What continued training gains on a child's text, and forgets of its parent's."""

import math

import pytest
from support.child_sizes import results_of

from nmtlab.grids.running.cells import cells_of, trainings
from nmtlab.thesis.shown.forgetting import (
    COLUMNS,
    forgetting_figure,
    forgetting_finding,
    forgetting_view,
    plane,
    published_plane,
)
from nmtlab.thesis.tables.transfer_continued import CONTINUED_TRAINING, PARENT, SCRATCH

OF_PARENT = "200 pairs, on the parent's text"
TAUGHT = "continued + teacher, α = 0.1"
SCORES = {
    "200 pairs": {"parent": [5.0], "continued": [9.0, 10.0, 14.0], TAUGHT: [10.0, 10.0, 10.0]},
    OF_PARENT: {
        "parent": [30.0],
        "continued": [20.0, 21.0, 22.0],
        TAUGHT: [25.0, 25.0, 25.0],
        "continued + L2": [24.0],
    },
}


def test_a_point_has_the_means_on_both_texts_and_what_the_parent_scores_above():
    found = plane(results_of("continued", SCORES))
    assert list(found.columns) == COLUMNS
    assert found["system"].tolist() == ["parent", "continued", TAUGHT]  # L2 has no score on the child's text
    assert found["on_childs"].tolist() == pytest.approx([5.0, 11.0, 10.0])
    assert found["on_parents"].tolist() == pytest.approx([30.0, 21.0, 25.0])
    assert found["forgotten"].tolist() == pytest.approx([0.0, 9.0, 5.0])
    assert found["on_childs_margin"].iloc[1] == pytest.approx(4.302653 * math.sqrt(7 / 3))
    finding = "With 200 pairs, continued gains 6.0 BLEU and forgets 9.0, continued + teacher, α = 0.1 gains 5.0 BLEU"
    assert forgetting_finding(found) == f"{finding} and forgets 5.0."


def test_the_published_plane_is_that_of_table_7():
    found = published_plane().set_index("system")
    assert found.loc["parent", ["on_parents", "on_childs"]].tolist() == [33.8, 30.8]
    assert found.loc[TAUGHT, ["on_parents", "on_childs"]].tolist() == [27.0, 48.1]
    assert found["forgotten"].round(1).to_dict() == {
        "parent": 0.0, "in-domain only": 28.3, "continued": 10.2, "continued + teacher, α = 0.001": 10.0,
        "continued + teacher, α = 0.01": 9.7, TAUGHT: 6.8,
    }  # fmt: skip


def test_a_figure_has_a_panel_for_each_text_and_a_point_for_each_system():
    found = plane(results_of("continued", SCORES))
    figure = forgetting_figure(found)
    points = {trace.name: (trace.x[0], trace.y[0]) for trace in figure.data if trace.mode == "markers"}
    assert points == {"parent": (30.0, 5.0), "continued": (21.0, 11.0), TAUGHT: (25.0, 10.0)}
    (sweep,) = (trace for trace in figure.data if trace.mode == "lines")
    assert list(sweep.x) == [21.0, 25.0]
    assert figure.layout.xaxis.title.text == "BLEU (%) on the parent's text"
    assert figure.layout.title.text.startswith("What continued training gains")


def test_without_results_the_published_values_are_shown(monkeypatch):
    monkeypatch.setattr("nmtlab.thesis.shown.forgetting.measured_cells", not_measured)
    view = forgetting_view()
    assert "not measured here yet" in view.figure.layout.title.text
    assert set(view.frame["text"]) == {"published (de-en, EMEA)"}


def not_measured(*_):
    from nmtlab.errors import NmtlabError

    raise NmtlabError("not measured", "measure it")


def test_all_children_of_a_table_start_from_one_parent_whatever_their_seed():
    cells = [cell for cell in cells_of(CONTINUED_TRAINING, "small") if cell.column != PARENT.name]
    assert {cell.seed for cell in cells} == {1, 2, 3, 4, 5}
    (parent,) = {need.cell.run for cell in cells for need in cell.needs}
    assert {cell.recipe.transfer.parent for cell in cells} == {parent}
    made = trainings(cells)
    assert made[0].run == parent
    assert len(made) == 1 + len(cells) / 2  # tested on two texts
    assert all(len(cell.texts) == 2 for cell in made[1:])
    scratch = [cell.recipe.transfer for cell in cells if cell.column == SCRATCH.name]
    parts = ("source_embedding", "encoder", "decoder", "target_embedding", "output")
    assert {getattr(one, part) for one in scratch for part in parts} == {"reset"}
