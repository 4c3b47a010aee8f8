"""Weights of packed runs that are in the archives of their parents."""

import shutil
from pathlib import Path

import pytest
import torch

from nmtlab.errors import RunError
from nmtlab.recipe import named_recipe
from nmtlab.runs.archive import read_archive, write_archive
from nmtlab.runs.listing import list_runs, open_run
from nmtlab.runs.pack import unpack
from nmtlab.runs.packed import write_files
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
    with pytest.raises(RunError, match=r"child\.tar\.xz: its parent, .*/parent\.tar\.xz, is missing; put it there"):
        unpack(evidence / "runs/child.tar.xz", Workspace(tmp_path / "new"))


def test_another_run_with_the_parents_name_is_refused(archives, zoo, tmp_path):
    evidence = shutil.copytree(archives.parent, tmp_path / "evidence")
    (evidence / "runs/parent.tar.xz").unlink()
    other = Workspace(tmp_path / "other")
    add_run(zoo.copy("learned", other, "parent"), other, weights=True)
    shutil.copy(other.evidence / "runs/parent.tar.xz", evidence / "runs")
    with pytest.raises(RunError, match=r"parent\.tar\.xz: not the weights that child\.tar\.xz was trained from"):
        unpack(evidence / "runs/child.tar.xz", Workspace(tmp_path / "new"))


def changed(evidence: Path, tmp_path: Path, name: str, old: bytes, new: bytes) -> Path:
    """Return the child's archive with some bytes of a file replaced."""
    files = read_archive(evidence / "runs/child.tar.xz")["child"]
    files[name] = files[name].replace(old, new, 1)
    write_files(tmp_path / "child", files)
    write_archive(tmp_path / "child", evidence / "runs/child.tar.xz")
    return evidence / "runs/child.tar.xz"


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("packed.json", b"encoder", b"no-encoder", r"damaged or truncated \('no-encoder"),
        ("packed.json", b'"inherited": [', b'"inherited": [3,', "incomplete or damaged packed run"),
        ("inheritance.json", b'"parent": "', b'"parent": "' + b"p" * 400, "cannot be read"),
        (WEIGHTS, b"F16", b"F61", "weights: damaged or truncated"),
    ],
)
def test_damage_is_named_with_the_archive(archives, tmp_path, name, old, new, said):
    evidence = shutil.copytree(archives.parent, tmp_path / "evidence")
    with pytest.raises(RunError, match=rf"child\.tar\.xz: {said}"):
        unpack(changed(evidence, tmp_path, name, old, new), Workspace(tmp_path / "new"))


def test_a_child_without_its_parent_hides_no_other_run(archives, child, tmp_path):
    workspace = workspace_without(child, tmp_path)
    shutil.move(workspace.evidence / "runs/parent.tar.xz", workspace.evidence / "runs/other.tar.xz")
    listed, broken = list_runs(workspace)
    assert not listed
    assert "its parent" in broken["child.tar.xz"]
    assert "contains no run 'other'" in broken["other.tar.xz"]


def test_beside_a_parent_without_weights_a_run_is_packed_whole(zoo, tiny_corpus, tmp_path):
    workspace = Workspace(tmp_path / "data")
    add_run(zoo.copy("trained", workspace, "parent"), workspace)
    recipe = continued_recipe(open_run("parent", workspace), named_recipe("fine-tune")).with_changes(CHANGES)
    run = train("child", recipe, tiny_corpus, workspace)
    files = read_archive(add_run(run, workspace, weights=True))["child"]
    (tmp_path / "stored").write_bytes(files[WEIGHTS])
    assert load_tensors(tmp_path / "stored")[0].keys() == run.checkpoints.weights()[0].keys()
    assert b"inherited" not in files["packed.json"]
