"""A figure in words."""

import plotly.graph_objects as go

from nmtlab.figures.theme import dressed, plain
from nmtlab.figures.view import summary


def test_title_kinds_axes_and_names_are_told():
    figure = go.Figure([go.Scatter(x=[1], y=[2], mode="lines", name=name) for name in ("tied", "fixnorm", "tied")])
    figure.add_scatter(x=[1], y=[2], mode="markers", showlegend=False, name="best")
    figure.update_layout(xaxis_title_text="updates", yaxis_title_text="dev BLEU")
    assert summary(dressed(figure, "Dev BLEU")) == "Dev BLEU. Lines and points of dev BLEU by updates: tied, fixnorm."


def test_markup_is_left_out_and_escaped_text_is_read_as_it_is_shown():
    figure = go.Figure(go.Heatmap(z=[[1.0]])).update_layout(xaxis_title_text="10<sup>3</sup> words")
    assert summary(dressed(figure, plain("<b> & c"))) == "<b> & c. Heatmaps by 10 3 words."


def test_many_names_are_counted():
    figure = go.Figure([go.Bar(y=[1], name=f"run {number}") for number in range(9)])
    assert summary(dressed(figure, "Runs")).endswith(": run 0, run 1, run 2, run 3, run 4, run 5 and 3 more.")


def test_nothing_is_said_of_an_empty_figure():
    assert summary(go.Figure()) == ""
