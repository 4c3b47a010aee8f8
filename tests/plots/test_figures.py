"""Figures show the numbers they are given, name axes and units, and draw text as text."""

from itertools import pairwise

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import pytest
from support.figures import assert_dressed

from nmtlab.analysis.attention.weights import attention
from nmtlab.analysis.lexical.norms import norm_bins, word_norms
from nmtlab.figures.theme import COLOURS, plain, styles
from nmtlab.plots import (
    Numbers,
    View,
    attention_figure,
    norm_figure,
)

HOSTILE = "<script>alert(1)</script>"


def traces(figure: go.Figure, mode: str) -> list:
    return [trace for trace in figure.data if getattr(trace, "mode", None) == mode]


@pytest.fixture(scope="module")
def norms(trained):
    words = word_norms(trained[0]).assign(run=HOSTILE)
    return norm_bins(words, 5).assign(run=HOSTILE), words


def test_norms_are_drawn_by_bin_and_by_word(norms):
    bins, words = norms
    figure = norm_figure(bins, words)
    assert_dressed(figure)
    for quantity, line in zip(("used_norm", "bias"), traces(figure, "lines+markers"), strict=True):
        assert list(line.y) == list(bins.loc[bins["quantity"] == quantity, "median"])
    points = traces(figure, "markers")
    assert [list(trace.y) for trace in points] == [list(words["used_norm"]), list(words["bias"])]
    assert list(points[0].customdata[:, 0]) == list(words["word"])
    assert {trace.meta for trace in points} == {HOSTILE}


def test_norms_that_are_equal_up_to_rounding_are_drawn_as_equal(norms):
    bins, _ = norms
    for median, low, high in ((3.5, 3.4999996, 3.5000004), (-2.0, -2.0, -2.0)):
        equal = norm_figure(bins.assign(median=median, lowest=low, highest=high)).layout.yaxis.range
        assert equal == pytest.approx((median - abs(median) / 10, median + abs(median) / 10), abs=1e-6)
    for low, high in ((3.4, 3.5), (0.0, 0.0)):
        assert norm_figure(bins.assign(lowest=low, highest=high)).layout.yaxis.range is None


def test_names_and_words_are_shown_as_text_and_not_as_tags(norms):
    bins, words = norms
    figure = norm_figure(bins, words.assign(word=HOSTILE))
    figure.update_traces(customdata=None, meta=None)  # nothing of them is shown but counts
    assert "<script" not in str(figure.to_dict())
    assert plain(HOSTILE) in [trace.name for trace in figure.data]


def test_a_very_long_token_is_cut():
    assert len(plain("x" * 10_000)) == 40
    assert plain("a&b<c>") == "a&amp;b&lt;c&gt;"


def test_attention_is_a_heatmap_a_run_of_the_chosen_head(trained):
    run, _ = trained
    weights = attention([run], "das ist", "this is")
    figure = attention_figure(weights, {run.name: [(0, 1)], "another": [(1, 1)]}, layer=1, head=2)
    assert_dressed(figure)
    (heatmap,) = [trace for trace in figure.data if trace.type == "heatmap"]
    own = weights.query("layer == 1 and head == 2")
    assert heatmap.z.shape == (own["target_position"].nunique(), own["source_position"].nunique())
    assert heatmap.z.ravel() == pytest.approx(own.sort_values(["target_position", "source_position"])["weight"])
    (ring,) = traces(figure, "markers")
    assert (list(ring.x), list(ring.y)) == ([0], [1])
    assert figure.layout.yaxis.autorange == "reversed"
    assert figure.layout.title.text.endswith(": layer 1, head 2")
    one_head = weights.query("layer == 1 and head == 1")
    assert attention_figure(one_head).layout.title.text == "Attention of each system for each target word"


@pytest.mark.full
@pytest.mark.parametrize("words", [2, 12, 40])
def test_heatmaps_of_any_number_of_runs_stand_in_rows_of_at_most_four_and_apart(trained, words):
    weights = attention([trained[0]], " ".join(["das"] * words), "this is")
    for runs in range(1, 25):
        names = [f"small-de-en.prenorm-fixnorm-scalenorm.encoder_layers-6.s{place}" for place in range(runs)]
        figure = attention_figure(pd.concat([weights.assign(run=name) for name in names]))
        assert_dressed(figure)
        across = [axis.domain for axis in figure.select_xaxes()]
        down = [axis.domain for axis in figure.select_yaxes()]
        assert len(across) == runs
        assert all(0 <= low < high <= 1 for low, high in (*across, *down))
        places = sorted(zip(down, across, strict=True), reverse=True)
        rows = {row: sorted(left for one, left in places if one == row) for row in dict.fromkeys(down)}
        assert max(map(len, rows.values())) == min(runs, {2: 4, 12: 4, 40: 1}[words])
        assert all(left[1] < right[0] for row in rows.values() for left, right in pairwise(row))
        assert all(lower[1] < upper[0] for upper, lower in pairwise(sorted(rows, reverse=True)))
        titles = [note.text.replace("<br>", "") for note in figure.layout.annotations]
        assert titles == names


def test_unknown_pieces_are_bold_in_the_attention(trained):
    weights = attention([trained[0]], "das ist", "this is").assign(target_unknown=True, source_unknown=False)
    figure = attention_figure(weights)
    assert all(label.startswith("<b>") for label in figure.layout.yaxis.ticktext)
    assert not any(label.startswith("<b>") for label in figure.layout.xaxis.ticktext)


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


def test_of_many_words_every_nth_is_drawn(norms):
    bins, words = norms
    many = words.loc[words.index.repeat(5000 // len(words) + 1)].assign(rank=lambda frame: range(1, len(frame) + 1))
    points = traces(norm_figure(bins, many), "markers")
    step = -(-len(many) // 1000)
    assert step > 1
    assert all(list(trace.x) == list(range(1, len(many) + 1, step)) for trace in points)
