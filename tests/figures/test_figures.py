"""Figures show the numbers they are given, name axes and units, and draw text as text."""

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import pytest

from nmtlab.figures.theme import COLOURS, SOLID, SYSTEMS, colour_of, plain, styles
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


@pytest.mark.parametrize(
    ("label", "system"),
    [
        ("tied", "tied"), ("tied, seed 2", "tied"), ("tied · tr-en", "tied"), ("small-tr-en.tied.s1", "tied"),
        ("small-tr-en, tied, seed 2", "tied"), ("tied-bpe", "tied"), ("demo-tied", "tied"),
        ("fixnorm+lex", "fixnorm-lex"), ("fixnorm-lex", "fixnorm-lex"), ("Moses", "moses"),
        ("PreNorm + fixnorm + ScaleNorm, no smoothing", "prenorm-fixnorm-scalenorm"),
    ],
)  # fmt: skip
def test_a_label_has_the_colour_of_its_system_in_every_company(label, system):
    assert colour_of(label) == SYSTEMS[system]
    for others in ([], ["some other"], ["some", "untied", "wider"]):
        assert styles([*others, label])[label] == {"color": SYSTEMS[system], "dash": "solid"}


def test_a_name_without_a_known_system_takes_what_is_left():
    assert [colour_of(name) for name in ("seed 1", "untied-ish", "united", "")] == [None] * 4
    assert styles(["other", "fixnorm"])["other"]["color"] != SYSTEMS["fixnorm"]


def test_seeds_of_a_system_share_its_colour_and_no_two_names_look_alike():
    seeds = [f"tied, seed {number}" for number in range(1, 5)]
    given = styles(["other", *seeds, "prenorm", "fixnorm"])
    assert {given[seed]["color"] for seed in seeds} == {SYSTEMS["tied"]}
    assert len({tuple(style.values()) for style in given.values()}) == len(given)


def test_where_dashes_say_nothing_seeds_differ_in_colour():
    given = styles([f"tied, seed {number}" for number in range(len(COLOURS))], SOLID)
    assert given["tied, seed 0"]["color"] == SYSTEMS["tied"]
    assert {style["color"] for style in given.values()} == set(COLOURS)


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
