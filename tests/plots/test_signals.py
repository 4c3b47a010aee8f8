"""Activations and gradients before each normalisation, drawn."""

import pandas as pd

from nmtlab.plots import signals_figure

SIGNALS = pd.DataFrame(
    [
        ("<b>deep</b>", update, side, kind, 1, place, size * place, size / place)
        for update, size in ((0, 10.0), (1200, 40.0))
        for side, kinds in (("encoder", ("attention", "feed-forward")), ("decoder", ("attention", "cross-attention")))
        for place, kind in enumerate(kinds, start=1)
    ],
    columns=["run", "update", "side", "kind", "depth", "place", "activation", "gradient"],
)


def test_each_run_and_time_has_a_line_in_each_panel():
    figure = signals_figure(SIGNALS)
    assert len(figure.data) == 2 * 2 * 2
    first, second, third, fourth = figure.data[:4]  # at the start: activations, then gradients; encoder, then decoder
    assert (list(first.x), list(first.y)) == ([1, 2], [10, 20])
    assert list(second.y) == [10, 20]
    assert list(third.y) == list(fourth.y) == [10, 5]
    assert [trace.line.dash for trace in figure.data] == ["dot"] * 4 + ["solid"] * 4
    assert {trace.line.color for trace in figure.data} == {first.line.color}
    assert [trace.showlegend for trace in figure.data] == [True, False, False, False] * 2
    assert first.name == "&lt;b&gt;deep&lt;/b&gt;, at the start"
    assert list(second.customdata[1]) == ["cross-attention", 1]
