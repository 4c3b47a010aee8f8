"""Children and their parents, by the size of the text and of the vocabulary."""

import math
from dataclasses import replace

import pandas as pd
import plotly.graph_objects as go
import pytest
from support.child_sizes import results_of
from support.metrics import declare

from nmtlab.analysis.access.translations import TRANSLATED
from nmtlab.analysis.metrics import find_metric
from nmtlab.errors import NmtlabError
from nmtlab.thesis.shown.children import (
    child_size_curves,
    child_size_figure,
    child_size_view,
    child_sizes,
    vocabulary_curves,
    vocabulary_figure,
    vocabulary_view,
)


def test_sizes_of_children_are_those_declared_and_a_text_of_undeclared_size_has_none():
    sizes = child_sizes("small")
    assert [sizes[f"gl-en ({size})"] for size in ("500", "2,000", "4,000", "10,000")] == [
        ("gl-en, LibreOffice", 500), ("gl-en, LibreOffice", 2000), ("gl-en, LibreOffice", 4000),
        ("gl-en, LibreOffice", 10_000),
    ]  # fmt: skip
    assert sizes["qab-en (2,000)"] == ("qab-en, artificial", 2000)
    assert "Uyg-Eng" not in sizes  # all pairs of its text
    assert child_sizes("thesis") == {}  # its texts are yours


def test_a_curve_has_means_and_intervals_of_the_seeds_by_ascending_size():
    scores = {
        "gl-en (2,000)": {"BPE": [9.0, 10.0, 14.0], "BPE + transfer": [15.0, None, None]},
        "gl-en (500)": {"BPE": [5.0, 5.0, 5.0], "BPE + transfer": [12.0, 12.2, 12.1]},
        "gl-en (10,000)": {"BPE": [None, None, None]},
        "Uyg-Eng": {"BPE": [3.0, 3.0, 3.0]},
    }
    curves = child_size_curves(results_of("child-size", scores), "small")
    assert list(curves.columns) == ["pair", "system", "child_pairs", "metric", "seeds", "mean", "margin"]
    assert curves[["pair", "system", "child_pairs", "seeds"]].to_numpy().tolist() == [
        ["gl-en, LibreOffice", "BPE", 500, 3], ["gl-en, LibreOffice", "BPE", 2000, 3],
        ["gl-en, LibreOffice", "BPE + transfer", 500, 3], ["gl-en, LibreOffice", "BPE + transfer", 2000, 1],
    ]  # fmt: skip
    assert curves["mean"].tolist() == pytest.approx([5.0, 11.0, 12.1, 15.0])
    # the deviation of 9, 10 and 14 is √7, that of 12, 12.2 and 12.1 is 0.1
    assert curves["margin"].tolist()[:3] == pytest.approx(
        [math.nan, 4.302653 * math.sqrt(7 / 3), 4.302653 * 0.1 / math.sqrt(3)], nan_ok=True
    )
    assert math.isnan(curves["margin"].iloc[3])


def test_measures_have_curves_of_their_own():
    scores = {"gl-en (500)": {"BPE": [5.0, 5.0, 5.0]}}
    both = [results_of("child-size", scores, metric) for metric in ("dev-bleu", "test-bleu")]
    for metric, one in zip(("dev-bleu", "test-bleu"), both, strict=True):
        assert child_size_curves(one, "small")["metric"].tolist() == [metric]


def test_a_vocabulary_has_its_size_and_systems_with_the_same_parent_are_one_curve():
    scores = {
        "BPE (large vocabulary)": [1.0, 2.0, 3.0],
        "BPE (large vocabulary) + transfer": [7.0, 7.0, 7.0],
        "BPE": [3.0, 4.0, 5.0],
        "BPE + transfer": [9.0, 9.0, 9.0],
        "BPE (small vocabulary) + transfer": [8.0, 8.0, 8.0],
        "BPE (small vocabulary)": [2.0, 3.0, 4.0],
    }
    results = results_of("figure-3.1", {"gl-en (4,000)": scores}, "dev-bleu")
    curves = vocabulary_curves(results, "small")
    assert curves[["pair", "system", "types"]].to_numpy().tolist() == [
        ["gl-en (4,000), LibreOffice", system, size]
        for system in ("BPE", "BPE + transfer")
        for size in (1000, 2000, 8000)
    ]
    assert curves["mean"].tolist() == [3.0, 4.0, 2.0, 8.0, 9.0, 7.0]


HOSTILE = "<script>alert(1)</script>"


CURVES = pd.DataFrame(
    [
        ("gl-en", "BPE", 500, 5.0, 1.0),
        ("gl-en", "BPE", 10_000, 19.0, 2.0),
        ("qab-en", "BPE", 500, 12.0, 1.0),
        ("gl-en", "BPE + transfer", 500, 13.0, math.nan),
        ("qab-en", "BPE + transfer", 500, 50.0, 1.0),
    ],
    columns=["pair", "system", "child_pairs", "mean", "margin"],
).assign(metric="test-bleu", seeds=3)


def named(figure: go.Figure) -> list[str]:
    return [trace.name for trace in figure.data if trace.showlegend]


def points(figure: go.Figure, system: str, pair: str = "gl-en") -> go.Scatter:
    (found,) = [trace for trace in figure.data if (trace.name, trace.meta) == (system, pair)]
    return found


def axis_of(figure: go.Figure, trace: go.Scatter) -> go.layout.XAxis:
    return figure.layout[trace.xaxis.replace("x", "xaxis")]


@pytest.mark.parametrize(
    ("draw", "size", "title"),
    [
        (child_size_figure, "child_pairs", "Test BLEU of children alone and with a parent, by the size of their text"),
        (vocabulary_figure, "types", "Test BLEU of children alone and with a parent, by the size of the vocabulary"),
    ],
)
def test_each_pair_has_a_panel_and_each_system_a_curve_with_its_intervals(draw, size, title):
    figure = draw(CURVES.rename(columns={"child_pairs": size}))
    assert figure.layout.title.text == title
    assert [note.text for note in figure.layout.annotations] == ["gl-en", "qab-en"]
    assert named(figure) == ["BPE", "BPE + transfer"]
    alone = points(figure, "BPE")
    assert list(alone.y) == [5.0, 19.0]
    assert list(alone.error_y.array) == [1.0, 2.0]
    assert alone.customdata[:, 0].tolist() == [500, 10_000]
    assert list(alone.x) == pytest.approx([500, 10_000], rel=0.03)
    axis = axis_of(figure, alone)
    assert (axis.type, axis.ticktext) == ("log", ("500", "10,000"))
    assert figure.layout.yaxis.title.text == "test BLEU (%), mean and 95 %"
    assert points(figure, "BPE + transfer").x[0] > alone.x[0]  # beside each other


def test_sizes_that_are_close_have_no_overlapping_ticks():
    curves = pd.concat(CURVES.head(1).assign(child_pairs=size) for size in (500, 600, 1000, 4000))
    assert child_size_figure(curves).layout.xaxis.ticktext == ("500", "1,000", "4,000")


def test_more_pairs_than_fit_side_by_side_get_another_row():
    curves = pd.concat(CURVES.head(2).assign(pair=pair) for pair in ("gl-en", "sk-en", "qab-en"))
    assert child_size_figure(curves).layout.height > child_size_figure(CURVES).layout.height
    assert points(child_size_figure(curves), "BPE", "qab-en").xaxis == "x3"


def test_names_are_drawn_letter_by_letter_and_without_lines_the_figure_is_empty(monkeypatch):
    declare(monkeypatch, TRANSLATED, replace(find_metric("test-bleu"), label=HOSTILE))
    figure = child_size_figure(CURVES.assign(pair=HOSTILE, system=HOSTILE))
    figure.update_traces(meta=None, legendgroup=None)
    assert "<script" not in figure.to_json()
    assert not child_size_figure(CURVES.head(0)).data


def test_children_by_the_size_of_their_text(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    (tmp_path / "results").mkdir()
    scores = {
        "gl-en (500)": {"BPE": [5.0] * 3, "BPE + unrelated parent": [4.0] * 3, "BPE + transfer": [8.0] * 3},
        "gl-en (2,000)": {"BPE": [11.0] * 3, "BPE + transfer": [12.0] * 3},
    }
    results_of("child-size", scores).to_csv(tmp_path / "results/child-size.small.csv", index=False)
    means = child_size_view().frame
    assert list(means.columns) == ["pair", "child_pairs", "BPE", "BPE + unrelated parent", "BPE + transfer"]
    assert means.fillna(0).to_numpy().tolist() == [
        ["gl-en, LibreOffice", 500, 5, 4, 8], ["gl-en, LibreOffice", 2000, 11, 0, 12],
    ]  # fmt: skip
    with pytest.raises(NmtlabError, match=r"'dev-bleu' was not measured.*test-bleu"):
        child_size_view(metric="dev-bleu")
    with pytest.raises(NmtlabError, match="not measured at the scale thesis"):
        child_size_view("thesis")


def test_children_by_the_size_of_their_vocabulary(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    (tmp_path / "results").mkdir()
    scores = {"gl-en (4,000)": {"BPE (small vocabulary)": [4.0], "BPE": [5.0], "BPE + transfer": [8.0]}}
    results_of("figure-3.1", scores, "dev-bleu").to_csv(tmp_path / "results/figure-3.1.small.csv", index=False)
    means = vocabulary_view().frame
    assert means.fillna(0).to_numpy().tolist() == [
        ["gl-en (4,000), LibreOffice", 1000, 4, 0], ["gl-en (4,000), LibreOffice", 2000, 5, 8],
    ]  # fmt: skip
