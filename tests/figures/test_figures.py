"""Figures show the numbers they are given, name axes and units, and draw text as text."""

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio

from nmtlab.figures.theme import COLOURS, plain, styles
from nmtlab.figures.view import Numbers, View

HOSTILE = "<script>alert(1)</script>"


def traces(figure: go.Figure, mode: str) -> list:
    return [trace for trace in figure.data if getattr(trace, "mode", None) == mode]


def test_a_very_long_token_is_cut():
    assert len(plain("x" * 10_000)) == 40
    assert plain("a&b<c>") == "a&amp;b&lt;c&gt;"


def test_more_runs_than_colours_differ_in_their_dashes():
    given = styles([f"run {number}" for number in range(2 * len(COLOURS))])
    assert len({(style["color"], style["dash"]) for style in given.values()}) == 2 * len(COLOURS)


def test_a_view_is_a_rounded_table_to_a_test_and_a_chart_to_a_person(monkeypatch):
    monkeypatch.setattr(pio.renderers, "default", "plotly_mimetype")
    view = View(pd.DataFrame({"run": ["a"], "bleu": [12.3456]}), go.Figure())
    assert repr(view).split() == ["run", "bleu", "a", "12.35"]
    shown = view._repr_mimebundle_()
    assert shown["text/plain"] == repr(view)
    assert "application/vnd.plotly.v1+json" in shown
    assert "… 5 more rows" in repr(View(pd.DataFrame({"x": range(25)}), go.Figure()))


def test_numbers_are_a_rounded_table_as_text_and_as_html():
    numbers = Numbers(pd.DataFrame({"run": ["a<b", "c"], "bleu": [12.3456, None]}), digits=1, rows=1)
    assert repr(numbers).split() == ["run", "bleu", "a<b", "12.3", "…", "1", "more", "rows"]
    shown = numbers._repr_html_()
    assert "<td>a&lt;b</td>" in shown
    assert "<td>12.3</td>" in shown
    assert "<p>… 1 more rows</p>" in shown
    assert "<td>c</td>" not in shown
