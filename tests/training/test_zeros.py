"""A pruned run that is trained again, with the zeros of its matrices."""

import re
import shutil

import pytest
import torch
from support.weights import same_weights
from torch import nn

from nmtlab.errors import NmtlabError
from nmtlab.recipe import Recipe, named_recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.anchors import Zeros
from nmtlab.training.derived import prune_run
from nmtlab.training.events import Hint
from nmtlab.training.setup import train
from nmtlab.training.transfer import continued_recipe
from nmtlab.workspace import Workspace

KEPT = {"transfer.keep_zeros": True}


@pytest.fixture(scope="module")
def here(tmp_path_factory, tiny_corpus, tiny_recipe) -> Workspace:
    """A workspace with a corpus `tiny`, a run of it, and the pruned run `light`."""
    workspace = Workspace(tmp_path_factory.mktemp("zeros") / "data")
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora/tiny")
    whole = train("whole", tiny_recipe.with_changes({"training.max_evaluations": 1}), opened(workspace), workspace)
    prune_run(whole, workspace.run_folder("light"), 0.4)
    return workspace


def opened(workspace: Workspace) -> ParallelCorpus:
    return ParallelCorpus.open(workspace.data / "corpora/tiny")


def recipe_from(here: Workspace, changes: dict) -> Recipe:
    short = {
        "training.validate_every": 10, "training.max_evaluations": 2, "training.batch_tokens": 400,
        "training.learning_rate": 1e-3, "machine.threads": 1, "machine.device": "cpu",
    }  # fmt: skip
    return continued_recipe(Run(here.runs / "light"), named_recipe("fine-tune")).with_changes(short | changes)


def matrices(run: Run) -> dict[str, torch.Tensor]:
    return {name: one for name, one in run.checkpoints.weights()[0].items() if one.dim() > 1}


@pytest.mark.full
@pytest.mark.parametrize("kept", [True, False])
def test_the_zeros_stay_only_if_they_are_kept_and_the_other_values_learn(here, kept):
    before = matrices(Run(here.runs / "light"))
    after = matrices(train(f"again-{kept}", recipe_from(here, KEPT if kept else {}), opened(here), here))
    zeros = {name: one == 0 for name, one in before.items()}
    assert all((after[name][some] == 0).all() for name, some in zeros.items()) == kept
    changed = sum((after[name] != one).sum() for name, one in before.items())
    assert changed > 0.3 * sum(one.numel() for one in before.values())


@pytest.mark.full
def test_a_parent_without_zeros_is_named(here):
    hints = []
    recipe = continued_recipe(Run(here.runs / "whole"), named_recipe("fine-tune")).with_changes(KEPT)
    train("none", recipe, opened(here), here, on_event=hints.append, should_stop=lambda: True)
    assert Hint("whole has no zeros that transfer.keep_zeros could keep") in hints


@pytest.mark.full
def test_an_interrupted_training_goes_on_exactly(here):
    recipe, steps = recipe_from(here, KEPT), iter(range(100))
    whole = train("at-once", recipe, opened(here), here)
    train("stopped", recipe, opened(here), here, should_stop=lambda: next(steps) == 13)
    assert same_weights(train("stopped", recipe, opened(here), here, resume=True), whole)


def test_neither_vectors_nor_a_matrix_of_zeros_alone_are_held():
    values = {"pruned": [[0.0, 2.0]], "drawn": [[0.0, 0.0]], "bias": [0.0, 1.0]}
    parameters = {name: nn.Parameter(torch.tensor(of)) for name, of in values.items()}
    for parameter in parameters.values():
        parameter.grad = torch.ones_like(parameter)
    Zeros(parameters).hold()
    gradients = {name: parameter.grad.tolist() for name, parameter in parameters.items()}
    assert gradients == {"pruned": [[0.0, 1.0]], "drawn": [[1.0, 1.0]], "bias": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (KEPT, "transfer.keep_zeros needs a run to go on from; name it with --from"),
        (
            {**KEPT, "transfer.continued": True, "transfer.keep_optimiser": True},
            "transfer.keep_zeros: a kept optimiser moves what was 0; set transfer.keep_optimiser=false",
        ),
        ({**KEPT, "transfer.continued": True, "model.lora_rank": 2}, "transfer.keep_zeros is of a parent's weights"),
    ],
)
def test_a_recipe_whose_zeros_cannot_be_kept_is_refused(tiny_recipe, changes, message):
    with pytest.raises(NmtlabError, match=re.escape(message)):
        tiny_recipe.with_changes(changes)
