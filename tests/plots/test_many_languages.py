"""Many languages, drawn."""

import math

import pandas as pd

from nmtlab.plots import ablation_figure

HOSTILE = "<script>alert(1)</script>"


def test_an_ablation_has_a_bar_for_each_system_with_its_interval():
    lines = pd.DataFrame(
        {"system": ["shared", HOSTILE, "attention ½"], "mean": [20.0, 21.0, 22.0], "margin": [1.0, math.nan, 0.5]}
    )
    figure = ablation_figure(lines, "test BLEU", baseline="shared")
    (bars,) = figure.data
    assert list(bars.y) == ["shared", "&lt;script&gt;alert(1)&lt;/script&gt;", "attention ½"]
    assert list(bars.x) == [20, 21, 22]
    assert list(bars.error_x.array)[::2] == [1, 0.5]
    assert bars.marker.color[0] != bars.marker.color[1] == bars.marker.color[2]
    assert [shape.x0 for shape in figure.layout.shapes] == [20]
    assert figure.layout.xaxis.title.text == "test BLEU (%), mean and 95 % interval"
    assert figure.layout.xaxis.rangemode == "tozero"
