"""What trackio and Weights & Biases are given, and what trackio makes of it."""

import sys
from types import SimpleNamespace

import pytest

from nmtlab.errors import NmtlabError
from nmtlab.training.events import Ended, Prepared, Preparing, Progress, Validated
from nmtlab.training.trackers import tracker_writer

EVENTS = [
    Preparing("checking the corpus"),
    Prepared(parameters=10, pairs=5, skipped={}, updates=20),
    Progress(10, 20, loss=3.5, terms={"length": 0.5}, perplexity=33.0, tokens_per_second=100.0, gradient_norm=1.5,
             rate=0.1, seconds=1.0, seconds_left=1.0),
    Validated(10, bleu=12.5, perplexity=30.0, best=12.5, seconds=1.5, seconds_left=1.5, chrf=40.0,
              directions={"gl-en": 12.5}),
    Ended("finished", 20, best=12.5, seconds=2.5),
]  # fmt: skip
TRAIN = {
    "train/loss": 3.5, "train/perplexity": 33.0, "train/tokens_per_second": 100.0, "train/gradient_norm": 1.5,
    "train/rate": 0.1, "train/loss/length": 0.5,
}  # fmt: skip
DEV = {"dev/bleu": 12.5, "dev/perplexity": 30.0, "dev/chrf": 40.0, "dev/bleu/gl-en": 12.5}


@pytest.fixture
def calls(monkeypatch) -> list:
    """The calls of packages `wandb` and `trackio` that only note them."""
    found: list = []
    package = SimpleNamespace(
        init=lambda **given: found.append(("init", given)),
        log=lambda points, step: found.append(("log", step, points)),
        finish=lambda: found.append(("finish",)),
    )
    monkeypatch.setitem(sys.modules, "wandb", package)
    monkeypatch.setitem(sys.modules, "trackio", package)
    return found


def test_every_point_is_logged_at_its_update_between_init_and_finish(calls):
    write = tracker_writer("wandb", "first", {"model.heads": 2})
    for event in EVENTS:
        write(event)
    assert calls == [
        (
            "init",
            {"project": "nmtlab", "name": "first", "config": {"model.heads": 2}, "resume": "allow", "id": "first"},
        ),
        ("log", 10, TRAIN),
        ("log", 10, DEV),
        ("finish",),
    ]


def test_trackio_which_knows_runs_by_name_is_given_no_id(calls):
    tracker_writer("trackio", "first", {})(EVENTS[1])
    assert calls == [("init", {"project": "nmtlab", "name": "first", "config": {}, "resume": "allow"})]


def test_a_training_without_updates_is_not_logged(calls):
    write = tracker_writer("wandb", "phrases", {})
    for event in (EVENTS[0], EVENTS[-1]):
        write(event)
    assert calls == []


@pytest.mark.parametrize("package", ["trackio", "wandb"])
def test_without_the_package_the_message_says_how_to_get_it(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # importing it fails
    with pytest.raises(NmtlabError, match=f"{package} is not installed; pip install '{package}'"):
        tracker_writer(package, "first", {})


@pytest.mark.full
def test_trackio_keeps_every_point(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    trackio = pytest.importorskip("trackio", reason="an optional package")
    storage = pytest.importorskip("trackio.sqlite_storage")
    write = tracker_writer("trackio", "first", {"model.heads": 2})
    for event in EVENTS:
        write(event)
    assert [run.name for run in trackio.Api().runs("nmtlab")] == ["first"]
    logged = storage.SQLiteStorage.get_logs("nmtlab", "first")
    assert [{name: value for name, value in line.items() if name != "timestamp"} for line in logged] == [
        {**TRAIN, "step": 10}, {**DEV, "step": 10}
    ]  # fmt: skip
