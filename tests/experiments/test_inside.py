"""Numbers from inside a Transformer: learned g, and the gradient on its way down."""

import math

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.dynamics.depth import g_trends
from nmtlab.analysis.dynamics.signals import ENOUGH, signals
from nmtlab.experiments.measures.quality import (
    CONVERGED,
    CROSS_SLOPE,
    FIRST_GRADIENT_LEFT,
    G_SLOPES,
    GRADIENT_COMPONENT,
    GRADIENT_LEFT,
    GRADIENT_NOISE,
    GRADIENT_NORM,
    LATE_G,
    OUTPUT_G,
)
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def run(zoo, tmp_path_factory):
    return zoo.copy("scale", Workspace(tmp_path_factory.mktemp("inside")), "scale")


def test_trends_of_g_are_those_of_the_analysis(run, tiny_corpus):
    found = g_trends(run)
    assert {trend.name: trend.value(run, tiny_corpus) for trend in (*G_SLOPES, CROSS_SLOPE, LATE_G, OUTPUT_G)} == found


def test_the_size_and_the_noise_of_the_gradient_are_those_of_its_log(run, tiny_corpus):
    logged = run.log.gradient_norms()
    norms = logged["norm"].to_numpy()
    after = np.sort(norms[run.recipe.training.warmup_updates :])
    median = GRADIENT_NORM.value(run, tiny_corpus)
    assert median == after[(len(after) - 1) // 2]
    parameters = sum(weights.numel() for weights in run.checkpoints.weights()[0].values())
    assert GRADIENT_COMPONENT.value(run, tiny_corpus) == pytest.approx(1000 * median / math.sqrt(parameters), rel=0.01)
    without = Run(run.folder)
    vars(without)["recipe"] = run.recipe.with_changes({"training.schedule": "no-warmup"})
    assert GRADIENT_NORM.value(without, tiny_corpus) == np.sort(norms)[(len(norms) - 1) // 2]
    around = [np.median(norms[max(0, at - 50) : at + 51]) for at in range(len(norms))]
    late = (norms / around)[-len(norms) // 4 :]
    assert GRADIENT_NOISE.value(run, tiny_corpus) == pytest.approx(np.quantile(late, 0.99))


@pytest.mark.parametrize(
    ("verdict", "value"), [("converged", 1), ("plateaued", 0), ("diverged", 0), ("too early", None)]
)
def test_converged_is_what_convergence_says(run, tiny_corpus, monkeypatch, verdict, value):
    monkeypatch.setattr(
        "nmtlab.experiments.measures.quality.convergence", lambda runs: pd.DataFrame({"verdict": [verdict]})
    )
    found = CONVERGED.value(run, tiny_corpus)
    assert math.isnan(found) if value is None else found == value


@pytest.mark.parametrize(("measures", "trained"), [(GRADIENT_LEFT, True), (FIRST_GRADIENT_LEFT, False)])
def test_what_is_left_of_the_gradient_is_the_first_norms_to_the_last_ones_of_a_side(
    run, tiny_corpus, measures, trained
):
    found = signals(run, tiny_corpus, update=run.checkpoints.last_step if trained else 0, sample=ENOUGH)
    for left in measures:
        gradients = found[found["side"] == left.side].set_index("place")["gradient"]
        expected = math.log10(gradients[1] / gradients[gradients.index.max()])
        assert left.value(run, tiny_corpus) == pytest.approx(expected)
