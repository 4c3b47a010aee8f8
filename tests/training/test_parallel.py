"""Two processes train as one does on the same global batch."""

import shutil
from datetime import timedelta

import numpy as np
import pytest
import torch
import torch.distributed as distributed
from conftest import train_with_two_processes

from nmtlab.text.batching.batch import batch_of
from nmtlab.training.parallel import Group
from nmtlab.training.setup import train

pytestmark = pytest.mark.full

TOLERANCE = 2e-5
"""Relative tolerance; float32 sums are taken in a different order."""


SEVERAL = {
    "text.segmentation": "bpe",
    "text.vocabulary_size": 60,
    "training.accumulate": 2,
    "training.max_evaluations": 1,  # differences in rounding grow with the updates
    "more_corpora": [{"name": "tiny", "source": "en", "target": "de", "weight": 0.5, "origin": "back"}],
}


PRIVATE = {f"model.{part}_share": 0.5 for part in ("embedding", "attention", "feed_forward")}
"""A batch uses the private parts of its languages only."""


@pytest.mark.parametrize(
    "changes",
    [{}, SEVERAL, {**SEVERAL, **PRIVATE, "model.adapter_width": 4}],
    ids=["one corpus", "several directions", "private parts"],
)
def test_two_processes_give_the_losses_of_one(changes, tiny_corpus, tiny_recipe, workspace):
    (workspace.data / "corpora").mkdir(parents=True)
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora/tiny")
    recipe = tiny_recipe.with_changes({"training.max_evaluations": 2, **changes, "model.dropout": 0.0})
    one = train("one", recipe, tiny_corpus, workspace)
    two = train_with_two_processes(tiny_corpus, recipe, "two", workspace)
    assert two.environment["processes"] == 2
    assert two.status == "finished"
    for name in ("loss", "perplexity", "gradient_norm"):
        np.testing.assert_allclose(two.log.metrics("train")[name], one.log.metrics("train")[name], rtol=TOLERANCE)
    np.testing.assert_allclose(
        two.log.metrics("validation")["perplexity"], one.log.metrics("validation")["perplexity"], rtol=TOLERANCE
    )


def test_a_batch_is_shared_out_without_loss():
    batch = batch_of(np.arange(1, 11).reshape(5, 2), np.arange(11, 21).reshape(5, 2))
    shares = [Group(rank, 3).shard(batch) for rank in range(3)]
    rows = sorted(row for share in shares for row in share.source.tolist())
    assert rows == batch.source.tolist()
    assert sum(share.target_tokens for share in shares) == batch.target_tokens


def test_a_process_without_rows_trains_on_no_token():
    batch = batch_of(np.array([[4, 2]]), np.array([[5, 2]]))
    share = Group(1, 2).shard(batch)
    assert share.source.shape == (1, 2)
    assert share.target_tokens == 0


def test_variables_that_a_cluster_has_left_do_not_make_a_group(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    assert Group.init(torch.device("cpu")) == Group()


def test_on_gpus_each_process_takes_its_own_and_none_gives_up_on_the_first_one(monkeypatch):
    """Without a GPU, the test checks the calls to torch instead."""
    asked = {}
    for name, value in (("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: asked.update(device=device))
    monkeypatch.setattr(distributed, "is_initialized", lambda: False)
    monkeypatch.setattr(
        distributed, "init_process_group", lambda backend, **more: asked.update(backend=backend, **more)
    )
    monkeypatch.setattr(distributed, "new_group", lambda **more: asked.update(control=more))
    monkeypatch.setattr(distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(distributed, "get_world_size", lambda: 2)
    assert Group.init(torch.device("cuda", 1)).rank == 1
    assert (asked["backend"], asked["device"], asked["device_id"]) == ("nccl", torch.device("cuda", 1), asked["device"])
    assert asked["control"]["backend"] == "gloo"  # objects and long waits are kept off the GPU
    assert min(asked["timeout"], asked["control"]["timeout"]) >= timedelta(days=1)
