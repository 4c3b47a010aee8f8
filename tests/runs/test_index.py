"""What lists say of runs is kept, and only new and changed runs are opened."""

import json
import os
import shutil
from pathlib import Path

import pytest

from nmtlab.runs.index import RunIndex
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


@pytest.fixture
def runs(trained, workspace) -> Workspace:
    for age, name in enumerate(("b", "a")):
        folder = shutil.copytree(trained[0].folder, workspace.runs / name)
        os.utime(folder, (1e9 - age, 1e9 - age))
    return workspace


def opened(workspace: Workspace, key: str = "name") -> list[str]:
    """Return the runs that are opened to list all."""
    found: list[str] = []

    def read(run: Run) -> str:
        found.append(run.name)
        return run.name

    index = RunIndex(workspace)
    assert sorted(index.read(lambda name: index.fact(name, key, read))) == ["a", "b"]
    index.save()
    return found


def kept(workspace: Workspace) -> Path:
    return workspace.cache / "runs.json"


def test_runs_are_opened_once_and_again_for_what_was_not_asked_before(runs):
    assert opened(runs) == ["b", "a"]
    assert opened(runs) == []
    assert opened(runs, "other") == ["b", "a"]
    assert opened(runs) == []


@pytest.mark.parametrize("file", ["recipe.toml", "metrics.jsonl", "environment.json", "measures/new.parquet"])
def test_only_a_run_that_has_changed_is_opened_again(runs, file):
    opened(runs)
    path = runs.runs / "a" / file
    path.parent.mkdir(exist_ok=True)
    path.touch()
    assert opened(runs) == ["a"]


def test_what_is_stored_of_a_packed_run_elsewhere_counts(runs):
    opened(runs)
    (runs.notes / "a-0123456789ab/measures").mkdir(parents=True)
    assert opened(runs) == ["a"]


def test_a_child_is_read_again_when_its_parent_may_have_come_or_gone(runs):
    (runs.runs / "b/inheritance.json").write_text("{}", encoding="utf-8")
    opened(runs)
    shutil.copytree(runs.runs / "a", runs.runs / ".unseen")
    assert opened(runs) == ["b"]


def test_a_damaged_index_or_that_of_another_nmtlab_is_made_again(runs, monkeypatch, tmp_path):
    for damage in (b"\xff", b"", kept_of(runs)[:-9], kept_of(runs).replace(b'"a"', b'"c"')):
        kept(runs).write_bytes(damage)
        assert opened(runs) == ["b", "a"]
        assert opened(runs) == []
    monkeypatch.setattr("nmtlab.runs.kept._CODE", tmp_path)
    assert opened(runs) == ["b", "a"]


def kept_of(workspace: Workspace) -> bytes:
    opened(workspace)
    return kept(workspace).read_bytes()


def test_where_nothing_can_be_written_runs_are_listed_without_an_index(runs):
    runs.cache.mkdir(exist_ok=True)
    kept(runs).mkdir()
    assert opened(runs) == ["b", "a"]
    assert opened(runs) == ["b", "a"]


def test_a_workspace_without_runs_gets_no_index(workspace):
    index = RunIndex(workspace)
    assert index.read(str) == {}
    index.save()
    assert not workspace.cache.exists()


def test_a_damaged_run_is_named_until_it_is_mended(runs):
    content = (runs.runs / "a/environment.json").read_text(encoding="utf-8")
    (runs.runs / "a/environment.json").write_text("{", encoding="utf-8")
    index = RunIndex(runs)
    assert list(index.read(index.status)) == ["b"]
    assert index.broken.keys() == {"a"}
    index.save()
    (runs.runs / "a/environment.json").write_text(content, encoding="utf-8")
    assert list(RunIndex(runs).read(RunIndex(runs).status)) == ["b", "a"]


def test_whether_a_run_is_in_training_is_asked_each_time(runs, monkeypatch):
    path = runs.runs / "a/metrics.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line}\n" for line in lines if json.loads(line)["kind"] != "end"), encoding="utf-8")
    for locked, status in ((False, "interrupted"), (True, "training"), (False, "interrupted")):
        monkeypatch.setattr("nmtlab.runs.lock.is_locked", lambda _, locked=locked: locked)
        index = RunIndex(runs)
        assert index.read(index.status) == {"b": "finished", "a": status}
        index.save()
