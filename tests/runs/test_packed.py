"""Packed runs of the evidence, an archive each."""

import hashlib
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from nmtlab.analysis.access.translations import (
    store_translations,
    stored_translations,
    translations,
    translations_by_text,
)
from nmtlab.errors import RunError
from nmtlab.recipe import SearchSettings
from nmtlab.runs.answers import AnswerKey, store_answer
from nmtlab.runs.archive import read_archive, write_archive
from nmtlab.runs.listing import list_runs, machines_of_runs, open_run, open_run_of
from nmtlab.runs.origin import PACKED
from nmtlab.runs.pack import FIRST, fill_small, pack, thin_log, unpack
from nmtlab.runs.packed import machine_of, opened, write_files
from nmtlab.runs.run import ENVIRONMENT, Run
from nmtlab.runs.vocabularies import store_apart
from nmtlab.thesis.evidence import add_run
from nmtlab.workspace import Workspace


@pytest.fixture
def runs(trained, workspace, tiny_corpus) -> list[Run]:
    """Two seeds of a system, with translations and answers."""
    first = Run(shutil.copytree(trained[0].folder, workspace.runs / "some.s1"))
    for split, search in (("dev", None), ("test", None), ("test", SearchSettings(beam_size=2))):
        translations(first, tiny_corpus, split, search)
    store_answer(first.folder, AnswerKey("norms.some", {}, first.checkpoints.best_step), pd.DataFrame({"norm": [1.5]}))
    many = pd.DataFrame({"norm": pd.Series(range(5000)).sample(frac=1, random_state=1)})
    store_answer(first.folder, AnswerKey("norms.more", {}, first.checkpoints.best_step), many)
    return [first, Run(shutil.copytree(first.folder, workspace.runs / "some.s2"))]


def small(run: Run, folder: Path) -> Path:
    """Return the files of a run as a table packs them."""
    target = folder / run.name
    target.mkdir(parents=True)
    fill_small(target, run)
    return target


@pytest.fixture
def archives(runs, workspace, tmp_path) -> list[Path]:
    """The runs packed small, in the evidence of the workspace."""
    paths = []
    for run in runs:
        folder = small(run, tmp_path / "packing")
        thin_log(folder)
        store_apart(folder, workspace.evidence / "vocabularies")
        paths.append(workspace.evidence / f"runs/{run.name}.tar.xz")
        write_archive(folder, paths[-1], FIRST)
    return paths


def traces(folder: Path) -> dict[str, tuple[int, str]]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files}


def test_a_packed_run_opens_alone_and_all_are_listed(runs, archives, workspace):
    shutil.rmtree(workspace.runs)
    run = open_run("some.s2", workspace)
    assert run.folder.is_relative_to(workspace.cache)
    assert run.notes.folder != run.folder
    assert [path.name[:7] for path in (workspace.cache / "packed").iterdir()] == ["some.s2"]
    listed, broken = list_runs(workspace)
    assert ([run.name for run in listed], broken) == (["some.s1", "some.s2"], {})
    with pytest.raises(RunError, match=r"run 'some\.s3': not found"):
        open_run("some.s3", workspace)


def test_runs_with_one_vocabulary_share_its_file_and_another_seed_takes_little(runs, archives, workspace):
    (vocabulary,) = (workspace.evidence / "vocabularies").iterdir()
    facts = json.loads(read_archive(archives[0])["some.s1"][PACKED])
    assert vocabulary.name == f"{facts['vocabulary']}.tar.xz"
    assert all(path.stat().st_size < 20_000 for path in archives)
    assert open_run("some.s1", workspace).pipeline.checksum() == runs[0].pipeline.checksum()


def test_what_a_list_needs_is_read_without_the_rest(runs, archives):
    with archives[0].open("r+b") as file:
        file.truncate(archives[0].stat().st_size - 40)
    assert machine_of(archives[0]) == machine_of(runs[0].folder) != ""


def test_where_a_packed_run_is_damaged_or_gone_its_machine_is_unknown(runs, archives):
    (runs[0].folder / ENVIRONMENT).write_text("{", encoding="utf-8")
    archives[0].write_bytes(archives[0].read_bytes()[:40])
    archives[1].unlink()
    assert [machine_of(path) for path in (runs[0].folder, *archives)] == [""] * 3


def test_a_packed_run_that_cannot_be_read_is_named(archives, workspace):
    shutil.rmtree(workspace.runs)
    archives[0].unlink()
    archives[0].mkdir()
    listed, broken = list_runs(workspace)
    assert [run.name for run in listed] == ["some.s2"]
    assert broken == {"some.s1.tar.xz": "Is a directory"}


def test_a_packed_run_without_its_vocabulary_says_so(runs, archives, workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(archives[0], "alone.tar.xz")
    for alone in (Path("alone.tar.xz"), tmp_path / "alone.tar.xz"):
        with pytest.raises(RunError, match=r"its vocabulary .* is missing; have it packed with 'nmtlab runs pack'"):
            unpack(alone, Workspace(tmp_path / "new"))
    sent = pack(open_run("some.s1", workspace), tmp_path / "some.s1.tar.xz")
    assert unpack(sent, Workspace(tmp_path / "new")).pipeline.checksum() == runs[0].pipeline.checksum()


def test_a_vocabulary_with_other_content_than_its_name_promises_is_refused(archives, workspace, tmp_path):
    (stored,) = (workspace.evidence / "vocabularies").iterdir()
    (tmp_path / "vocabulary").mkdir()
    (tmp_path / "vocabulary/pipeline.json").write_text("{}", encoding="utf-8")
    write_archive(tmp_path / "vocabulary", stored)
    with pytest.raises(RunError, match="its content is not what its name promises"):
        opened(archives[0], workspace.cache)


def test_a_packed_run_is_written_once(runs, workspace):
    path = add_run(runs[0], workspace)
    before = traces(workspace.evidence)
    add_run(runs[1], workspace)
    assert before.items() <= traces(workspace.evidence).items()
    with pytest.raises(RunError, match=r"some\.s1\.tar\.xz: already exists; a packed run is written once"):
        add_run(runs[0], workspace)
    assert path.stat().st_mtime_ns == before[str(path)][0]


def test_a_run_packed_small_has_its_curves_and_translations_and_says_what_it_lacks(
    runs, archives, workspace, tiny_corpus
):
    run, packed = runs[0], Run(opened(archives[0], workspace.cache))
    assert (packed.recipe, packed.environment) == (run.recipe, run.environment)
    assert (packed.status, packed.checkpoints.best_step, packed.checkpoints.original_digest) == (
        run.status,
        run.checkpoints.best_step,
        run.checkpoints.digest,
    )
    for kind in ("validation", "end"):
        pd.testing.assert_frame_equal(packed.log.metrics(kind), run.log.metrics(kind))
    assert 0 < len(packed.log.metrics("train")) <= len(run.log.metrics("train"))
    for split, search in (("dev", None), ("test", None), ("test", SearchSettings(beam_size=2))):
        lines = stored_translations(run, tiny_corpus, split, search)
        assert stored_translations(packed, tiny_corpus, split, search) == lines is not None
    assert [answer.question.analysis for answer in packed.notes.answers()] == ["norms.some"]
    assert len(packed.log.gradient_norms()) == len(packed.log.embedding_norms()) == 0
    assert packed.origin.limitations == (
        "packed without its model, gradient norms and norms of words, it can neither translate nor answer new "
        "questions; it has its training curves, its translations, its vocabulary and stored answers (some) from the "
        f"original weights, digest {run.checkpoints.digest[:12]}"
    )


def test_translations_made_in_another_way_are_not_taken_for_the_usual_ones(runs, archives, workspace, tiny_corpus):
    folder = opened(archives[0], workspace.cache)
    usual = stored_translations(Run(folder), tiny_corpus, "test")
    source = list(tiny_corpus.lines("test", tiny_corpus.source))
    store_translations(folder, Run(folder), "test", source, ["through English"] * len(source), "pivot")
    assert stored_translations(Run(folder), tiny_corpus, "test") == usual
    assert list(translations_by_text(Run(folder), "test", "pivot").values()) == [["through English"] * len(source)]


def test_of_two_runs_of_a_name_the_one_from_the_machine_is_opened(runs, archives, workspace):
    machine = machine_of(runs[0].folder)
    environment = runs[0].folder / "environment.json"
    other = {**json.loads(environment.read_text("utf-8")), "machine": {"processor": "another", "cores": 1}}
    environment.write_text(json.dumps(other), encoding="utf-8")
    assert open_run_of("some.s1", "another, 1 cores", workspace).folder == runs[0].folder
    assert open_run_of("some.s1", machine, workspace).folder.is_relative_to(workspace.cache)
    assert open_run_of("some.s1", "a third one", workspace) is None


def test_the_machines_of_runs_are_those_they_were_trained_on(runs, archives, workspace):
    machine = machine_of(runs[0].folder)
    shutil.rmtree(workspace.runs)
    assert machines_of_runs(workspace) == {(name, machine) for name in ("some.s1", "some.s2")}


def test_an_archive_is_opened_once_and_again_when_it_has_changed(archives, workspace, tmp_path):
    once = opened(archives[0], workspace.cache)
    (once / "mark").touch()
    assert opened(archives[0], workspace.cache) == once
    assert (once / "mark").exists()
    again = shutil.copytree(once, tmp_path / "some.s1", ignore=shutil.ignore_patterns("mark", "test-*"))
    write_archive(again, archives[0], FIRST)
    changed = opened(archives[0], workspace.cache)
    assert changed.name == once.name == "some.s1"
    assert changed != once


def test_an_archive_can_be_opened_by_several_processes_at_once(archives, workspace, monkeypatch):
    def overtaken(folder, files):
        monkeypatch.undo()
        assert opened(archives[0], workspace.cache).is_dir()
        write_files(folder, files)

    monkeypatch.setattr("nmtlab.runs.packed.write_files", overtaken)
    assert opened(archives[0], workspace.cache).is_dir()
    assert len(list((workspace.cache / "packed").iterdir())) == 1


def test_an_archive_is_named_as_its_run(archives, workspace):
    other = archives[0].rename(archives[0].with_name("other.tar.xz"))
    with pytest.raises(RunError, match=r"contains no run 'other'; rename it: it contains some\.s1"):
        opened(other, workspace.cache)


def test_a_damaged_archive_is_named_and_hides_no_other_run(archives, workspace, tmp_path):
    evil = tmp_path / "evil"
    shutil.copytree(opened(archives[0], workspace.cache), evil)
    (evil / "run.py").touch()
    write_archive(evil, workspace.evidence / "runs/evil.tar.xz")
    (workspace.evidence / "runs/short.tar.xz").write_bytes(archives[0].read_bytes()[:-40])
    shutil.rmtree(workspace.runs)
    listed, broken = list_runs(workspace)
    assert sorted(run.name for run in listed) == ["some.s1", "some.s2"]
    assert set(broken) == {"evil.tar.xz", "short.tar.xz"}
    assert "contains run.py, which no packed run has" in broken["evil.tar.xz"]
    assert {path.name[:6] for path in (workspace.cache / "packed").iterdir()} == {"some.s"}
