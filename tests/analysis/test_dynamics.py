"""Curves of a training: as they were logged, and spikes by hand."""

import json
import math
import shutil

import numpy as np
import pandas as pd
import pytest
from support.figures import assert_dressed

from nmtlab.analysis.dynamics.curves import (
    DEV_CURVE,
    GRADIENT_CURVE,
    dev_curve,
    dev_figure,
    gradient_curve,
    gradient_figure,
    gradient_quantiles,
    loss_curve,
    loss_figure,
    spike_counts,
)
from nmtlab.runs.log import read_log
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter


def with_norms(run: Run, folder, norms: list[float]) -> Run:
    """Return a copy of a run with other gradient norms."""
    shutil.copytree(run.folder, folder / "copy")
    copy = Run(folder / "copy")
    RunWriter(copy).truncate_after(0)
    RunWriter(copy).log_gradient_norms(dict(enumerate(norms, start=1)))
    return copy


def test_the_dev_curve_is_what_was_logged(trained):
    run, _ = trained
    logged, curve = run.log.metrics("validation"), dev_curve(run)
    assert len(curve)
    for name in ("step", "bleu", "perplexity"):
        assert list(curve[name]) == list(logged[name])
    assert list(curve["minutes"]) == pytest.approx(list(logged["seconds"] / 60))
    assert curve.loc[curve["best"], "step"].tolist() == [run.checkpoints.best_step]


def test_a_run_that_was_never_evaluated_has_an_empty_curve(trained, tmp_path):
    assert dev_curve(with_norms(trained[0], tmp_path, [1.0])).empty


def test_every_update_has_its_gradient_norm(trained):
    run, _ = trained
    curve = gradient_curve(run)
    assert list(curve["step"]) == list(range(1, run.log.metrics("end")["step"].iloc[-1] + 1))
    assert list(curve["norm"]) == list(run.log.gradient_norms()["norm"])


def test_a_spike_is_more_than_three_times_the_median_around_it(trained, tmp_path):
    curve = gradient_curve(with_norms(trained[0], tmp_path, [1, 1, 3.1, 1, 2.9, 1, 10, 10]), window=5)
    assert list(curve["median"]) == [1, 1, 1, 1, 2.9, 2.9, 6.45, 10]
    assert list(curve["spike"]) == [False, False, True, *[False] * 3, False, False]


def test_a_norm_that_is_not_finite_is_a_spike_and_not_in_the_median(trained, tmp_path):
    curve = gradient_curve(with_norms(trained[0], tmp_path, [1, math.inf, math.nan, 1, 1]), window=3)
    assert list(curve["spike"]) == [False, True, True, False, False]
    assert list(curve["median"]) == [1] * 5


def test_spikes_are_counted_in_equal_parts():
    spikes = [True, False, False, True, True, False, False, False]
    curve = pd.DataFrame({"run": "a", "step": range(1, 9), "norm": 2.0, "spike": spikes})
    counts = spike_counts(curve, parts=2)
    assert counts[["part", "first_step", "last_step", "updates", "spikes"]].to_numpy().tolist() == [
        [1, 1, 4, 4, 2],
        [2, 5, 8, 4, 1],
    ]
    assert counts["per_thousand"].tolist() == [500, 250]


def test_quantiles_of_the_gradient_are_those_of_its_norms_by_hand(trained, tmp_path):
    run = with_norms(trained[0], tmp_path, [9.0, 4.0, 1.0, 3.0, 2.0, 5.0])
    frame = gradient_quantiles(run, first=2, quantiles=(0.0, 0.5, 1.0))
    assert frame["norm"].tolist() == [1, 3, 5]
    assert frame["quantile"].tolist() == [0, 0.5, 1]
    weights, _ = run.checkpoints.weights("best")
    count = sum(weight.numel() for weight in weights.values())
    assert set(frame["parameters"]) == {count}
    assert frame["component"].tolist() == pytest.approx([norm / math.sqrt(count) for norm in (1, 3, 5)])


def test_a_norm_that_is_not_finite_is_the_largest(trained, tmp_path):
    run = with_norms(trained[0], tmp_path, [1.0, math.nan, 2.0, math.inf])
    assert gradient_quantiles(run, quantiles=(0.0, 0.4, 0.99, 1.0))["norm"].tolist() == [1, 2, math.inf, math.inf]


def test_a_run_without_gradients_has_no_quantiles(trained, tmp_path):
    assert gradient_quantiles(with_norms(trained[0], tmp_path, [1.0]), first=2).empty


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
    (crosses,) = [trace for trace in figure.data if trace.mode == "markers"]
    assert list(crosses.x) == [4, 7002]
    assert all(len(line.x) <= 2000 for line in figure.data if line.mode == "lines")


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


def test_the_best_evaluation(trained):
    run, _ = trained
    assert DEV_CURVE.view(run).frame[["step", "bleu"]].to_numpy().tolist() == [
        [run.checkpoints.best_step, dev_curve(run)["bleu"].max()]
    ]


def test_spikes_by_quarter(trained):
    run, _ = trained
    assert GRADIENT_CURVE.view(run).frame["updates"].sum() == len(run.log.gradient_norms())
