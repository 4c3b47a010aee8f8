"""Weights of packed runs that are in the archives of their parents."""

import shutil
from pathlib import Path

import pytest
import torch

from nmtlab.errors import RunError
from nmtlab.recipe import named_recipe
from nmtlab.runs.archive import read_archive, write_archive
from nmtlab.runs.listing import open_run
from nmtlab.runs.pack import unpack
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import load_tensors
from nmtlab.thesis.evidence import add_run
from nmtlab.training.setup import train
from nmtlab.training.transfer import continued_recipe
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # a child is trained

CHANGES = {
    "transfer.encoder": "freeze", "training.max_evaluations": 1,
    "training.validate_every": 2, "training.learning_rate": 1e-3, "machine.threads": 1, "machine.device": "cpu",
}  # fmt: skip
WEIGHTS = "checkpoints/best.safetensors"


@pytest.fixture(scope="module")
def child(zoo, tiny_corpus, tmp_path_factory) -> Run:
    """A run that goes on from a packed parent with a frozen encoder, packed beside it."""
    workspace = Workspace(tmp_path_factory.mktemp("inherited") / "data")
    add_run(zoo.copy("trained", workspace, "parent"), workspace, weights=True)
    shutil.rmtree(workspace.run_folder("parent"))
    recipe = continued_recipe(open_run("parent", workspace), named_recipe("fine-tune")).with_changes(CHANGES)
    run = train("child", recipe, tiny_corpus, workspace)
    add_run(run, workspace, weights=True)
    return run


@pytest.fixture
def archives(child) -> Path:
    """The folder of both archives."""
    return child.folder.parents[1] / "evidence/runs"


def test_weights_that_are_the_parents_are_stored_once_and_the_run_has_them_all(child, archives, tmp_path):
    (tmp_path / "stored").write_bytes(read_archive(archives / "child.tar.xz")["child"][WEIGHTS])
    stored = set(load_tensors(tmp_path / "stored")[0])
    trained = child.checkpoints.weights()[0]
    frozen = {one["name"] for one in child.inheritance["parameters"] if one["part"] == "encoder"}
    assert frozen
    assert stored
    assert stored <= trained.keys() - frozen  # of the others, small changes may vanish in half precision
    new = Workspace(tmp_path)
    for opened in (unpack(archives / "child.tar.xz", new), open_run("child", workspace_without(child, tmp_path))):
        weights = opened.checkpoints.weights()[0]
        assert weights.keys() == trained.keys()
        assert all(torch.equal(weights[name], trained[name].half()) for name in trained)


def workspace_without(child: Run, tmp_path: Path) -> Workspace:
    """Return a workspace with the evidence of another, and without its runs."""
    shutil.copytree(child.folder.parents[1] / "evidence", tmp_path / "clean/evidence")
    return Workspace(tmp_path / "clean")


def test_without_its_parent_it_says_which_archive_is_missing(archives, tmp_path):
    evidence = shutil.copytree(archives.parent, tmp_path / "evidence")
    (evidence / "runs/parent.tar.xz").unlink()
    with pytest.raises(RunError, match=r"parent\.tar\.xz: not found"):
        unpack(evidence / "runs/child.tar.xz", Workspace(tmp_path / "new"))


def test_another_run_with_the_parents_name_is_refused(archives, zoo, tmp_path):
    evidence = shutil.copytree(archives.parent, tmp_path / "evidence")
    (evidence / "runs/parent.tar.xz").unlink()
    other = Workspace(tmp_path / "other")
    add_run(zoo.copy("learned", other, "parent"), other, weights=True)
    shutil.copy(other.evidence / "runs/parent.tar.xz", evidence / "runs")
    with pytest.raises(RunError, match=r"parent\.tar\.xz: not the weights that child\.tar\.xz was trained from"):
        unpack(evidence / "runs/child.tar.xz", Workspace(tmp_path / "new"))


def test_a_list_of_weights_that_the_parent_lacks_is_damage(archives, tmp_path):
    evidence = shutil.copytree(archives.parent, tmp_path / "evidence")
    files = read_archive(evidence / "runs/child.tar.xz")["child"]
    files["packed.json"] = files["packed.json"].replace(b"encoder", b"no-encoder")
    for name, content in files.items():
        (tmp_path / "child" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "child" / name).write_bytes(content)
    write_archive(tmp_path / "child", evidence / "runs/child.tar.xz")
    with pytest.raises(RunError, match=r"child\.tar\.xz: damaged \('no-encoder"):
        unpack(evidence / "runs/child.tar.xz", Workspace(tmp_path / "new"))
