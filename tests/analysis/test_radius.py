"""Training perplexity in the last epoch."""

import math

import pytest
from support.hand_made_model import hand_made_pipeline

from nmtlab.analysis.dynamics.convergence import last_perplexity
from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter


@pytest.fixture
def run(tmp_path) -> Run:
    recipe = Recipe().with_changes({"model.family": "rnn", "model.fixnorm": True})
    return Run.create(tmp_path / "run", recipe, {}, hand_made_pipeline({"a": 1}, {"A": 1}))


def test_it_is_the_geometric_mean_since_the_evaluation_before_the_last_weighted_by_updates(run):
    for step, perplexity in ((100, 90.0), (200, 8.0), (300, 4.0), (350, 16.0)):
        RunWriter(run).log("train", step, loss=1.0, perplexity=perplexity, seconds=1.0)
    for step in (100, 200, 350):
        RunWriter(run).log("validation", step, bleu=3.0, perplexity=9.0, seconds=1.0)
    assert last_perplexity(run) == pytest.approx(math.exp((2 * math.log(4) + math.log(16)) / 3))


def test_before_the_second_evaluation_all_updates_count(run):
    RunWriter(run).log("train", 10, loss=1.0, perplexity=100.0, seconds=1.0)
    RunWriter(run).log("train", 20, loss=1.0, perplexity=25.0, seconds=1.0)
    RunWriter(run).log("validation", 20, bleu=0.5, seconds=1.0)
    assert last_perplexity(run) == pytest.approx(50.0)


def test_a_run_without_a_log_has_none(run):
    assert math.isnan(last_perplexity(run))
