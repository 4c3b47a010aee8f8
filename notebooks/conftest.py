"""What `pytest --nbval notebooks` needs, and what it does not compare.

It needs a workspace with the packed runs, and with demo runs, which are cut short: no output of theirs is compared.
Pictures are not compared either, for every figure has a table beside it.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

FOLDER = "NMTLAB_NOTEBOOKS"
"""The environment variable that names the folder which all processes of a session share."""
EVIDENCE = Path(__file__).parents[1] / "data/evidence"
SHORT = {"training.validate_every": 20, "training.max_evaluations": 1}


def pytest_configure(config: pytest.Config) -> None:
    if FOLDER not in os.environ:  # processes that pytest-xdist starts inherit it
        folder = TemporaryDirectory()
        os.environ[FOLDER] = folder.name
        config.add_cleanup(folder.cleanup)


def pytest_collectstart(collector: pytest.Collector) -> None:
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += ("text/html", "application/vnd.plotly.v1+json")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Start the kernel of a notebook, which happens before its first cell, in that workspace."""
    from support.zoo import made_once

    data = made_once(Path(os.environ[FOLDER]) / "data", make_workspace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NMTLAB_DATA", str(data))
        return (yield)


def make_workspace(data: Path) -> None:
    from nmtlab.demo import RECURRENT, TRANSFORMERS, demo_corpus, demo_recipe
    from nmtlab.training.setup import train
    from nmtlab.workspace import Workspace

    workspace = Workspace(data)
    for name in (*RECURRENT, *TRANSFORMERS):
        train(name, demo_recipe(name).with_changes(SHORT), demo_corpus(workspace), workspace)
    (data / "evidence").symlink_to(EVIDENCE)
