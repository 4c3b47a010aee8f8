"""Scores by the number of pairs, and where the curves of two systems cross."""

import math

import pytest

from nmtlab.thesis.measured import measured
from nmtlab.thesis.shown.learning_curves import Crossing, crossings_of, learning_curve_view
from nmtlab.thesis.shown.prices import LearningCurve, learning_curves

PHRASES = {500: [8.0] * 3, 2000: [10.0] * 3, 8000: [12.0] * 3}
NETWORK = {500: [2.0] * 3, 2000: [9.0] * 3, 8000: [18.0] * 3}


def curve(system: str, scores: dict[int, list[float]]) -> LearningCurve:
    return LearningCurve("tr-en, Tatoeba", system, "test-bleu", scores)


def test_curves_cross_where_the_line_of_their_difference_over_the_logarithm_of_the_size_is_zero():
    # From 1 point below at 2,000 pairs to 6 above at 8,000: after a seventh of the way, which is a factor of four.
    at = round(2000 * 4 ** (1 / 7))
    expected = [Crossing("phrases", "network", at, at, at)]  # no seed differs
    assert crossings_of([curve("phrases", PHRASES), curve("network", NETWORK)]) == expected
    assert crossings_of([curve("network", NETWORK), curve("phrases", PHRASES)]) == expected


def test_curves_that_touch_cross_twice_or_share_one_size_do_not_cross():
    touching = {**NETWORK, 8000: [12.0] * 3}
    twice = {500: [9.0] * 3, 2000: [9.0] * 3, 8000: [13.0] * 3}
    for scores in (touching, twice, {500: [9.0] * 3}):
        assert crossings_of([curve("phrases", PHRASES), curve("other", scores)]) == []


def test_seeds_decide_how_far_a_crossing_is_known():
    (few,) = crossings_of([curve("phrases", PHRASES), curve("network", {**NETWORK, 2000: [9.0]})])
    assert math.isnan(few.low)
    (near,) = crossings_of([curve("phrases", PHRASES), curve("network", {**NETWORK, 2000: [8.9, 9.0, 9.1]})])
    assert near.low < near.pairs < near.high
    (open_,) = crossings_of([curve("phrases", PHRASES), curve("network", {**NETWORK, 8000: [10.0, 18.0, 26.0]})])
    assert open_.high == math.inf


def test_the_view_names_the_best_systems_and_shades_the_interval():
    found = [curve("phrases", PHRASES), curve("network", {**NETWORK, 2000: [8.9, 9.0, 9.1]})]
    view = learning_curve_view(found)
    (crossing,) = crossings_of(found)
    assert view.finding == (
        "With 500 pairs, “phrases” is best of 2 (8.0). With 8,000 pairs, “network” is best of 2 (18.0). “phrases” is "
        f"better than “network” up to about {crossing.pairs:,} pairs (95 %: {crossing.low:,} to {crossing.high:,})."
    )
    (band,) = [shape for shape in view.figure.layout.shapes if shape.type == "rect"]
    assert (band.x0, band.x1) == (crossing.low, crossing.high)
    assert [list(trace.y) for trace in view.figure.data] == [[8.0, 10.0, 12.0], [2.0, 9.0, 18.0]]
    assert view.frame["test BLEU"].tolist()[:2] == [8.0, 10.0]


def test_what_the_seeds_leave_open_is_counted_and_a_system_alone_is_not_best():
    few, wide = {**NETWORK, 2000: [9.0]}, {**NETWORK, 8000: [10.0, 18.0, 26.0]}
    found = [curve("phrases", PHRASES), curve("few", few), curve("wide", wide), curve("more", {32_000: [20.0]})]
    assert learning_curve_view(found).finding == (
        "With 500 pairs, “phrases” is best of 3 (8.0). Crossings that the seeds leave open: 2."
    )


def test_a_measured_table_has_the_curves_of_its_systems_on_nested_texts():
    found = learning_curves([measured("child-size")])
    of_galician = {one.system: one.scores for one in found if one[0] == "gl-en, LibreOffice" and one[2] == "test-bleu"}
    assert set(of_galician) == {"BPE", "BPE + unrelated parent", "BPE + transfer"}
    assert list(of_galician["BPE"]) == [500, 2000, 4000, 10_000]
    cells = measured("child-size").of_metric("test-bleu")
    some = cells[(cells["row"] == "gl-en (500)") & (cells["column"] == "BPE")]["value"]
    assert sorted(of_galician["BPE"][500]) == pytest.approx(sorted(some))
