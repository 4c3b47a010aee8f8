"""Search of whole texts, and planned lengths, drawn."""

import math

import pandas as pd
import pytest

from nmtlab.plots import calibration_figure, length_models_figure, lengths_figure, sweep_figure


def test_a_sweep_has_four_panels_with_a_colour_for_each_way_and_a_dash_for_each_run():
    outcomes = pd.DataFrame(
        {
            "name": ["one", "one", "two", "two"], "beam_size": [4, 1, 1, 4], "bleu": [30.0, 31.0, 20.0, 22.0],
            "run": ["a", "a", "b", "b"], "way": ["average"] * 4,
            "length_ratio": [0.9, 1.0, 1.0, 1.0], "empty": [0.1, 0.0, 0.0, 0.0], "log_prob": [-4.0, -5.0, -6.0, -5.5],
            "errors": [math.nan] * 4,
        }
    )  # fmt: skip
    figure = sweep_figure(outcomes)
    assert len(figure.data) == 8
    assert (list(figure.data[0].x), list(figure.data[0].y)) == ([1, 4], [31.0, 30.0])
    assert [trace.name for trace in figure.data if trace.showlegend] == ["one", "two"]
    assert list(figure.layout.xaxis.ticktext) == ["1", "4"]
    assert figure.data[0].line.color == figure.data[1].line.color
    assert figure.data[0].line.dash != figure.data[1].line.dash
    other = sweep_figure(outcomes.assign(run="a", way=outcomes["name"]))
    assert other.data[0].line.color != other.data[1].line.color
    assert other.data[0].line.dash == other.data[1].line.dash
    assert figure.layout.annotations[0].text == "BLEU (%)"
    assert figure.layout.title.text == "BLEU, length and search errors by beam size"
    assert (
        sweep_figure(outcomes.assign(alpha=[0.2, 0.4, 0.2, 0.4]), "alpha").layout.title.text
        == "BLEU, length and search errors by alpha"
    )
    measured = sweep_figure(outcomes.assign(errors=[0.5, 0.8, math.nan, math.nan]))
    assert measured.layout.annotations[4].text == "search errors (share)"
    assert list(measured.data[8].y) == [0.8, 0.5]
    crowded = sweep_figure(outcomes.assign(beam_size=[1, 12, 16, 32]))
    assert list(crowded.layout.xaxis.ticktext) == ["1", "12", "32"]


def test_lengths_that_are_decoded_stand_out():
    plan = pd.DataFrame({"length": [0, 1, 2], "probability": [0.1, 0.7, 0.2], "tried": [False, True, True]})
    figure = lengths_figure(plan, reference=2)
    (bars,) = figure.data
    assert list(bars.y) == pytest.approx([0.1, 0.7, 0.2])
    assert bars.marker.color[1] == bars.marker.color[2] != bars.marker.color[0]
    assert figure.layout.shapes[0].x0 == 2


def test_length_models_have_a_panel_a_measure_and_a_line_a_system():
    lines = pd.DataFrame(
        {"system": ["ours", "a <line>"], "error": [2.5, 2.0], "among 5": [0.6, 0.7], "nll": [2.4, 2.6]}
    )
    figure = length_models_figure(lines)
    assert [list(trace.x) for trace in figure.data] == [[2.5, 2.0], [0.6, 0.7], [2.4, 2.6]]
    assert {tuple(trace.y) for trace in figure.data} == {("ours", "a &lt;line&gt;")}
    assert "nats" in figure.layout.xaxis3.title.text


def test_calibration_has_a_panel_a_text_and_a_line_a_system_beside_the_diagonal():
    bins = pd.DataFrame(
        {
            "row": ["de-en", "de-en", "gl-en"], "column": ["planned"] * 3, "probability": [0.1, 0.3, 0.2],
            "right": [0.1, 0.2, 0.25], "low": [0.09, 0.15, math.nan], "high": [0.11, 0.22, math.nan],
        }
    )  # fmt: skip
    figure = calibration_figure(bins)
    drawn = {(trace.name, trace.xaxis): trace for trace in figure.data}
    assert list(drawn["planned", "x"].y) == [0.1, 0.2]
    assert list(drawn["planned", "x2"].y) == [0.25]
    errors = drawn["planned", "x"].error_y
    assert list(errors.array) == pytest.approx([0.01, 0.02])
    assert list(errors.arrayminus) == pytest.approx([0.01, 0.05])
    for axis in ("x", "x2"):
        diagonal = drawn["perfect calibration", axis]
        assert list(diagonal.x) == list(diagonal.y) == [0, pytest.approx(0.315)]
    assert [trace.name for trace in figure.data if trace.showlegend] == ["perfect calibration", "planned"]
