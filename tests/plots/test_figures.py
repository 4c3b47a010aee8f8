"""Figures show the numbers they are given, name axes and units, and draw text as text."""

import json
import shutil

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import pytest

from nmtlab.analysis.dynamics.curves import dev_curve, gradient_curve, loss_curve
from nmtlab.figures.theme import COLOURS, plain, styles
from nmtlab.plots import (
    Numbers,
    View,
    depth_figure,
    dev_figure,
    gradient_figure,
    loss_figure,
    slopes_figure,
)
from nmtlab.runs.log import read_log
from nmtlab.runs.run import Run

HOSTILE = "<script>alert(1)</script>"


def traces(figure: go.Figure, mode: str) -> list:
    return [trace for trace in figure.data if getattr(trace, "mode", None) == mode]


def assert_dressed(figure: go.Figure) -> None:
    assert figure.layout.title.text
    axes = [axis for axis in (*figure.select_xaxes(), *figure.select_yaxes()) if not axis.matches]
    assert any(axis.title.text for axis in axes)
    figure.to_json()


def test_a_very_long_token_is_cut():
    assert len(plain("x" * 10_000)) == 40
    assert plain("a&b<c>") == "a&amp;b&lt;c&gt;"


def test_g_is_drawn_in_two_panels_with_its_lines():
    values = pd.DataFrame(
        [("a", "attention", "encoder", "encoder", depth, float(depth)) for depth in (1, 2)]
        + [("a", "feed-forward", "final", "decoder", 3, 9.0)],
        columns=["run", "panel", "group", "side", "depth", "g"],
    )
    fits = pd.DataFrame(
        [("a", "attention", "encoder", 1.5, 0.25)], columns=["run", "panel", "group", "slope", "intercept"]
    )
    figure = depth_figure(values, fits)
    assert_dressed(figure)
    assert [(list(t.x), list(t.y), t.xaxis) for t in traces(figure, "markers")] == [
        ([1, 2], [1.0, 2.0], "x"), ([3], [9.0], "x2"),
    ]  # fmt: skip
    (line,) = traces(figure, "lines")
    assert list(line.y) == [1.75, 3.25]


def test_slopes_of_g_are_drawn_over_updates_a_line_a_group():
    slopes = pd.DataFrame(
        [
            ("a", panel, "encoder", step, slope)
            for panel in ("attention", "feed-forward")
            for step, slope in ((100, -0.1), (200, 0.2))
        ],
        columns=["run", "panel", "group", "step", "slope"],
    )
    figure = slopes_figure(slopes)
    assert_dressed(figure)
    assert [(list(t.x), list(t.y), t.xaxis, t.showlegend) for t in figure.data] == [
        ([100, 200], [-0.1, 0.2], "x", True), ([100, 200], [-0.1, 0.2], "x2", False),
    ]  # fmt: skip


@pytest.mark.parametrize(("score", "unit"), [("bleu", "%"), ("perplexity", "per token")])
def test_dev_curves_show_the_scores_and_their_unit(trained, score, unit):
    curve = dev_curve(trained[0])
    figure = dev_figure(curve, score, over="minutes")
    assert_dressed(figure)
    (line,) = figure.data
    assert list(line.y) == list(curve[score])
    assert list(line.x) == list(curve["minutes"])
    assert unit in figure.layout.yaxis.title.text
    assert line.marker.symbol.count("star") == 1


def test_every_spike_is_drawn_however_long_the_training():
    spike = np.zeros(10_000, dtype=bool)
    spike[[3, 7001]] = True
    curve = pd.DataFrame({"run": "a", "step": range(1, 10_001), "norm": 1.0, "median": 1.0, "spike": spike})
    figure = gradient_figure(curve)
    assert_dressed(figure)
    (crosses,) = traces(figure, "markers")
    assert list(crosses.x) == [4, 7002]
    assert all(len(line.x) <= 2000 for line in traces(figure, "lines"))


def test_the_median_of_the_gradient_is_drawn(trained):
    curve = gradient_curve(trained[0])
    assert list(gradient_figure(curve).data[-1].y) == list(curve["median"])


def test_a_loss_is_drawn_with_the_terms_that_add_up_to_it(trained):
    curve = loss_curve(trained[0])
    whole, *terms = loss_figure(curve).data
    assert whole.name == "whole"
    assert [term.name for term in terms] == ["whole: cross entropy", "whole: label smoothing"]
    assert np.sum([term.y for term in terms], axis=0) == pytest.approx(np.array(whole.y))
    assert len({line.line.dash for line in (whole, *terms)}) == 3


def test_of_a_run_that_did_not_log_terms_the_loss_alone_is_drawn(trained, tmp_path):
    run = Run(shutil.copytree(trained[0].folder, tmp_path / "old"))
    lines = [{key: v for key, v in line.items() if key != "terms"} for line in read_log(run.folder / "metrics.jsonl")]
    (run.folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (alone,) = loss_figure(loss_curve(run)).data
    assert list(alone.y) == [line["loss"] for line in lines if line["kind"] == "train"]


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
