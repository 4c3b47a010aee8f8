"""What distillation does to the search: its table, its figure and its sentence."""

import pandas as pd
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.grids.results.schemas import CELLS
from nmtlab.thesis.shown.distillation import BEAM, EMPTY, ERRORS, GREEDY, distillation_finding, distillation_view
from nmtlab.workspace import RESULTS


@pytest.fixture
def view(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    return distillation_view()


def test_the_table_has_means_over_seeds_and_what_the_beam_gains(view):
    cells = CELLS.read(RESULTS / "students.small.csv")
    means = cells.pivot_table("value", ["row", "column"], "metric", sort=False)
    bleu = view.frame.set_index("column")[["BLEU by log-prob, beam 1", "test BLEU", "gained by the beam"]]
    assert {*bleu.index} == {*means.loc["gl-en"].index}
    for column, (greedy, beam, gained) in bleu.iterrows():
        one = means.loc[("gl-en", column)]
        assert (greedy, beam) == pytest.approx((one[GREEDY], one[BEAM]))
        assert gained == pytest.approx(one[BEAM] - one[GREEDY])
        shares = view.frame[view.frame["column"] == column].filter(like="%").to_numpy()[0]
        assert shares == pytest.approx(one[[EMPTY, ERRORS]].to_numpy(float))


def test_the_figure_has_a_point_of_each_measure_for_every_system(view):
    drawn = {trace.name: trace for trace in view.figure.data if trace.mode == "markers"}
    assert [*drawn] == ["greedy", "beam", "empty global best", "search error"]
    for trace in drawn.values():
        assert len(trace.x) == len(view.frame) == 9
        assert min(trace.error_x.array) > 0
    assert list(drawn["beam"].x) == pytest.approx(list(view.frame["test BLEU"]))


def test_the_sentence_compares_each_student_that_has_a_teacher_with_itself():
    rows = {("de-en", "half width, direct"): (1.4, 72.8), ("de-en", "half width, sequence"): (-0.25, 36.5),
            ("de-en", "one decoder layer, direct"): (1.0, 50.0)}  # fmt: skip
    index = pd.MultiIndex.from_tuples(rows, names=["row", "column"])
    assert distillation_finding(pd.DataFrame([*rows.values()], index, ["gap", EMPTY])) == (
        "Trained on the references, and on the teacher's translations. de-en, half width: a beam gains +1.4 and −0.2 "
        "BLEU, and the global best is empty for 72.8 and 36.5 % of sentences."
    )


def test_what_was_not_measured_is_no_view():
    with pytest.raises(NmtlabError, match="students"):
        distillation_view("thesis")
