"""Differences between systems over the course of training, from the evaluations of their runs."""

import math

import pandas as pd
import pytest
from scipy import stats

from nmtlab.errors import NmtlabError
from nmtlab.grids.results.curves import COLUMNS
from nmtlab.thesis.shown.effects import (
    effect_view,
    effects_over_training,
    still_rising,
)


def curves(scores: dict[tuple[str, int], list[float]]) -> pd.DataFrame:
    """Return evaluations every 100 updates."""
    lines = [
        ("gl-en", column, seed, 100 * place, score, 9.0, 1.0)
        for (column, seed), some in scores.items()
        for place, score in enumerate(some, start=1)
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


SCORES = curves(
    {
        ("alone", 1): [1, 2, 6], ("alone", 2): [2, 3, 7], ("child", 1): [5, 4, 9], ("child", 2): [7, 8],
        ("other", 1): [3, 3, 3], ("other", 2): [3, 3, 3],
    }
)  # fmt: skip


def test_the_best_scores_so_far_are_compared_and_a_training_that_ended_keeps_its_best():
    found = effects_over_training(SCORES, "gl-en", "alone").set_index(["system", "step"])
    assert found.loc["child"]["effect"].tolist() == [6 - 1.5, 6.5 - 2.5, 8.5 - 6.5]
    assert found.loc["other"]["effect"].tolist() == [1.5, 0.5, -3.5]
    assert set(found["seeds"]) == {2}
    # At 300 updates the variances are 1/2 (6, 7) and 1/2 (9, 8), with two degrees of freedom.
    margin = stats.t.isf(0.025, 2) * math.sqrt(1 / 2 * (1 / 2 + 1 / 2))
    assert found.loc[("child", 300), ["low", "high"]].tolist() == pytest.approx([2 - margin, 2 + margin])


def test_steps_that_some_seed_has_not_reached_yet_are_left_out():
    late = pd.concat([SCORES, curves({("late", 1): [1.0]}).assign(step=200), curves({("late", 2): [1.0]})])
    assert effects_over_training(late, "gl-en", "alone")["step"].unique().tolist() == [200, 300]


def test_without_the_system_or_the_row_there_is_nothing_to_compare():
    assert effects_over_training(SCORES, "gl-en", "nobody").empty
    assert effects_over_training(SCORES, "sk-en", "alone").empty


def test_a_training_is_still_rising_if_its_best_is_among_the_last_evaluations():
    long = curves({("alone", 1): [1, 9, 3, 4, 5], ("alone", 2): [1, 2, 3, 4, 4]})
    assert still_rising(long)["rising"].tolist() == [False, True]
    assert still_rising(long, last=1)["rising"].tolist() == [False, False]
    assert still_rising(long)["steps"].tolist() == [500, 500]


@pytest.mark.full
def test_a_view_is_of_a_table_whose_curves_were_kept():
    view = effect_view("child-size", "gl-en (500)")
    assert view.frame["system"].tolist() == ["BPE + transfer", "BPE + unrelated parent"]
    assert (view.frame["low"] > 0).all()
    assert "gl-en (500)" in view.figure.layout.title.text
    with pytest.raises(NmtlabError, match=r"choose a row from gl-en"):
        effect_view("child-size", "xx-en")
    with pytest.raises(NmtlabError, match="dev scores of its trainings were not kept"):
        effect_view("table-3.10", "qaa-en")
