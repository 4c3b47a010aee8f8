"""How axes are numbered."""

import math

import pandas as pd
import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots

from nmtlab.analysis.dynamics.curves import dev_curve, dev_figure, gradient_curve, gradient_figure
from nmtlab.analysis.dynamics.signals import signals_figure
from nmtlab.figures.theme import dressed, log_axis, with_subtitle
from nmtlab.figures.view import summary


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([0.45, 18.0], ["0.2", "0.5", "1", "2", "5", "10", "20"]),
        ([3.1, 79.0, 8.0], ["2", "5", "10", "20", "50", "100"]),
        ([1, 20_000], ["1", "10", "100", "1,000", "10,000"]),
        ([1e-12, 50.0], [f"10<sup>−{power}</sup>" for power in (12, 10, 8, 6)] + ["0.0001", "0.01", "1", "100"]),
        ([3.0, 4.0, 0.0, -7.0, math.nan, math.inf], ["1", "2", "5", "10"]),
        ([], ["0.5", "1", "2", "5"]),
    ],
)
def test_a_logarithmic_axis_has_full_numbers_in_steps_of_1_2_and_5_or_powers_where_it_is_long(values, numbers):
    axis = log_axis(values)
    assert list(axis["ticktext"]) == numbers
    if not any("<sup>" in number for number in numbers):
        assert list(axis["tickvals"]) == [float(number.replace(",", "")) for number in numbers]


@pytest.mark.parametrize("low", [1e-9, 0.03, 0.1, 1.0, 1.9, 2.0, 3.0, 5.0, 7.7, 1000.0])
@pytest.mark.parametrize("times", [1, 1.01, 1.3, 2, 2.5, 4, 30, 1e4, 1e9])
def test_two_numbers_are_seen_at_least_and_not_too_many(low, times):
    axis = log_axis([low, low * times])
    first, last = (10**end for end in axis["range"])
    assert first < low <= low * times < last
    assert 2 <= sum(first < value < last for value in axis["tickvals"]) <= 10


def logarithmic(figure: go.Figure) -> list:
    return [axis for axis in figure.select_yaxes() if axis.type == "log"]


def test_figures_with_a_logarithmic_axis_number_it_so(trained):
    signals = pd.DataFrame(
        {"run": "a", "update": 0, "side": side, "kind": "attention", "depth": 1, "place": 1, "activation": 30.0,
         "gradient": 0.003}
        for side in ("encoder", "decoder")
    )  # fmt: skip
    curve, norms = dev_curve(trained[0]), gradient_curve(trained[0])
    figures = [
        (dev_figure(curve, "perplexity"), [curve["perplexity"]]),
        (gradient_figure(norms), [norms["norm"]]),
        (signals_figure(signals), [[30.0], [30.0], [0.003], [0.003]]),
    ]
    for figure, values in figures:
        axes = logarithmic(figure)
        assert [list(axis.ticktext) for axis in axes] == [log_axis(own)["ticktext"] for own in values]


def test_a_subtitle_is_a_line_of_its_own_that_leaves_the_panels_as_they_were():
    figure = dressed(go.Figure(go.Bar(y=[1], name="some")), "What it shows", 400)
    before = figure.layout.margin.t, figure.layout.height
    for _ in range(2):
        with_subtitle(figure, "a<b (tr → en), seed 1")
        assert figure.layout.title.text.startswith("What it shows<br><span")
        assert "a&lt;b (tr → en), seed 1</span>" in figure.layout.title.text
        assert figure.layout.height - before[1] == figure.layout.margin.t - before[0] > 0
    assert summary(figure) == "What it shows a<b (tr → en), seed 1. Bars: some."
    with_subtitle(figure, "")
    assert (figure.layout.title.text, figure.layout.margin.t, figure.layout.height) == ("What it shows", *before)


def test_what_stands_above_the_panels_has_room_and_no_more():
    def panels() -> go.Figure:
        return make_subplots(cols=2, subplot_titles=["encoder", "decoder,<br>both"])

    heads = [dressed(made(), title).layout.margin.t for made in (go.Figure, panels) for title in ("a", "a<br>b")]
    assert heads == [42, 63, 84, 105]
    assert dressed(go.Figure(layout={"margin": {"t": 99}}), "a").layout.margin.t == 99
    legend = {"legend": {"y": 1.02, "yanchor": "bottom"}}
    assert dressed(go.Figure(layout=legend), "a").layout.margin.t == 63
    figure = dressed(panels(), "a")
    assert figure.layout.annotations[0].font.size < figure.layout.template.layout.title.font.size
