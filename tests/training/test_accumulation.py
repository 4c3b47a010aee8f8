"""Several batches per update: the gradient is that of all their tokens, however they were split."""

import numpy as np
import pytest
import torch
from conftest import train_with_two_processes

from nmtlab.models.build import model_for
from nmtlab.models.interface import on_device
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.training.objective import training_objective
from nmtlab.training.setup import train

CHANGES = {"model.dropout": 0.0, "training.max_evaluations": 1, "training.accumulate": 3}


@pytest.fixture(scope="module")
def accumulated(tiny_corpus, tiny_recipe, tmp_path_factory):
    from nmtlab.workspace import Workspace

    workspace = Workspace(tmp_path_factory.mktemp("accumulated"))
    return train("three", tiny_recipe.with_changes(CHANGES), tiny_corpus, workspace), workspace


@pytest.mark.full
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_first_gradient_is_that_of_the_tokens_of_all_its_batches(tiny_corpus, tiny_recipe, workspace, reduction):
    recipe = tiny_recipe.with_changes({**CHANGES, "training.loss_reduction": reduction})
    run = train("three", recipe, tiny_corpus, workspace)
    encoded = EncodedCorpus.open(workspace.cache, run.pipeline, tiny_corpus)
    torch.manual_seed(recipe.training.seed)
    model = model_for(recipe, run.pipeline)
    stream = Batches(Mixture([encoded]), recipe.training.batch_tokens, recipe.training.seed).epoch(0)
    batches = [on_device(next(stream)) for _ in range(3)]
    total = sum(training_objective(model, recipe.training.label_smoothing)(batch).total for batch in batches)
    (total / (sum(batch.target_tokens for batch in batches) if reduction == "mean" else 1)).backward()
    norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in model.parameters()]).item()
    assert run.log.gradient_norms()["norm"][0] == pytest.approx(norm, rel=1e-4)


def test_an_epoch_ends_with_an_update_of_the_batches_that_are_left(tiny_corpus, tiny_recipe, workspace):
    recipe = tiny_recipe.with_changes({**CHANGES, "training.validate_every": 0, "training.max_evaluations": 2})
    run = train("passes", recipe, tiny_corpus, workspace)
    batches = Batches(
        Mixture([EncodedCorpus.open(workspace.cache, run.pipeline, tiny_corpus)]), 200, recipe.training.seed
    )
    counts = [batches.count(epoch) for epoch in (0, 1)]
    assert any(count % 3 for count in counts)
    assert run.log.metrics("validation")["step"].tolist() == list(np.cumsum([-(-count // 3) for count in counts]))


@pytest.mark.full
def test_a_training_that_accumulates_resumes_as_if_nothing_had_happened(accumulated, tiny_corpus, tiny_recipe):
    whole, workspace = accumulated
    asked = iter(range(100))
    recipe = tiny_recipe.with_changes(CHANGES)
    train("stopped", recipe, tiny_corpus, workspace, should_stop=lambda: next(asked) == 7)
    resumed = train("stopped", recipe, tiny_corpus, workspace, resume=True)
    assert resumed.log.gradient_norms().equals(whole.log.gradient_norms())
    for name in ("loss", "perplexity"):
        assert resumed.log.metrics("train")[name].tolist() == whole.log.metrics("train")[name].tolist()


@pytest.mark.full
def test_two_processes_that_accumulate_give_the_losses_of_one(accumulated, tiny_corpus):
    whole, workspace = accumulated
    two = train_with_two_processes(tiny_corpus, whole.recipe, "two", workspace)
    for name in ("loss", "perplexity", "gradient_norm"):
        np.testing.assert_allclose(two.log.metrics("train")[name], whole.log.metrics("train")[name], rtol=2e-5)
