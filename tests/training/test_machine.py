"""Where and how fast training computes: it changes speed, not what is learned."""

import pytest
import torch

from nmtlab.device import choose_device
from nmtlab.errors import RecipeError
from nmtlab.recipe import MachineSettings
from nmtlab.training.events import Preparing, Progress
from nmtlab.training.setup import train


def test_a_gpu_that_is_not_there_is_an_error_with_a_remedy():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(RecipeError, match=r"machine.device = 'cuda': torch finds no GPU here; set machine.device=auto"):
        choose_device(MachineSettings(device="cuda"))
    assert choose_device(MachineSettings(device="auto", threads=1)) == torch.device("cpu")


def test_training_in_bfloat16_stays_near_float32_and_keeps_its_weights_in_float32(
    trained, tiny_corpus, tiny_recipe, workspace
):
    whole, _ = trained
    changes = {"machine.precision": "bf16", "training.max_evaluations": 1}
    run = train("bf16", tiny_recipe.with_changes(changes), tiny_corpus, workspace)
    weights, _ = run.checkpoints.weights("last")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    losses, full = run.log.metrics("train")["loss"], whole.log.metrics("train")["loss"][:2]
    assert losses.tolist() == pytest.approx(full.tolist(), rel=0.02)
    assert losses.tolist() != full.tolist()


def test_compiling_is_told_before_the_first_update(tiny_corpus, tiny_recipe, workspace, monkeypatch):
    """Compilation is replaced by a no-op: it takes minutes."""
    monkeypatch.setattr(torch, "compile", lambda module, dynamic: module)
    events = []
    changes = {"machine.compile": True, "training.max_evaluations": 1}
    train("compiled", tiny_recipe.with_changes(changes), tiny_corpus, workspace, on_event=events.append)
    kinds = [type(event) for event in events]
    assert Preparing("compiling the model, which takes minutes") in events[: kinds.index(Progress)]
