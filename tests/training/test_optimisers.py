"""Optimisers against their formulas, computed by hand in float64."""

import math

import numpy as np
import pytest
import torch

from nmtlab.recipe import TrainingSettings
from nmtlab.runs.run import Run
from nmtlab.training.optimisers import load_moments, moments, optimiser_for
from nmtlab.training.setup import train

START = np.random.default_rng(1).normal(size=(3, 4))
GRADIENTS = np.random.default_rng(2).normal(size=(5, 3, 4))


def after_updates(rate: float, **settings) -> np.ndarray:
    """Return START after an update with each of the gradients."""
    weights = torch.nn.Parameter(torch.from_numpy(START.copy()))
    optimiser, _ = optimiser_for(TrainingSettings(**settings), [weights])
    optimiser.param_groups[0]["lr"] = rate
    for gradient in GRADIENTS:
        weights.grad = torch.from_numpy(gradient.copy())
        optimiser.step()
    return weights.detach().numpy()


@pytest.mark.parametrize(
    ("settings", "decay"),
    [({"optimiser": "adam"}, 0.0), ({"optimiser": "adamw", "weight_decay": 0.01}, 0.01)],
)
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.8, 0.98), (0.0, 0.5)])
def test_adam_and_adamw_are_algorithm_2_of_loshchilov_and_hutter(settings, decay, betas):
    rate, weights, mean, square = 0.05, START.copy(), np.zeros_like(START), np.zeros_like(START)
    for t, gradient in enumerate(GRADIENTS, start=1):
        mean = betas[0] * mean + (1 - betas[0]) * gradient
        square = betas[1] * square + (1 - betas[1]) * gradient**2
        step = mean / (1 - betas[0] ** t) / (np.sqrt(square / (1 - betas[1] ** t)) + 1e-8)
        weights = weights - rate * (step + decay * weights)
    found = after_updates(rate, **settings, adam_beta1=betas[0], adam_beta2=betas[1])
    np.testing.assert_allclose(found, weights, rtol=1e-12)


def test_sgd_follows_the_gradient():
    np.testing.assert_allclose(after_updates(0.05, optimiser="sgd"), START - 0.05 * GRADIENTS.sum(0), rtol=1e-12)


def test_nesterovs_momentum_looks_one_step_ahead():
    """v = 0.99 v + g, w = w - rate (g + 0.99 v), in a loop."""
    expected, velocity = START.copy(), 0.0
    for gradient in GRADIENTS:
        velocity = 0.99 * velocity + gradient
        expected = expected - 0.05 * (gradient + 0.99 * velocity)
    np.testing.assert_allclose(after_updates(0.05, optimiser="nesterov"), expected, rtol=1e-12)


def test_of_nesterovs_momentum_only_velocities_are_saved_and_of_adam_numbers_of_updates_that_differ():
    for name, saved in (("nesterov", set()), ("adam", {"step.unused"})):
        parameters = {one: torch.nn.Parameter(torch.from_numpy(START.copy())) for one in ("used", "unused")}
        optimiser, kept = optimiser_for(TrainingSettings(optimiser=name), parameters.values())
        optimiser.param_groups[0]["lr"] = 0.05
        parameters["used"].grad = torch.from_numpy(GRADIENTS[0].copy())
        optimiser.step()
        tensors = moments(optimiser, parameters, kept, 1)
        assert tensors.keys() == {f"{key}.{one}" for key in kept for one in parameters} | saved
        load_moments(optimiser, parameters, kept, tensors, 1)
        assert moments(optimiser, parameters, kept, 1).keys() == tensors.keys()
        for one in parameters.values():
            one.grad = torch.from_numpy(GRADIENTS[1].copy())
        optimiser.step()


def weights(run: Run) -> dict[str, torch.Tensor]:
    return run.checkpoints.weights("last")[0]


def same(one: Run, other: Run) -> bool:
    return all(torch.equal(weights(one)[name], value) for name, value in weights(other).items())


@pytest.mark.full
def test_adamw_without_decay_is_adam_bit_for_bit(tiny_corpus, tiny_recipe, workspace):
    recipe = tiny_recipe.with_changes({"training.max_evaluations": 1})  # after 20 updates
    adam = train("adam", recipe, tiny_corpus, workspace)
    adamw = train("adamw", recipe.with_changes({"training.optimiser": "adamw"}), tiny_corpus, workspace)
    decayed = recipe.with_changes({"training.optimiser": "adamw", "training.weight_decay": 0.1})
    assert same(adamw, adam)
    assert not same(train("decayed", decayed, tiny_corpus, workspace), adam)


def test_an_update_of_sgd_has_the_length_of_the_clipped_gradient(tiny_corpus, tiny_recipe, workspace):
    changes = {"training.optimiser": "sgd", "training.schedule": "constant", "training.learning_rate": 0.1,
               "training.clip_norm": 0.01, "training.validate_every": 1}  # fmt: skip
    recipes = [tiny_recipe.with_changes({**changes, "training.max_evaluations": updates}) for updates in (1, 2)]
    one, two = (weights(train(f"sgd{n}", recipe, tiny_corpus, workspace)) for n, recipe in enumerate(recipes))
    moved = math.sqrt(sum((two[name].double() - one[name].double()).square().sum().item() for name in one))
    assert moved == pytest.approx(0.1 * 0.01, rel=1e-3)


@pytest.mark.full
@pytest.mark.parametrize("changes", [
    {"training.optimiser": "adamw", "training.weight_decay": 0.1, "training.adam_beta2": 0.98},
    {"training.optimiser": "sgd", "training.schedule": "constant", "training.learning_rate": 0.1},
    {"training.optimiser": "nesterov", "training.schedule": "constant", "training.learning_rate": 0.01},
], ids=["adamw", "sgd", "nesterov"])  # fmt: skip
def test_a_stopped_training_resumes_exactly(changes, tiny_corpus, tiny_recipe, workspace):
    recipe = tiny_recipe.with_changes({**changes, "training.max_evaluations": 1})
    whole = train("whole", recipe, tiny_corpus, workspace)
    steps = iter(range(100))
    train("stopped", recipe, tiny_corpus, workspace, should_stop=lambda: next(steps) == 13)
    assert same(train("stopped", recipe, tiny_corpus, workspace, resume=True), whole)
