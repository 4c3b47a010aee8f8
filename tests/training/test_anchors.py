"""What holds a continued run near its parent: the teacher's distributions, L2 and EWC."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from conftest import train_with_two_processes
from support.weights import same_weights
from torch import nn

from nmtlab.errors import NmtlabError
from nmtlab.models.build import ModelText, build_model, model_for
from nmtlab.models.interface import on_device
from nmtlab.recipe import Recipe, TransformerSettings, named_recipe
from nmtlab.runs.log import read_log
from nmtlab.runs.run import Run
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.anchors import Anchor, TuneOut, anchor_of, anchored, fisher_information
from nmtlab.training.losses import soft_cross_entropy
from nmtlab.training.objective import CrossEntropy, Objective, Taught
from nmtlab.training.parallel import Group
from nmtlab.training.setup import train
from nmtlab.training.step import Stepper
from nmtlab.training.stream import BatchStream
from nmtlab.training.transfer import child_at_start, continued_recipe
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

SHORT = {
    "training.validate_every": 10, "training.max_evaluations": 2, "training.batch_tokens": 400,
    "training.learning_rate": 1e-3, "machine.threads": 1, "machine.device": "cpu",
}  # fmt: skip
TAUGHT = {"training.teacher_weight": 0.3}
L2 = {"transfer.anchor": "l2", "transfer.anchor_weight": 0.5}
EWC = {"transfer.anchor": "ewc", "transfer.anchor_weight": 0.5}
DECAY = {"transfer.anchor": "decay", "transfer.anchor_weight": 0.01}


# The teacher's distributions


def logits_of(seed: int, gradient: bool = False) -> torch.Tensor:
    torch.manual_seed(seed)
    return torch.randn(7, 5, dtype=torch.float64, requires_grad=gradient)


def test_the_cross_entropy_with_the_teacher_is_its_entropy_and_the_divergence_from_it():
    mine, wanted = logits_of(1), logits_of(2)
    weight = torch.rand(7, dtype=torch.float64)
    p = wanted.softmax(-1)
    entropy = -(p * p.log()).sum(-1)
    divergence = F.kl_div(mine.log_softmax(-1), p, reduction="none").sum(-1)
    assert (divergence > 0).all()
    torch.testing.assert_close(soft_cross_entropy(mine, wanted) - entropy.sum(), divergence.sum())
    torch.testing.assert_close(
        soft_cross_entropy(mine, wanted, weight) - (weight * entropy).sum(), (weight * divergence).sum()
    )


def test_it_has_no_gradient_where_the_distributions_are_equal():
    mine = logits_of(1, gradient=True)
    (gradient,) = torch.autograd.grad(soft_cross_entropy(mine, mine.detach().clone()), mine)
    assert gradient.abs().max() < 1e-15
    (gradient,) = torch.autograd.grad(soft_cross_entropy(mine, logits_of(2)), mine)
    torch.testing.assert_close(gradient, mine.detach().softmax(-1) - logits_of(2).softmax(-1))


SMALL = TransformerSettings(d_model=8, d_ff=16, encoder_layers=1, decoder_layers=1, heads=2, dropout=0.0)
TEXT = ModelText(12, np.array([i not in (0, 1, 8) for i in range(12)]), joint=False)


def model_of(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return build_model(SMALL, TEXT).double().eval()


def batch() -> Batch[torch.Tensor]:
    source = np.array([[5, 7, 4, 2], [6, 8, 2, 0], [9, 2, 0, 0]])
    return on_device(batch_of(source, np.array([[9, 10, 5, 2], [11, 8, 2, 0], [2, 0, 0, 0]])))


def test_a_model_that_is_its_own_teacher_does_not_move():
    model, teacher = model_of(1), model_of(1).requires_grad_(False)
    loss = Objective(model, [Taught(0.1, teacher, 1.0)])(batch())
    assert all(gradient.abs().max() < 1e-12 for gradient in gradients(model, loss.total).values())
    loss = Objective(model, [Taught(0.1, model_of(2).requires_grad_(False), 1.0)])(batch())
    assert max(gradient.abs().max() for gradient in gradients(model, loss.total).values()) > 0.1


def gradients(model: nn.Module, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    found = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return {name: g for (name, _), g in zip(model.named_parameters(), found, strict=True) if g is not None}


@pytest.mark.parametrize("weight", [None, [1.0, 0.5, 2.0]])
def test_loss_and_gradient_are_the_mean_of_those_of_text_and_teacher(weight):
    model, teacher = model_of(1), model_of(2).requires_grad_(False)
    pairs = replace(batch(), weight=None if weight is None else torch.tensor(weight))
    parts = [Objective(model, [term])(pairs) for term in (CrossEntropy(0.1), Taught(0.1, teacher, 1.0))]
    (text, taught), loss = parts, Objective(model, [Taught(0.1, teacher, 0.25)])(pairs)
    assert loss.total.item() == pytest.approx(0.75 * text.total.item() + 0.25 * taught.total.item(), rel=1e-6)
    assert loss.terms["teacher"].item() == pytest.approx(taught.total.item(), rel=1e-6)
    assert (loss.nll.item(), loss.terms["cross_entropy"].item()) == (text.nll.item(), text.nll.item())
    wanted = {name: 0.75 * g for name, g in gradients(model, text.total).items()}
    for name, gradient in gradients(model, taught.total).items():
        wanted[name] = wanted[name] + 0.25 * gradient
    for name, gradient in gradients(model, loss.total).items():
        torch.testing.assert_close(gradient, wanted[name], rtol=1e-5, atol=1e-7, msg=name)


def test_the_gradient_with_a_teacher_is_that_of_finite_differences():
    model = model_of(1)
    objective = Objective(model, [Taught(0.1, model_of(2).requires_grad_(False), 0.4)])
    parameter = model.get_parameter("decoder.0.feed_forward.inner.weight")
    gradient = gradients(model, objective(batch()).total)["decoder.0.feed_forward.inner.weight"]
    place = np.unravel_index(int(gradient.abs().argmax()), gradient.shape)
    assert gradient[place].item() == pytest.approx(slope(lambda: objective(batch()).total, parameter, place), rel=1e-3)


def slope(value, parameter: nn.Parameter, place, step: float = 1e-3) -> float:
    found = []
    for move in (step, -step):
        with torch.no_grad():
            parameter[place] += move
            found.append(value().item())
            parameter[place] -= move
    return (found[0] - found[1]) / (2 * step)


# Anchors


@pytest.mark.parametrize("name", ["l2", "ewc", "decay"])
def test_an_anchor_pulls_by_the_gradient_of_what_it_adds_to_the_loss(name):
    torch.manual_seed(3)
    parameters = {key: nn.Parameter(torch.randn(3, 2, dtype=torch.float64)) for key in ("a", "b", "free")}
    tensors = {f"start.{key}": torch.randn(3, 2, dtype=torch.float64) for key in ("a", "b")}
    if name == "ewc":
        tensors |= {f"fisher.{key}": torch.rand(3, 2, dtype=torch.float64) for key in ("a", "b")}
    anchor = Anchor(name, 0.7, parameters)
    anchor.hold(tensors)
    parameters["a"].grad = torch.ones(3, 2, dtype=torch.float64)
    added = anchor.pull(10)
    value = sum(
        (
            tensors.get(f"fisher.{key}", 1.0)
            * (parameters[key].detach() - (name != "decay") * tensors[f"start.{key}"]) ** 2
        ).sum()
        / 2
        for key in ("a", "b")
    )
    assert added.terms[name].item() == pytest.approx(10 * value.item())
    assert added.total.item() == pytest.approx(7 * value.item())
    assert parameters["free"].grad is None
    found = {key: parameters[key].grad - (1 if key == "a" else 0) for key in ("a", "b")}
    for key, gradient in found.items():
        wanted = slope(lambda: anchor.pull(1).total, parameters[key], (1, 0))
        assert gradient[1, 0].item() == pytest.approx(wanted, rel=1e-6)


# Tune-out


def test_tune_out_leaves_out_changes_and_its_gradient_is_that_of_the_weights():
    """L = Σ θ'², θ' = θ₀ + m (θ - θ₀) / (1 - p): ∂L / ∂θ = 2 θ' m / (1 - p)."""
    torch.manual_seed(3)
    parameters = {key: nn.Parameter(torch.randn(30, 20, dtype=torch.float64)) for key in ("a", "free")}
    start, whole = torch.randn(30, 20, dtype=torch.float64), parameters["a"].detach().clone()
    tune_out = TuneOut(0.25, parameters)
    tune_out.hold({"start.a": start})
    with tune_out.applied(seed=7):
        used = parameters["a"].detach().clone()
        (parameters["a"].square().sum() + parameters["free"].sum()).backward()
    factors = (used - start) / (whole - start)
    left_out = (used - start).abs() < 1e-12
    torch.testing.assert_close(factors[~left_out], torch.full_like(factors[~left_out], 4 / 3))
    assert 0.15 < left_out.double().mean() < 0.35
    assert torch.equal(parameters["a"], whole)
    torch.testing.assert_close(parameters["a"].grad, 2 * used * factors)
    assert (parameters["free"].grad == 1).all()


def test_the_mean_over_the_masks_of_tune_out_is_the_weights():
    parameters = {"a": nn.Parameter(torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64))}
    tune_out = TuneOut(0.5, parameters)
    tune_out.hold({"start.a": torch.tensor([0.0, 1.0, 0.5], dtype=torch.float64)})
    drawn = []
    for seed in range(2000):
        with tune_out.applied(seed):
            drawn.append(parameters["a"].detach().clone())
    torch.testing.assert_close(torch.stack(drawn).mean(0), parameters["a"].detach(), rtol=0, atol=0.2)


class Toy(nn.Module):
    """p(y | x) = softmax(W x): sources and targets are single types."""

    device = torch.device("cpu")

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[0.3, -0.2], [0.1, 0.5], [-0.4, 0.2]], dtype=torch.float64))
        self.unused = nn.Parameter(torch.ones(2, dtype=torch.float64))


def test_the_fisher_information_of_a_linear_softmax_is_its_closed_form(monkeypatch):
    """∂ log p(y | x) / ∂W = (1_y - p) xᵀ."""
    xs, ys = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]], dtype=torch.float64), [0, 2, 1]

    def log_probs(model: Toy, pair: Batch[torch.Tensor]) -> torch.Tensor:
        number = int(pair.source[0, 0])
        return (model.weight @ xs[number]).log_softmax(0)[ys[number]].unsqueeze(0)

    monkeypatch.setattr("nmtlab.training.anchors.sentence_log_probs", log_probs)
    toy = Toy().train()
    pairs = [batch_of(np.array([[number]]), np.array([[number]])) for number in range(3)]
    found = fisher_information(toy, dict(toy.named_parameters()), pairs)
    p = (xs @ toy.weight.detach().T).softmax(-1)
    wanted = torch.einsum("mi,mj->ij", (F.one_hot(torch.tensor(ys), 3) - p) ** 2, xs**2) / 3
    torch.testing.assert_close(found["weight"], wanted)
    assert not found["unused"].any()
    assert toy.training


# Trainings


@pytest.fixture(scope="module")
def here(tmp_path_factory, tiny_corpus, tiny_recipe) -> Workspace:
    """A workspace with a corpus `tiny`, and a run `parent` of it."""
    workspace = Workspace(tmp_path_factory.mktemp("anchors") / "data")
    (workspace.data / "corpora").mkdir(parents=True)
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora/tiny")
    train("parent", tiny_recipe.with_changes({"training.max_evaluations": 1}), opened(workspace), workspace)
    return workspace


def opened(workspace: Workspace) -> ParallelCorpus:
    return ParallelCorpus.open(workspace.data / "corpora/tiny")


def recipe_from(here: Workspace, changes: dict, parent: str = "parent") -> Recipe:
    return continued_recipe(Run(here.runs / parent), named_recipe("fine-tune")).with_changes(SHORT | changes)


@pytest.fixture(scope="module", params=[TAUGHT, L2, EWC, DECAY], ids=["teacher", "l2", "ewc", "decay"])
def child(request, here) -> tuple[Run, dict, str]:
    name = f"child-{request.param_index}"
    return train(name, recipe_from(here, request.param), opened(here), here), request.param, name


def test_each_term_is_logged_and_the_loss_is_their_sum(child):
    run, changes, _ = child
    term = changes.get("transfer.anchor", "teacher")
    logged = run.log.metrics("train")
    assert all(terms[term] > 0 for terms in logged["terms"])
    for loss, terms in zip(logged["loss"], logged["terms"], strict=True):
        assert sum(terms.values()) == pytest.approx(loss, rel=1e-5)


def test_an_interrupted_training_goes_on_exactly(child, here):
    whole, changes, name = child
    steps = iter(range(100))
    recipe = recipe_from(here, changes)
    train(f"{name}-stopped", recipe, opened(here), here, should_stop=lambda: next(steps) == 13)
    stopped = train(f"{name}-stopped", recipe, opened(here), here, resume=True)
    assert stopped.log.gradient_norms().equals(whole.log.gradient_norms())
    assert stopped.log.metrics("train")["terms"].tolist() == whole.log.metrics("train")["terms"].tolist()
    assert same_weights(stopped, whole)


def test_a_killed_training_goes_on_exactly_and_an_anchored_one_without_its_parent(child, here, tmp_path):
    whole, changes, name = child
    recipe_from(here, changes).save(tmp_path / "recipe.toml")
    words = [sys.executable, "-m", "nmtlab", "train", "tiny", "--recipe", str(tmp_path / "recipe.toml")]
    words += ["--name", f"{name}-killed"]
    environment = {**os.environ, "NMTLAB_DATA": str(here.data), "OMP_NUM_THREADS": "1"}
    kill_after(words, environment, here.runs / f"{name}-killed", 10)
    killed = Run(here.runs / f"{name}-killed")
    assert killed.status == "interrupted"
    parent, aside = here.runs / "parent", here.data / "parent-aside"
    if "transfer.anchor" in changes:
        parent.rename(aside)
    try:
        subprocess.run([*words, "--resume"], env=environment, check=True, capture_output=True)
    finally:
        if aside.exists():
            aside.rename(parent)
    assert killed.status == "finished"
    assert killed.log.gradient_norms().equals(whole.log.gradient_norms())
    for which in ("last", "best"):
        assert killed.checkpoints.digest_of(which) is not None
        assert same_weights(killed, whole, which)


def kill_after(words: list[str], environment: dict[str, str], folder: Path, step: int) -> None:
    """Kill a training once it has logged an update."""
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline, last = time.monotonic() + 600, 0
    while time.monotonic() < deadline and process.poll() is None and last < step:
        last = max((line["step"] for line in read_log(folder / "metrics.jsonl")), default=0)
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_two_processes_and_several_batches_an_update_give_the_losses_of_one(child, here):
    _, changes, name = child
    recipe = recipe_from(
        here, {**changes, "model.dropout": 0.0, "training.accumulate": 2, "training.max_evaluations": 1}
    )
    one = train(f"{name}-one", recipe, opened(here), here)
    two = train_with_two_processes(opened(here), recipe, f"{name}-two", here)
    for column in ("loss", "gradient_norm"):
        np.testing.assert_allclose(two.log.metrics("train")[column], one.log.metrics("train")[column], rtol=2e-4)
    term = changes.get("transfer.anchor", "teacher")
    found = [[terms[term] for terms in run.log.metrics("train")["terms"]] for run in (one, two)]
    np.testing.assert_allclose(found[1], found[0], rtol=2e-3)


def test_the_anchor_of_an_update_does_not_depend_on_how_many_batches_it_has(here):
    parent = Run(here.runs / "parent")
    text = Mixture([EncodedCorpus.open(here.cache, parent.pipeline, opened(here))])
    batches = list(Batches(text, 200, seed=1).epoch(0))[:4]
    found = []
    for shared in ([[batches[0]]], [batches]):
        recipe = recipe_from(here, L2)
        model = weights_of(parent)
        anchor = anchor_of(recipe.transfer, model)
        anchor.hold({name: tensor + 0.1 for name, tensor in anchored(model, anchor.parameters).items()})
        stepper = Stepper(model, recipe, parent.pipeline, Group(), anchor=anchor)
        made = stepper.update(1, shared[0], rate=0.0)
        found.append(made.terms["l2"].item() / made.counted_tokens)
    numbers = sum(parameter.numel() for parameter in anchor.parameters.values())
    assert found == pytest.approx([0.1**2 / 2 * numbers] * 2, rel=1e-4)


def weights_of(run: Run) -> nn.Module:
    model = model_for(run.recipe, run.pipeline)
    model.load_state_dict(run.checkpoints.weights()[0], strict=False)
    return model.train()


@pytest.mark.parametrize(("strength", "moves"), [(1e-9, True), (1e9, False)])
def test_a_strong_anchor_leaves_the_parents_weights(here, strength, moves):
    """With SGD at rate 1 / λ, a step is that of Newton's method for the anchor: it ends at θ₀ but for the loss / λ."""
    parent = Run(here.runs / "parent")
    recipe = recipe_from(here, {**L2, "transfer.anchor_weight": strength, "training.optimiser": "sgd"})
    recipe = recipe.with_changes({"training.clip_norm": 1e30})
    model = weights_of(parent)
    anchor = anchor_of(recipe.transfer, model)
    anchor.hold(anchored(model, anchor.parameters))
    stepper = Stepper(model, recipe, parent.pipeline, Group(), anchor=anchor)
    text = Mixture([EncodedCorpus.open(here.cache, parent.pipeline, opened(here))])
    for step, pairs in zip(range(1, 4), Batches(text, 400, seed=1).epoch(0), strict=False):
        stepper.update(step, [pairs], rate=1e-2 if moves else 1 / strength)
    start = parent.checkpoints.weights()[0]
    moved = max((parameter - start[name]).abs().max().item() for name, parameter in model.named_parameters())
    assert (moved > 1e-4) == moves


def test_a_training_with_tune_out_goes_on_exactly_without_its_parent(here):
    recipe = recipe_from(here, {"transfer.tune_out": 0.5})
    whole = train("tunes-out", recipe, opened(here), here)
    steps = iter(range(100))
    train("tunes-out-stopped", recipe, opened(here), here, should_stop=lambda: next(steps) == 13)
    parent, aside = here.runs / "parent", here.data / "parent-aside"
    parent.rename(aside)
    try:
        stopped = train("tunes-out-stopped", recipe, opened(here), here, resume=True)
    finally:
        aside.rename(parent)
    assert same_weights(stopped, whole)
    plain = train("tunes-all", recipe_from(here, {}), opened(here), here)
    assert not same_weights(plain, whole)
    changes = {"transfer.tune_out": 0.5, "model.dropout": 0.0, "training.max_evaluations": 1}
    one = train("tunes-out-one", recipe_from(here, changes), opened(here), here)
    two = train_with_two_processes(opened(here), recipe_from(here, changes), "tunes-out-two", here)
    for column in ("loss", "gradient_norm"):
        np.testing.assert_allclose(two.log.metrics("train")[column], one.log.metrics("train")[column], rtol=2e-4)


def test_the_fisher_information_is_saved_with_the_child_and_that_of_its_parents_text(here, child):
    run, changes, _ = child
    kind = changes.get("transfer.anchor")
    assert run.checkpoints.anchor_path.exists() == (kind is not None)
    if kind is None:
        return
    tensors, parent = run.checkpoints.anchor(), Run(here.runs / "parent")
    start = parent.checkpoints.weights()[0]
    assert all(torch.equal(tensors[f"start.{name}"], weights) for name, weights in start.items())
    fishers = {name.removeprefix("fisher."): values for name, values in tensors.items() if name.startswith("fisher.")}
    assert fishers.keys() == (start.keys() if kind == "ewc" else set())
    if kind == "ewc":
        model = weights_of(parent)
        text = Mixture([EncodedCorpus.open(here.cache, parent.pipeline, opened(here))])
        pairs = Batches(text, 1, seed=1, max_sentences=1).epoch(0)
        name = "encoder.0.attention.query.weight"
        found = fisher_information(model, {name: model.get_parameter(name)}, pairs)
        torch.testing.assert_close(fishers[name], found[name])


# The parent's optimiser


def test_with_the_parents_optimiser_the_same_batches_are_an_uninterrupted_training(here, tiny_recipe):
    changes = {**SHORT, "training.schedule": "constant", "training.max_evaluations": 1, "model.dropout": 0.0}
    recipe = tiny_recipe.with_changes(changes)
    first = train("first", recipe, opened(here), here)
    kept = train("kept", recipe_from(here, {**changes, "transfer.keep_optimiser": True}, "first"), opened(here), here)
    assert kept.inheritance["weights"] == first.checkpoints.digest_of("last")
    torch.manual_seed(1)
    stepper = Stepper(model_for(recipe, first.pipeline).train(), recipe, first.pipeline, Group())
    text = Mixture([EncodedCorpus.open(here.cache, first.pipeline, opened(here))])
    for run in (first, kept):
        stream = BatchStream(Batches(text, 400, seed=1))
        for step in range(1, 11):
            stepper.update(step, stream.take(1), 1e-3)
        weights = run.checkpoints.weights("last")[0]
        assert all(torch.equal(weights[name], parameter) for name, parameter in stepper.parameters.items())
    started = dict(child_at_start(kept, first).named_parameters())
    assert all(torch.equal(started[name], value) for name, value in first.checkpoints.weights("last")[0].items())


def test_a_training_with_the_parents_optimiser_goes_on_exactly(here):
    recipe = recipe_from(here, {"transfer.keep_optimiser": True})
    whole = train("keeps", recipe, opened(here), here)
    steps = iter(range(100))
    train("keeps-stopped", recipe, opened(here), here, should_stop=lambda: next(steps) == 13)
    assert same_weights(train("keeps-stopped", recipe, opened(here), here, resume=True), whole)


# What is refused

PARTS = [f"transfer.{part}" for part in ("source_embedding", "encoder", "decoder", "target_embedding", "output")]


def refused(here: Workspace, recipe: Recipe, name: str = "refused", **more) -> str:
    with pytest.raises(NmtlabError) as error:
        train(name, recipe, opened(here), here, **more)
    assert not (here.runs / "refused").exists()
    return str(error.value)


def test_a_parent_without_a_fitting_optimiser_state_is_refused(here):
    recipe = recipe_from(here, {"transfer.keep_optimiser": True})
    sgd = recipe.with_changes({"training.optimiser": "sgd"})
    message = (
        "was trained with adam, whose state sgd cannot go on with; train the child with --set training.optimiser=adam"
    )
    assert message in refused(here, sgd)
    reset = recipe.with_changes({"transfer.encoder": "reset"})
    assert "is not that of the parameters which the child trains; leave out transfer.keep_opt" in refused(here, reset)
    path = Run(here.runs / "parent").checkpoints.optimiser_path(20)
    path.rename(path.with_suffix(".away"))
    try:
        assert "parent 'parent': has no state of its optimiser" in refused(here, recipe)
    finally:
        path.with_suffix(".away").rename(path)


def test_ewc_without_the_text_of_the_parent_is_refused(here):
    recipe = recipe_from(here, EWC)
    folder = here.data / "corpora/tiny"
    aside = folder.rename(here.data / "tiny-aside")
    try:
        with pytest.raises(NmtlabError, match=r"needs the text of 'parent', tiny: it is not here as it was; import it"):
            train("refused", recipe, ParallelCorpus.open(aside), here)
    finally:
        aside.rename(folder)


def test_a_teacher_with_other_vocabularies_is_refused(here, tiny_recipe):
    changes = {"text.segmentation": "bpe", "text.vocabulary_size": 60, **SHORT, "training.max_evaluations": 1}
    pieces = tiny_recipe.with_changes(changes)
    teacher = train("pieces", pieces, opened(here), here)
    message = refused(here, recipe_from(here, {"training.teacher": "pieces", **TAUGHT}))
    checksum = teacher.pipeline.checksum()[:8]
    assert (
        f"teacher 'pieces': has other vocabularies or text settings (checksum {checksum}) than this training" in message
    )


def test_a_run_from_scratch_learns_from_a_teacher_with_its_vocabularies(here, tiny_recipe):
    changes = {"training.teacher": "parent", **TAUGHT, "training.max_evaluations": 1}
    run = train("scratch", tiny_recipe.with_changes(changes), opened(here), here)
    assert all(terms["teacher"] > 0 for terms in run.log.metrics("train")["terms"])
    assert run.environment["teacher"] == Run(here.runs / "parent").checkpoints.digest


def test_a_run_is_not_resumed_with_another_teacher(here, tiny_recipe):
    other = train("other", tiny_recipe.with_changes({"training.max_evaluations": 1}), opened(here), here)
    recipe = recipe_from(here, {"training.teacher": "other", **TAUGHT})
    train("taught", recipe, opened(here), here, should_stop=lambda: True)
    train("again", tiny_recipe.with_changes({"training.seed": 2, "training.max_evaluations": 1}), opened(here), here)
    best = other.checkpoints.path("best")
    best.write_bytes(Run(here.runs / "again").checkpoints.path("best").read_bytes())
    assert "its teacher 'other' has other weights than when it was begun" in refused(
        here, recipe, "taught", resume=True
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training.teacher_weight": 1.5, "transfer.continued": True}, "less than or equal to 1"),
        ({"training.teacher_weight": -0.1}, "greater than or equal to 0"),
        ({"training.teacher_weight": 0.1}, "training.teacher_weight needs a teacher"),
        ({"training.teacher": "some"}, "training.teacher is named, but training.teacher_weight is 0"),
        ({"training.teacher_temperature": 2.0}, "training.teacher_temperature is set, but training.teacher_weight is"),
        ({"training.teacher_temperature": 0.0}, "greater than or equal to 0.01"),
        (L2, "transfer.anchor needs a run to go on from; name it with --from"),
        ({"transfer.tune_out": 0.2}, "transfer.tune_out needs a run to go on from; name it with --from"),
        ({"transfer.tune_out": 1.0, "transfer.continued": True}, "less than 1"),
        ({"transfer.keep_optimiser": True}, "transfer.keep_optimiser needs a run to go on from"),
        ({**EWC, "transfer.continued": True, "model.lora_rank": 2}, "transfer.anchor is of a parent's weights"),
        ({"transfer.anchor": "l3"}, "'none', 'l2', 'ewc' or 'decay'"),
        ({"transfer.anchor_weight": 5.0}, "transfer.anchor_weight is set, but transfer.anchor is none"),
        ({**L2, "transfer.continued": True, "transfer.add_letters": True}, "nothing of what transfer.add_letters adds"),
        (
            {"training.teacher_weight": 0.1, "transfer.continued": True, "transfer.add_letters": True},
            "training.teacher_weight knows nothing of what transfer.add_letters adds",
        ),
        ({**L2, "transfer.continued": True, **dict.fromkeys(PARTS, "freeze")}, "of the parent, which is nothing"),
    ],
)
def test_a_recipe_that_lacks_what_an_anchor_needs_is_refused(tiny_recipe, changes, message):
    with pytest.raises(NmtlabError, match=re.escape(message)):
        tiny_recipe.with_changes(changes)
