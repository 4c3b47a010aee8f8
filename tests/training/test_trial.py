"""A short training without a run makes the updates that a training makes."""

import math

import pytest

from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.training.setup import train
from nmtlab.training.trial import short_training

CHANGES = {
    "training.schedule": "constant", "training.learning_rate": 0.01, "training.label_smoothing": 0.0,
    "training.word_dropout": 0.3, "training.accumulate": 2, "training.clip_norm": 0.5, "training.batch_sentences": 10,
    "training.validate_every": 1, "training.max_evaluations": 3,
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("more", [{}, {"training.loss_reduction": "sum"}, {"machine.precision": "bf16"}])
def test_its_losses_and_first_gradient_are_those_of_a_run(tiny_corpus, tiny_recipe, workspace, more):
    recipe = tiny_recipe.with_changes({**CHANGES, **more})
    run = train("run", recipe, tiny_corpus, workspace)
    mixture = Mixture([EncodedCorpus.open(workspace.cache, run.pipeline, tiny_corpus)])
    trial = short_training(recipe, run.pipeline, mixture, [], rate=0.01, updates=3)
    logged = run.log.metrics("train")["perplexity"]
    assert trial.losses == pytest.approx([math.log(perplexity) for perplexity in logged], rel=1e-6)
    assert trial.first_gradient == pytest.approx(run.log.gradient_norms()["norm"][0], rel=1e-6)
