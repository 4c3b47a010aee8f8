"""Stored results of search over whole texts, drawn."""

import pandas as pd
import pytest

from nmtlab.plots import ways_figure


def test_ways_of_searching_have_a_panel_a_pair_and_a_line_each():
    lines = pd.DataFrame(
        {
            "row": ["de-en", "de-en", "de-en", "gl-en"], "way": ["planned", "ordinary", "planned", "planned"],
            "beam": [4, 1, 1, 4], "mean": [25.0, 27.0, 24.0, 16.0], "margin": [1.0, 2.0, 3.0, 4.0],
            "planned": [True, False, True, True],
        }
    )  # fmt: skip
    figure = ways_figure(lines)
    drawn = {(trace.name, trace.xaxis): trace for trace in figure.data}
    planned = drawn["planned", "x"]
    assert (list(planned.x), list(planned.y)) == (pytest.approx([0, 1], abs=0.1), [24.0, 25.0])
    assert list(figure.layout.xaxis.ticktext) == ["1", "4"]
    assert list(planned.error_y.array) == [3.0, 1.0]
    ordinary = drawn["ordinary", "x"]
    assert list(ordinary.y) == [27.0]
    assert ordinary.x[0] != planned.x[0]
    assert (ordinary.line.dash, planned.line.dash) == ("solid", "dash")
    assert drawn["planned", "x2"].line.color == planned.line.color != ordinary.line.color
    assert [trace.name for trace in figure.data if trace.showlegend] == ["ordinary", "planned"]
    assert [note.text for note in figure.layout.annotations] == ["de-en", "gl-en"]
