"""Numbers from inside a Transformer: learned g, and the gradient on its way down."""

import math

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.dynamics.depth import G_SLOPES, g_by_depth, g_trends
from nmtlab.analysis.dynamics.signals import ENOUGH, signals
from nmtlab.analysis.metrics import find_metric, value_of
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

CONVERGED = find_metric("converged")
CROSS_SLOPE = find_metric("g-slope-cross-attention")
GRADIENT_COMPONENT = find_metric("gradient-component")
GRADIENT_NOISE = find_metric("gradient-noise")
GRADIENT_NORM = find_metric("gradient-norm")
LATE_G = find_metric("g-late-decoder")
OUTPUT_G = find_metric("g-output")


@pytest.fixture(scope="module")
def run(zoo, tmp_path_factory):
    return zoo.copy("scale", Workspace(tmp_path_factory.mktemp("inside")), "scale")


def test_trends_of_g_are_those_of_the_analysis(run, tiny_corpus):
    found = g_trends(g_by_depth(run))
    assert {
        trend.key: value_of(trend, run, tiny_corpus) for trend in (*G_SLOPES, CROSS_SLOPE, LATE_G, OUTPUT_G)
    } == found


def test_the_size_and_the_noise_of_the_gradient_are_those_of_its_log(run, tiny_corpus):
    logged = run.log.gradient_norms()
    norms = logged["norm"].to_numpy()
    after = np.sort(norms[run.recipe.training.warmup_updates :])
    median = value_of(GRADIENT_NORM, run, tiny_corpus)
    assert median == after[(len(after) - 1) // 2]
    parameters = sum(weights.numel() for weights in run.checkpoints.weights()[0].values())
    assert value_of(GRADIENT_COMPONENT, run, tiny_corpus) == pytest.approx(
        1000 * median / math.sqrt(parameters), rel=0.01
    )
    without = Run(run.folder)
    vars(without)["recipe"] = run.recipe.with_changes({"training.schedule": "no-warmup"})
    assert value_of(GRADIENT_NORM, without, tiny_corpus) == np.sort(norms)[(len(norms) - 1) // 2]
    around = [np.median(norms[max(0, at - 50) : at + 51]) for at in range(len(norms))]
    late = (norms / around)[-len(norms) // 4 :]
    assert value_of(GRADIENT_NOISE, run, tiny_corpus) == pytest.approx(np.quantile(late, 0.99))


@pytest.mark.parametrize(
    ("verdict", "value"), [("converged", 1), ("plateaued", 0), ("diverged", 0), ("too early", None)]
)
def test_converged_is_what_convergence_says(run, tiny_corpus, monkeypatch, verdict, value):
    monkeypatch.setattr(
        "nmtlab.analysis.dynamics.convergence.convergence", lambda runs: pd.DataFrame({"verdict": [verdict]})
    )
    found = value_of(CONVERGED, run, tiny_corpus)
    assert math.isnan(found) if value is None else found == value


@pytest.mark.parametrize(("trained", "when"), [(True, ""), (False, "-untrained")])
def test_what_is_left_of_the_gradient_is_the_first_norms_to_the_last_ones_of_a_side(run, tiny_corpus, trained, when):
    found = signals(run, tiny_corpus, update=run.checkpoints.last_step if trained else 0, sample=ENOUGH)
    for side in ("encoder", "decoder"):
        left = find_metric(f"gradient-ratio-{side}{when}")
        gradients = found[found["side"] == side].set_index("place")["gradient"]
        expected = math.log10(gradients[1] / gradients[gradients.index.max()])
        assert value_of(left, run, tiny_corpus) == pytest.approx(expected)
