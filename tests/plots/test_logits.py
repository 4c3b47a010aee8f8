"""Logits taken apart, drawn: bars add up to the mark."""

import numpy as np
import pytest
from support.hand_made_model import SYSTEMS, immunologists, random_system

from nmtlab.analysis.lexical.logits import decompose, term_values, with_radius
from nmtlab.figures.theme import plain
from nmtlab.plots import logit_figure

HOSTILE = "<img src=x onerror=alert(1)>"


def drawn(frame):
    return logit_figure(frame, term_values(frame))


def parts(figure):
    """Return the bars and the marks of a figure."""
    return [trace for trace in figure.data if trace.type == "bar"], next(t for t in figure.data if t.type == "scatter")


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_bars_of_a_candidate_add_up_to_its_mark(name):
    frame = decompose(random_system(name), "olim Fauchi", "says the Fauci", position=1, top=6)
    for shown in (frame, with_radius(frame, 4.0)):
        bars, marks = parts(drawn(shown))
        assert len(bars) == term_values(shown).shape[1]
        assert np.sum([bar.y for bar in bars], axis=0) == pytest.approx(np.array(marks.y), abs=1e-9)
        assert list(marks.y) == shown["logit"].tolist()
        assert [list(trace.x) for trace in (*bars, marks)] == [list(range(len(shown)))] * (len(bars) + 1)
        assert np.ravel(marks.customdata).tolist() == shown["rank"].tolist()


def test_terms_have_the_names_of_the_thesis_and_colours_of_their_own():
    bars, _ = parts(drawn(decompose(random_system("fixnorm+lex"), "olim", "says", position=0)))
    assert len({bar.name for bar in bars}) == len({bar.marker.color for bar in bars}) == 4
    assert all(bar.name not in ("word", "bias", "lexicon", "lexicon_bias") for bar in bars)


def test_candidates_are_named_with_their_counts_and_the_wanted_one_is_bold():
    axis = drawn(decompose(immunologists(), "Fauchi", "Fauci", position=0, top=3)).layout.xaxis
    assert list(axis.ticktext) == ["Chan  (40×)", "<b>Fauci  (8×)</b>", "Jenner  (20×)"]


def test_words_are_drawn_as_text_and_not_as_tags():
    frame = decompose(immunologists(), "Fauchi", "Fauci", position=0, top=3).assign(word=HOSTILE)
    figure = drawn(frame).update_layout(meta=None)  # which is not drawn
    assert "<img" not in str(figure.to_dict())
    assert all(plain(HOSTILE) in text for text in figure.layout.xaxis.ticktext)
