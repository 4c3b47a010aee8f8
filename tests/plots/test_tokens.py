"""Sureness of tokens, drawn."""

import pandas as pd
import pytest

from nmtlab.analysis.lexical.tokens import token_probabilities
from nmtlab.figures.theme import COLOURS, plain
from nmtlab.plots import token_figure

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def tokens(trained) -> pd.DataFrame:
    return token_probabilities(trained[0], "hund sieht katze", "dog xq cat")


def test_a_bar_is_as_high_as_its_token_is_likely(tokens):
    (bars,) = token_figure(tokens).data
    assert list(bars.y) == tokens["probability"].tolist()
    assert [facts[1] for facts in bars.customdata] == [f"{count} times in training" for count in tokens["count"]]
    assert [facts[2] for facts in bars.customdata] == tokens["rank"].tolist()


def test_an_unknown_count_is_said_and_not_drawn_as_a_number(tokens):
    (bars,) = token_figure(tokens.assign(count=float("nan"))).data
    assert {facts[1] for facts in bars.customdata} == {"training count unknown"}


def test_what_is_less_likely_than_not_has_another_colour(tokens):
    (bars,) = token_figure(tokens.assign(probability=[0.49, 0.5, 0.0, 1.0])).data
    assert list(bars.marker.color) == [COLOURS[1], COLOURS[0], COLOURS[1], COLOURS[0]]


def test_each_bar_is_named_and_unknown_tokens_are_bold(tokens):
    axis = token_figure(tokens).layout.xaxis
    assert list(axis.tickvals) == [0, 1, 2, 3]
    assert list(axis.ticktext) == ["dog", "<b>xq</b>", "cat", "&lt;/s&gt;"]
    assert axis.title.text


def test_probabilities_have_the_whole_axis(tokens):
    axis = token_figure(tokens).layout.yaxis
    assert axis.range[0] == 0
    assert axis.range[1] >= 1
    assert "p(" in axis.title.text


def test_tokens_are_drawn_as_text_and_not_as_tags(tokens):
    hostile = tokens.assign(piece=HOSTILE, likeliest=f"{HOSTILE} 0.50")
    figure = token_figure(hostile).update_layout(meta=None)  # which is not drawn
    assert "<script" not in str(figure.to_dict())
    assert plain(HOSTILE) in figure.data[0].customdata[0]
    assert all(plain(HOSTILE) in text for text in figure.layout.xaxis.ticktext)
