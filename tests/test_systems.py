"""Any run opens as something that translates, and opening one changes nothing else."""

import shutil

import pytest
import torch

from nmtlab.recipe import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_system


@pytest.fixture
def copied(trained, tmp_path) -> Run:
    return Run(shutil.copytree(trained[0].folder, tmp_path / "copied"))


def test_a_run_is_opened_with_the_readers_threads_and_not_its_own(copied):
    recipe = copied.recipe.with_changes({"machine.threads": 1})
    recipe.save(copied.folder / "recipe.toml")
    torch.set_num_threads(2)
    try:
        open_system(Run(copied.folder))
        assert torch.get_num_threads() == 2
        open_system(Run(copied.folder), machine=MachineSettings(threads=1))
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(1)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_run_that_was_trained_on_a_gpu_opens_where_there_is_none(copied):
    recipe = copied.recipe.with_changes({"machine.device": "cuda"})
    recipe.save(copied.folder / "recipe.toml")
    assert open_system(Run(copied.folder)).translate(["ein hund"])[0].text
