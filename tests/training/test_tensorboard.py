"""TensorBoard event files, read back by TensorBoard itself."""

import sys

import pytest

from nmtlab.errors import NmtlabError
from nmtlab.training.events import Ended, Prepared, Preparing, Progress, Validated
from nmtlab.training.tensorboard import event_writer

EVENTS = [
    Preparing("checking the corpus"),
    Prepared(parameters=10, pairs=5, skipped={}, updates=20),
    Progress(10, 20, loss=3.5, terms={"cross_entropy": 3.0, "length": 0.5},
             perplexity=33.0, tokens_per_second=100.0, gradient_norm=1.5, rate=0.1, seconds=1.0, seconds_left=1.0),
    Validated(10, bleu=12.5, perplexity=30.0, best=12.5, seconds=1.5, seconds_left=1.5),
    Progress(20, 20, loss=2.5, terms={"cross_entropy": 2.0, "length": 0.5},
             perplexity=12.0, tokens_per_second=110.0, gradient_norm=0.5, rate=0.2, seconds=2.0, seconds_left=0.0),
    Ended("finished", 20, best=12.5, seconds=2.5),
]  # fmt: skip


def test_every_curve_can_be_read_back(tmp_path):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="needs the extra 'tensorboard'"
    )
    write = event_writer(tmp_path / "run" / "tensorboard")
    for event in EVENTS:
        write(event)
    read = accumulator.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    read.Reload()
    curves = {tag: [(e.step, pytest.approx(e.value)) for e in read.Scalars(tag)] for tag in read.Tags()["scalars"]}
    assert curves == {
        "train/loss": [(10, 3.5), (20, 2.5)],
        "train/loss/cross_entropy": [(10, 3.0), (20, 2.0)],
        "train/loss/length": [(10, 0.5), (20, 0.5)],
        "train/perplexity": [(10, 33.0), (20, 12.0)],
        "train/tokens_per_second": [(10, 100.0), (20, 110.0)],
        "train/gradient_norm": [(10, 1.5), (20, 0.5)],
        "train/rate": [(10, 0.1), (20, 0.2)],
        "dev/bleu": [(10, 12.5)],
        "dev/perplexity": [(10, 30.0)],
    }


def test_no_folder_is_made_before_there_is_something_to_write(tmp_path):
    pytest.importorskip("tensorboard", reason="needs the extra 'tensorboard'")
    write = event_writer(tmp_path / "run" / "tensorboard")
    for event in EVENTS[:2]:
        write(event)
    assert list(tmp_path.iterdir()) == []  # the run's folder must not exist before the run


def test_without_tensorboard_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)  # importing it fails
    with pytest.raises(NmtlabError, match="tensorboard is not installed; pip install 'tensorboard"):
        event_writer(tmp_path)
