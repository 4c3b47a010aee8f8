"""How far a training is, against its own log."""

import shutil

import pytest

from nmtlab.analysis.dynamics.convergence import training_progress
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter


@pytest.fixture
def half(trained, tmp_path):
    """A run after its second evaluation."""
    run = Run(shutil.copytree(trained[0].folder, tmp_path / "half"))
    RunWriter(run).truncate_after(int(run.log.metrics("validation")["step"].iloc[1]))
    return run


def test_progress_is_that_of_the_log(half):
    progress = training_progress(half)
    logged, settings = half.log.metrics("train").iloc[-1], half.recipe.training
    scores = half.log.metrics("validation")["bleu"].tolist()
    assert progress.step == logged["step"] == 2 * settings.validate_every
    assert progress.updates == settings.validate_every * settings.max_evaluations
    assert (progress.rate, progress.bleu, progress.best) == (logged["rate"], scores[-1], max(scores))
    assert progress.seconds_left == pytest.approx(logged["seconds"] * (progress.updates / progress.step - 1))


def test_before_the_first_update_there_is_none_and_before_the_first_evaluation_no_score(half):
    RunWriter(half).truncate_after(int(half.log.metrics("train")["step"].iloc[0]))
    progress = training_progress(half)
    assert progress.step > 0
    assert progress.bleu is progress.best is None
    RunWriter(half).truncate_after(0)
    assert training_progress(half) is None
