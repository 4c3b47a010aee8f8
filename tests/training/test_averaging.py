"""Averages of weights against torch's, and a training that evaluates and keeps them."""

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from nmtlab.errors import RunError
from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.training.averaging import MovingAverage
from nmtlab.training.derived import average_checkpoints, mean_weights
from nmtlab.training.setup import train
from nmtlab.training.validation import text_perplexity

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

AVERAGED = {"training.average": 1e-2, "training.keep_checkpoints": 2}


def walk(updates: int = 30):
    """Yield a layer after each of some random updates."""
    torch.manual_seed(1)
    layer = nn.Linear(3, 2).double()
    for _ in range(updates):
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.add_(torch.randn_like(parameter))
        yield layer


@pytest.mark.parametrize("weight", [0.5, 0.1, 1e-4])
def test_a_moving_average_is_that_of_torch_with_the_decay_of_marian(weight):
    def mean(average, parameter, updates):
        decay = min(1 - weight, (updates + 2) / (updates + 11))  # so many updates came before this one
        return decay * average + (1 - decay) * parameter

    average, oracle = None, None
    for step, layer in enumerate(walk(), start=1):
        average = average or MovingAverage(dict(layer.named_parameters()), weight)
        oracle = oracle or AveragedModel(layer, avg_fn=mean)
        average.update(step)
        oracle.update_parameters(layer)
    for name, expected in oracle.module.named_parameters():
        torch.testing.assert_close(average.averages[name], expected.detach())
        assert not torch.allclose(layer.get_parameter(name), expected)


def test_the_mean_of_checkpoints_is_that_of_torch_and_of_one_is_itself():
    checkpoints, oracle = [], None
    for layer in walk(4):
        oracle = oracle or AveragedModel(layer)
        oracle.update_parameters(layer)
        checkpoints.append({name: parameter.detach().clone() for name, parameter in layer.named_parameters()})
    mean = mean_weights(checkpoints)
    for name, expected in oracle.module.named_parameters():
        torch.testing.assert_close(mean[name], expected.detach())
    one = {name: value.float() for name, value in checkpoints[0].items()}
    assert all(torch.equal(value, one[name]) for name, value in mean_weights([one]).items())


def test_parameters_have_their_own_values_again_whatever_happened():
    average, layer = None, None
    for step, layer in enumerate(walk(3), start=1):
        average = average or MovingAverage(dict(layer.named_parameters()), 0.1)
        average.update(step)
    own = layer.weight.detach().clone()
    with average.in_use():
        assert torch.equal(layer.weight, average.averages["weight"])
    assert torch.equal(layer.weight, own)
    with pytest.raises(KeyError), average.in_use():
        raise KeyError
    assert torch.equal(layer.weight, own)


@pytest.fixture(scope="module")
def recipe(tiny_recipe) -> Recipe:
    return tiny_recipe.with_changes({**AVERAGED, "training.validate_every": 10, "training.max_evaluations": 4})


@pytest.fixture(scope="module")
def averaged(tiny_corpus, recipe, tmp_path_factory) -> Run:
    from nmtlab.workspace import Workspace

    return train("averaged", recipe, tiny_corpus, Workspace(tmp_path_factory.mktemp("averaged")))


def same(one: dict, other: dict) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], value) for name, value in other.items())


def test_the_average_is_what_is_scored_and_kept_and_training_goes_on_without_it(
    averaged, tiny_corpus, recipe, workspace
):
    plain = train("plain", recipe.with_changes({"training.average": 0.0}), tiny_corpus, workspace)
    assert same(averaged.checkpoints.weights("last")[0], plain.checkpoints.weights("last")[0])
    best, facts = averaged.checkpoints.weights("best")
    assert not same(best, plain.checkpoints.weights("best")[0])
    system = open_model(averaged)
    found, _ = text_perplexity(
        system.model, system.pipeline, list(tiny_corpus.lines("dev", "de")), list(tiny_corpus.lines("dev", "en"))
    )
    logged = averaged.log.metrics("validation").set_index("step")["perplexity"]
    assert found == pytest.approx(logged[facts["step"]], rel=1e-4)


def test_the_last_evaluated_checkpoints_are_kept(averaged, tiny_corpus, recipe, workspace):
    assert list(averaged.checkpoints.kept) == [30, 40]
    if (best := averaged.checkpoints.best_step) in (30, 40):
        assert same(averaged.checkpoints.kept_weights(best), averaged.checkpoints.weights()[0])
    plain = recipe.with_changes({"training.average": 0.0})
    run = train("plain", plain, tiny_corpus, workspace)
    assert same(run.checkpoints.kept_weights(40), run.checkpoints.weights("last")[0])


@pytest.mark.parametrize("stop", [5, 17, 30])
def test_a_stopped_training_resumes_with_the_same_averages(stop, averaged, tiny_corpus, recipe, workspace):
    steps = iter(range(100))
    train("stopped", recipe, tiny_corpus, workspace, should_stop=lambda: next(steps) == stop)
    stopped = train("stopped", recipe, tiny_corpus, workspace, resume=True)
    columns = ["step", "bleu", "perplexity"]
    assert stopped.log.metrics("validation")[columns].equals(averaged.log.metrics("validation")[columns])
    for which in ("best", "last"):
        assert same(stopped.checkpoints.weights(which)[0], averaged.checkpoints.weights(which)[0])
    assert list(stopped.checkpoints.kept) == [30, 40]
    assert same(stopped.checkpoints.kept_weights(30), averaged.checkpoints.kept_weights(30))


def test_the_mean_of_one_kept_checkpoint_is_that_checkpoint(averaged, tmp_path):
    run = average_checkpoints(averaged, tmp_path / "one", last=1)
    assert same(run.checkpoints.weights()[0], averaged.checkpoints.kept_weights(40))
    both = average_checkpoints(averaged, tmp_path / "both")
    expected = mean_weights([averaged.checkpoints.kept_weights(step) for step in (30, 40)])
    assert same(both.checkpoints.weights()[0], expected)
    end = both.log.metrics("end").iloc[0]
    assert (end["status"], end["step"], end["mean_of"]["steps"]) == ("finished", 40, [30, 40])
    with pytest.raises(RunError, match="2 kept checkpoints, not 3; choose a lower --last"):
        average_checkpoints(averaged, tmp_path / "three", last=3)
