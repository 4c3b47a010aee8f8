"""Trainings with private parts: resumed exactly, and adapters on a frozen parent."""

import shutil

import pytest
import torch

from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

SHARES = {f"model.{part}_share": 0.5 for part in ("embedding", "attention", "feed_forward")}
TEXT = {"text.segmentation": "bpe", "text.vocabulary_size": 100}
FROZEN = {
    f"transfer.{part}": "freeze" for part in ("source_embedding", "encoder", "decoder", "target_embedding", "output")
}


@pytest.fixture
def corpus(workspace: Workspace, make_corpus) -> ParallelCorpus:
    (workspace.data / "corpora").mkdir(parents=True)
    shutil.copytree(make_corpus(), workspace.data / "corpora/tiny")
    return ParallelCorpus.open(workspace.data / "corpora/tiny", "de", "en")


@pytest.fixture
def recipe(tiny_recipe):
    reverse = {"name": "tiny", "source": "en", "target": "de"}
    return tiny_recipe.with_changes({**TEXT, "training.max_evaluations": 1, "more_corpora": [reverse]})


def weights(run: Run, which: str = "last") -> dict[str, torch.Tensor]:
    return run.checkpoints.weights(which)[0]


@pytest.mark.full
def test_a_training_resumes_exactly_although_a_language_has_not_been_used_yet(corpus, recipe, workspace):
    private = recipe.with_changes({**SHARES, "model.adapter_width": 4})
    whole = train("whole", private, corpus, workspace)
    polls = iter([False, True])
    train("cut", private, corpus, workspace, should_stop=lambda: next(polls))
    cut = Run(workspace.run_folder("cut"))
    moments, facts = cut.checkpoints.optimiser(1)
    steps = {name: value.item() for name, value in moments.items() if name.startswith("step.")}
    assert facts["step"] == 1
    assert steps
    assert set(steps.values()) == {0.0}
    assert all(moments[f"exp_avg.{name.removeprefix('step.')}"].eq(0).all() for name in steps)

    train("cut", private, corpus, workspace, resume=True)

    assert cut.log.metrics("train")["loss"].tolist() == whole.log.metrics("train")["loss"].tolist()
    ours, theirs = weights(cut), weights(whole)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_adapters_on_a_frozen_parent_are_all_that_moves(corpus, recipe, workspace):
    parent = train("parent", recipe, corpus, workspace)
    adapters = {"model.adapter_width": 4, "transfer.parent": "parent", **FROZEN}
    child = train("child", recipe.with_changes(adapters), corpus, workspace)
    before, after = weights(parent, "best"), weights(child)
    assert all(torch.equal(after[name], values) for name, values in before.items())
    moved = {name for name in after.keys() - before.keys() if after[name].ne(0).any() and name.endswith("up.weight")}
    assert len(moved) == 2 * (recipe.model.encoder_layers + recipe.model.decoder_layers)
    uses = {one["part"]: one["use"] for one in child.inheritance["parameters"]}
    assert uses["adapters"] == "reset"
    assert uses["encoder"] == "freeze"


def test_only_adapters_may_be_trained_on_the_parents_text(corpus, recipe, workspace):
    train("parent", recipe, corpus, workspace)
    with pytest.raises(RunError, match="was trained on the child's text"):
        train("child", recipe.with_changes({"transfer.parent": "parent"}), corpus, workspace)


def test_a_part_that_the_parent_lacks_cannot_be_frozen(corpus, recipe, workspace):
    train("parent", recipe, corpus, workspace)
    changes = {
        "model.adapter_width": 4,
        "transfer.parent": "parent",
        **FROZEN,
        "transfer.adapters": "freeze",
        "transfer.output": "tune",
    }
    with pytest.raises(RunError, match="the parent lacks it"):
        train("child", recipe.with_changes(changes), corpus, workspace)
