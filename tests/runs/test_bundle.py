"""The runs of a table in one file: as small as can be, and opened like any other run."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from nmtlab.analysis.access.translations import stored_translations, translations
from nmtlab.errors import RunError
from nmtlab.recipe import SearchSettings
from nmtlab.runs.archive import write_archive
from nmtlab.runs.bundle import bundle, bundled_runs, opened_bundle
from nmtlab.runs.listing import list_runs, open_run
from nmtlab.runs.measures import MeasureKey, store_measure
from nmtlab.runs.pack import pack, write_files
from nmtlab.runs.run import Run


@pytest.fixture
def runs(trained, workspace, tiny_corpus) -> list[Run]:
    """Two seeds of a system, with translations and answers."""
    first = Run(shutil.copytree(trained[0].folder, workspace.runs / "some.s1"))
    for split, search in (("dev", None), ("test", None), ("test", SearchSettings(beam_size=2))):
        translations(first, tiny_corpus, split, search)
    store_measure(first.folder, MeasureKey("norms.some", {}, first.best_step), pd.DataFrame({"norm": [1.5]}))
    many = pd.DataFrame({"norm": pd.Series(range(5000)).sample(frac=1, random_state=1)})
    store_measure(first.folder, MeasureKey("norms.more", {}, first.best_step), many)
    return [first, Run(shutil.copytree(first.folder, workspace.runs / "some.s2"))]


@pytest.fixture
def file(runs, workspace) -> Path:
    target = workspace.gallery / "table-3.4.tiny.tar.xz"
    bundle(runs, target)
    return target


def test_a_bundled_run_opens_by_name_and_is_listed_with_the_gallery(runs, file, workspace):
    shutil.rmtree(workspace.runs)
    pack(open_run("some.s1", workspace), workspace.gallery / "another")
    listed, broken = list_runs(workspace)
    assert ([run.name for run in listed], broken) == (["another", "some.s1", "some.s2"], {})
    opened = open_run("some.s2", workspace)
    assert opened.folder.is_relative_to(workspace.cache)
    assert opened.notes_folder != opened.folder
    with pytest.raises(RunError, match=r"run 'some\.s3': not found"):
        open_run("some.s3", workspace)


def test_a_run_or_a_folder_of_the_gallery_hides_one_of_its_name_in_a_bundle(runs, file, workspace):
    assert open_run("some.s1", workspace).folder == workspace.runs / "some.s1"
    shutil.rmtree(workspace.runs)
    pack(open_run("some.s1", workspace), workspace.gallery / "some.s1")
    assert open_run("some.s1", workspace).folder == workspace.gallery / "some.s1"
    listed, _ = list_runs(workspace)
    assert [run.folder.parent == workspace.gallery for run in listed] == [True, False]


def test_a_bundled_run_has_its_curves_and_translations_and_says_what_it_lacks(runs, file, workspace, tiny_corpus):
    run, packed = runs[0], Run(opened_bundle(file, workspace.cache)["some.s1"])
    assert (packed.recipe, packed.environment) == (run.recipe, run.environment)
    assert packed.pipeline.checksum() == run.pipeline.checksum()
    assert (packed.status, packed.best_step, packed.original_digest) == (run.status, run.best_step, run.weights_digest)
    for kind in ("validation", "end"):
        pd.testing.assert_frame_equal(packed.metrics(kind), run.metrics(kind))
    for curve, whole in ((packed.metrics("train"), run.metrics("train")), (packed.g_values(), run.g_values())):
        assert len(curve) == len(whole) > 0
        numbers = whole.select_dtypes("number").columns
        pd.testing.assert_frame_equal(curve[numbers], whole[numbers], rtol=1e-3)
    for split in ("dev", "test"):
        assert stored_translations(packed, tiny_corpus, split) == stored_translations(run, tiny_corpus, split)
    assert stored_translations(packed, tiny_corpus, "test", SearchSettings(beam_size=2)) is None
    assert [answer.question.analysis for answer in packed.answers()] == ["norms.some"]
    assert len(packed.gradient_norms()) == len(packed.embedding_norms()) == 0
    assert packed.limitations == (
        "packed without its model, gradient norms and norms of words, it can neither translate nor answer new "
        "questions; it has its training curves, its translations, its vocabulary and stored answers (some) from the "
        f"original weights, digest {run.weights_digest[:12]}"
    )


def test_a_second_seed_takes_little_more_and_the_same_runs_give_the_same_bytes(runs, file, tmp_path):
    bundle(runs[:1], tmp_path / "one.tar.xz")
    alone, both = (path.stat().st_size for path in (tmp_path / "one.tar.xz", file))
    assert both - alone < alone / 5
    bundle(reversed(runs), tmp_path / "two.tar.xz")
    assert (tmp_path / "two.tar.xz").read_bytes() == file.read_bytes()


def test_bundled_runs_can_be_bundled_again(runs, file, tmp_path, workspace):
    bundle(map(Run, opened_bundle(file, workspace.cache).values()), tmp_path / "again.tar.xz")
    assert (tmp_path / "again.tar.xz").read_bytes() == file.read_bytes()


def test_a_bundle_is_opened_once_and_again_when_it_has_changed(runs, file, workspace):
    once = opened_bundle(file, workspace.cache)
    (once["some.s1"] / "mark").touch()
    assert opened_bundle(file, workspace.cache) == once
    assert (once["some.s1"] / "mark").exists()
    bundle(runs[:1], file)
    assert list(opened_bundle(file, workspace.cache)) == ["some.s1"]


def test_a_bundle_can_be_opened_by_several_processes_at_once(file, workspace, monkeypatch):
    def overtaken(folder, files):
        monkeypatch.undo()
        assert list(opened_bundle(file, workspace.cache)) == ["some.s1", "some.s2"]
        write_files(folder, files)

    monkeypatch.setattr("nmtlab.runs.bundle.write_files", overtaken)
    assert list(opened_bundle(file, workspace.cache)) == ["some.s1", "some.s2"]
    assert len(list((workspace.cache / "bundles").iterdir())) == 1


def test_of_two_runs_with_one_name_the_first_bundle_counts(runs, file, workspace):
    other = workspace.gallery / "table-3.6.tiny.tar.xz"
    bundle(runs[1:], other)
    found = bundled_runs([file, other], workspace.cache)
    assert {name: folder.parent for name, folder in found.items()} == dict.fromkeys(
        ("some.s1", "some.s2"), opened_bundle(file, workspace.cache)["some.s1"].parent
    )


def test_a_damaged_bundle_is_named_and_hides_no_other_run(runs, file, tmp_path, workspace):
    evil = tmp_path / "evil"
    shutil.copytree(opened_bundle(file, workspace.cache)["some.s1"], evil)
    (evil / "run.py").touch()
    write_archive([evil], workspace.gallery / "evil.tar.xz")
    (workspace.gallery / "short.tar.xz").write_bytes(file.read_bytes()[:-40])
    listed, broken = list_runs(workspace)
    assert sorted(run.name for run in listed) == ["some.s1", "some.s2"]
    assert set(broken) == {"evil.tar.xz", "short.tar.xz"}
    assert "contains run.py, which no packed run has" in broken["evil.tar.xz"]
    assert sorted(path.name[:11] for path in (workspace.cache / "bundles").iterdir()) == ["table-3.4.t"]
