"""Tokens of figures: where one is, which one is clicked, and how it is marked."""

import pandas as pd
import plotly.graph_objects as go
import pytest

from nmtlab.analysis.attention.weights import attention_figure
from nmtlab.figures.marks import Token, outlines, shows_word, some_words, token_at, with_nodes, with_tokens, with_words

EVI = Token("source", 3, "evi")
WEIGHTS = pd.DataFrame(
    {
        "run": run, "layer": 1, "head": 1, "weight": 0.5,
        "target_position": target, "target_piece": "xy"[target], "target_unknown": False, "target_count": 1,
        "source_position": source, "source_piece": pieces[source], "source_unknown": False, "source_count": 1,
    }
    for run, pieces in (("whole", ["bu", "evi"]), ("split", ["▁bu", "▁ev", "i"]))
    for target in range(2)
    for source in range(len(pieces))
)  # fmt: skip


@pytest.mark.parametrize("text", ["source:3:evi", "target::evi", "target:1::", "source:12:a b"])
def test_a_token_is_read_from_its_text(text):
    assert str(Token.read(text)) == text


@pytest.mark.parametrize("text", ["", "evi", "middle:3:evi", "source:3:", "source:0:evi", "source:-1:x", "source:03:x"])
def test_what_is_no_token_is_refused(text):
    assert Token.read(text) is None


def test_of_several_same_tokens_the_one_at_the_position_or_nearest_to_it_is_meant():
    assert EVI.places("source", ["evi", "evi", "evi", "evi"]) == [2]
    assert EVI.places("source", ["evi", "x", "x", "▁evi", "evi"]) == [3]
    assert EVI.places("target", ["evi"]) == []
    assert EVI.places("source", ["ev", "x"]) == []


def test_a_word_without_a_position_is_meant_wherever_it_stands():
    assert Token("source", None, "evi").places("source", ["evi", "x", "▁evi"]) == [0, 2]


def test_pieces_that_together_are_the_token_are_meant():
    assert EVI.places("source", ["▁bu", "▁ev", "i", "."]) == [1, 2]


def test_a_marker_of_white_space_alone_is_a_token_of_its_own():
    assert Token("source", 1, "▁").places("source", ["▁", "▁a"]) == [0]


def test_a_token_is_marked_in_each_heatmap_as_its_system_segments_it():
    shapes = outlines(attention_figure(WEIGHTS), EVI)
    assert [(one["xref"], one["x0"], one["x1"], one["yref"]) for one in shapes] == [
        ("x", 0.5, 1.5, "y domain"), ("x2", 0.5, 1.5, "y2 domain"), ("x2", 1.5, 2.5, "y2 domain"),
    ]  # fmt: skip
    (row,) = outlines(attention_figure(WEIGHTS[WEIGHTS["run"] == "whole"]), Token("target", 2, "y"))
    assert (row["yref"], row["y0"], row["y1"], row["xref"]) == ("y", 0.5, 1.5, "x domain")


def test_a_cell_is_its_rows_token_and_a_label_its_own():
    figure = attention_figure(WEIGHTS)
    cell = {"x": 1, "y": 0, "xaxis": "x2", "yaxis": "y2", "customdata": ["▁ev", "x"]}
    assert token_at(figure, cell) == Token("target", 1, "x")
    assert token_at(figure, {"axis": "x2", "value": 1}) == Token("source", 2, "▁ev")
    assert token_at(figure, {"axis": "x2", "value": 7}) is None
    assert token_at(figure, {"pdf": {}}) is None


def test_a_token_that_is_compared_is_the_same_token():
    compared = WEIGHTS.assign(target_piece=[piece + ", not z" for piece in WEIGHTS["target_piece"]])
    assert outlines(attention_figure(compared), Token("target", 2, "y"))


def test_on_an_axis_of_words_a_bar_is_a_word_and_not_a_position():
    figure = with_tokens(go.Figure(go.Bar(x=["a", "b"], y=[1, 2])), {"x": ("target", ["a", "b"])}, types=True)
    assert token_at(figure, {"x": "b", "y": 2, "xaxis": "x", "yaxis": "y"}) == Token("target", None, "b")
    assert [one["x0"] for one in outlines(figure, Token("target", 9, "b"))] == [0.5]


def test_points_of_a_word_are_ringed_and_clicked_points_are_words():
    points = go.Scatter(x=[1, 2], y=[3, 4], mode="markers", customdata=[["a", 5], ["▁b", 6]])
    lines = go.Scatter(x=[1], y=[1], mode="lines", customdata=[["b"]])
    figure = with_words(go.Figure([points, lines]), "target")
    (ring,) = outlines(figure, Token("target", None, "b"))
    assert (ring["xanchor"], ring["yanchor"], ring["xref"], ring["yref"]) == (2.0, 4.0, "x", "y")
    assert outlines(figure, Token("source", None, "b")) == []
    assert token_at(figure, {"x": 2, "y": 4, "customdata": ["▁b", 6]}) == Token("target", None, "▁b")
    assert (shows_word(figure, "a"), shows_word(figure, "c")) == (True, False)
    assert go.Figure(figure).update_layout(shapes=[ring]).layout.shapes[0].xanchor == 2.0  # a shape that plotly knows


def test_nodes_with_a_token_are_ringed_at_its_step_and_a_clicked_node_is_a_token():
    figure = with_nodes(go.Figure(), [(1, -1.0, "a"), (2, -2.0, "b"), (2, -2.5, "b"), (5, -9.0, "b")])

    def ringed(token: Token) -> list[float]:
        return [ring["yanchor"] for ring in outlines(figure, token)]

    assert ringed(Token("target", 2, "b")) == [-2.0, -2.5]
    assert ringed(Token("target", 6, "b")) == [-9.0]
    assert ringed(Token("target", None, "b")) == [-2.0, -2.5, -9.0]
    assert ringed(Token("source", 2, "b")) == []
    assert token_at(figure, {"x": 2, "y": -2.5, "customdata": [2, 2]}) == Token("target", 2, "b")


def test_of_many_words_some_are_drawn_and_always_the_one_that_is_asked_for():
    words = pd.DataFrame({"word": [f"w{number}" for number in range(10)]})
    assert some_words(words, 5, "")["word"].tolist() == ["w0", "w2", "w4", "w6", "w8"]
    assert some_words(words, 5, "w3")["word"].tolist() == ["w0", "w2", "w3", "w4", "w6", "w8"]
