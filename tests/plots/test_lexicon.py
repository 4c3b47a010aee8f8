"""Translations of a word, drawn side by side."""

import pandas as pd

from nmtlab.figures.theme import plain
from nmtlab.plots import lexicon_figure

HOSTILE = "<img src=x onerror=alert(1)>"
ROWS = pd.DataFrame(
    [("learned", "dog", 0.75), ("learned", "cat", 0.125), ("gold", "dog", 1.0)], columns=["by", "target", "probability"]
)


def test_who_says_what_with_which_probability():
    learned, gold = lexicon_figure("hund", ROWS).data
    assert (learned.name, list(learned.x), list(learned.y)) == ("learned", ["dog", "cat"], [0.75, 0.125])
    assert (gold.name, list(gold.x), list(gold.y)) == ("gold", ["dog"], [1.0])
    assert learned.marker.color != gold.marker.color


def test_one_voice_alone_is_named_too():
    figure = lexicon_figure("hund", ROWS[:2])
    assert figure.layout.showlegend
    assert figure.layout.title.text == "Translations of hund"


def test_numbers_are_names_of_translations_and_not_places_on_an_axis():
    figure = lexicon_figure("7", ROWS.assign(target=["7", "11", "7"]))
    assert figure.layout.xaxis.type == "category"


def test_words_are_drawn_as_text_and_not_as_tags():
    figure = lexicon_figure(HOSTILE, ROWS.assign(by=HOSTILE, target=HOSTILE))
    figure.update_layout(meta=None)  # which is not drawn
    assert "<img" not in str(figure.to_dict())
    assert plain(HOSTILE) in figure.layout.title.text
    assert {trace.name for trace in figure.data} == {plain(HOSTILE)}


def test_a_word_without_translations_is_an_empty_figure():
    assert not lexicon_figure("hund", ROWS[:0]).data
