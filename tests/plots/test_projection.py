"""Projections, drawn."""

import math

import pandas as pd
import pytest

from nmtlab.plots import projection_figure


def points(panel: str, words: list[str], counts: list[int], share: float = 0.25) -> pd.DataFrame:
    places = [float(place) for place in range(len(words))]
    frame = pd.DataFrame({"word": words, "count": counts, "x": places, "y": places[::-1]})
    return frame.assign(panel=panel, x_share=share, y_share=share / 2)


def test_each_system_has_a_panel_and_a_colour_is_a_frequency():
    both = pd.concat([points("one", ["a", "b"], [1000, 1]), points("<two>", ["<b>", "c"], [10, 0])])
    figure = projection_figure(both, "Words")
    one, two = figure.data
    assert (one.meta, two.meta) == ("one", "<two>")
    assert [note.text for note in figure.layout.annotations] == ["one", "&lt;two&gt;"]
    assert list(one.marker.color) == pytest.approx([3, 0])
    assert list(two.marker.color) == pytest.approx([1, 0])  # a word that training lacks counts as seen once
    assert two.text[0] == "&lt;b&gt;"
    assert list(two.customdata[0]) == ["<b>", 10]
    assert figure.layout.coloraxis.colorbar.ticktext == ("1", "10", "100", "1,000")
    assert figure.layout.xaxis2.title.text == "PC 1 (25.0% of the variance)"
    assert figure.layout.yaxis.title.text == "PC 2 (12.5% of the variance)"


def test_axes_of_umap_have_no_share_of_the_variance():
    figure = projection_figure(points("one", ["a", "b"], [1, 2], math.nan), "Words")
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("UMAP 1", "UMAP 2")


def test_of_many_words_every_nth_is_drawn():
    words = [f"w{number}" for number in range(4000)]
    (trace,) = projection_figure(points("one", words, [5] * 4000), "Words").data
    assert list(trace.text) == words[::3]
