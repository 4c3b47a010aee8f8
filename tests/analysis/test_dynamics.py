"""Curves of a training: as they were logged, and spikes by hand."""

import math
import shutil

import pandas as pd
import pytest

from nmtlab.analysis.dynamics.curves import dev_curve, gradient_curve, gradient_quantiles, spike_counts
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
    logged, curve = run.metrics("validation"), dev_curve(run)
    assert len(curve)
    for name in ("step", "bleu", "perplexity"):
        assert list(curve[name]) == list(logged[name])
    assert list(curve["minutes"]) == pytest.approx(list(logged["seconds"] / 60))
    assert curve.loc[curve["best"], "step"].tolist() == [run.best_step]


def test_a_run_that_was_never_evaluated_has_an_empty_curve(trained, tmp_path):
    assert dev_curve(with_norms(trained[0], tmp_path, [1.0])).empty


def test_every_update_has_its_gradient_norm(trained):
    run, _ = trained
    curve = gradient_curve(run)
    assert list(curve["step"]) == list(range(1, run.metrics("end")["step"].iloc[-1] + 1))
    assert list(curve["norm"]) == list(run.gradient_norms()["norm"])


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
    weights, _ = run.weights("best")
    count = sum(weight.numel() for weight in weights.values())
    assert set(frame["parameters"]) == {count}
    assert frame["component"].tolist() == pytest.approx([norm / math.sqrt(count) for norm in (1, 3, 5)])


def test_a_norm_that_is_not_finite_is_the_largest(trained, tmp_path):
    run = with_norms(trained[0], tmp_path, [1.0, math.nan, 2.0, math.inf])
    assert gradient_quantiles(run, quantiles=(0.0, 0.4, 0.99, 1.0))["norm"].tolist() == [1, 2, math.inf, math.inf]


def test_a_run_without_gradients_has_no_quantiles(trained, tmp_path):
    assert gradient_quantiles(with_norms(trained[0], tmp_path, [1.0]), first=2).empty
