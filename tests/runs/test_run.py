"""A run's folder: written atomically, read lazily, one writer at a time."""

import fcntl
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from support.full_disk import files_of_at_most

import nmtlab
from nmtlab.errors import CorpusError, NmtlabError, RecipeError, RunError
from nmtlab.recipe import load_recipe
from nmtlab.runs.environment import environment
from nmtlab.runs.listing import list_runs, open_run
from nmtlab.runs.log import append_lines, read_log
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter, writing
from nmtlab.systems import open_system
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

OUTSIDE = ["../x", "/abs", "a/b", "", ".hidden", "..", ".", "a b", "-x", "x\n", "x\0", "a" * 151, "ä"]


@pytest.fixture
def copied(trained, workspace) -> Run:
    """A copy of the trained run, to be damaged."""
    run, _ = trained
    return Run(shutil.copytree(run.folder, workspace.runs / "copied"))


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# Names


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_that_leaves_the_folder_or_is_hard_to_type_is_refused(name, workspace):
    for what in (workspace.run_folder, lambda name: open_run(name, workspace)):
        with pytest.raises(RunError) as caught:
            what(name)
        assert repr(name) in str(caught.value)
        assert "use up to 150 letters, digits and . _ + -" in str(caught.value)
    with pytest.raises(CorpusError, match="use up to 150 letters, digits"):
        workspace.new_corpus_folder(name)


@pytest.mark.parametrize("name", ["a", "9", "demo-postnorm", "tiny.transformer-small.1", "a+b_c", "A" * 150])
def test_other_names_lead_to_a_folder_below_runs(name, workspace):
    assert workspace.run_folder(name) == workspace.data / "runs" / name


def test_training_refuses_such_a_name_before_it_does_anything(tiny_corpus, tiny_recipe, workspace):
    with pytest.raises(RunError, match=r"run name '../x': not allowed"):
        train("../x", tiny_recipe, tiny_corpus, workspace)
    assert not workspace.data.exists()


# Created atomically


def test_a_new_run_has_its_recipe_its_environment_and_its_vocabulary(tiny_corpus, tiny_recipe, workspace):
    pipeline = Pipeline.learn(tiny_recipe.text, tiny_corpus)
    run = Run.create(workspace.runs / "new", tiny_recipe, {"machine": {"cores": 2}}, pipeline)
    assert os.listdir(workspace.runs) == ["new"]
    assert run.recipe == tiny_recipe
    assert run.environment == {"machine": {"cores": 2}}
    assert run.pipeline.checksum() == pipeline.checksum()
    assert run.status == "interrupted"
    assert not run.checkpoints.has_weights("best")
    assert len(run.log.metrics("train")) == len(run.log.gradient_norms()) == len(run.log.g_values()) == 0
    assert run.log.embedding_norms() == {}


@pytest.mark.parametrize("size", [0, 300, 1500])
def test_on_a_full_disk_no_run_is_made_at_all(size, tiny_corpus, tiny_recipe, workspace):
    pipeline = Pipeline.learn(tiny_recipe.text, tiny_corpus)
    with files_of_at_most(size), pytest.raises(OSError, match="too large"):
        Run.create(workspace.runs / "new", tiny_recipe, {"machine": {"processor": "x" * 2000}}, pipeline)
    assert files(workspace.runs) == []
    Run.create(workspace.runs / "new", tiny_recipe, {}, pipeline)


def test_a_run_is_not_made_over_another(copied, tiny_recipe):
    before = files(copied.folder)
    with pytest.raises(RunError, match=r"'copied': already exists; choose another --name$"):
        Run.create(copied.folder, tiny_recipe, {}, copied.pipeline)
    assert files(copied.folder) == before


def test_a_training_that_cannot_begin_leaves_no_run(tiny_corpus, tiny_recipe, workspace):
    too_many = tiny_recipe.with_changes({"text.segmentation": "bpe", "text.vocabulary_size": 30_000})
    with pytest.raises(RecipeError, match="vocabulary_size"):
        train("new", too_many, tiny_corpus, workspace)
    assert files(workspace.runs) == []


# What a trained run holds


def test_a_trained_run_holds_what_the_plan_says_and_nothing_that_is_executed(trained):
    run, _ = trained
    found = {name for name in files(run.folder) if "." in Path(name).name and not name.startswith("translations/")}
    assert found == {
        *(".lock", "recipe.toml", "environment.json", "metrics.jsonl"),
        *(f"vocabulary/{name}" for name in ("pipeline.json", "source.tsv", "target.tsv")),
        *(f"checkpoints/{name}.safetensors" for name in ("best", "last", "last.optimiser-0000060")),
        *("probes/gradient_norm.jsonl", "probes/g.jsonl"),
        *(f"probes/embedding_norms/{step:07}.npz" for step in (20, 40, 60)),
    }


def test_the_best_checkpoint_is_that_of_the_best_dev_bleu(trained):
    run, _ = trained
    validations = run.log.metrics("validation")
    best = validations.loc[validations["bleu"].idxmax()]
    assert run.checkpoints.weights("best")[1] == {"step": best["step"], "bleu": best["bleu"]}
    assert run.checkpoints.weights("last")[1]["step"] == 60
    assert run.status == "finished"


def test_the_recipe_of_a_run_is_complete_and_names_its_corpus(trained, tiny_recipe):
    run, _ = trained
    corpus = {"corpus.name": "tiny", "corpus.source": "de", "corpus.target": "en"}
    assert load_recipe(run.folder / "recipe.toml") == tiny_recipe.with_changes(corpus)
    assert not re.search(r"^base\b", (run.folder / "recipe.toml").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_environment_tells_versions_and_machine_but_neither_host_nor_path(trained):
    run, _ = trained
    assert set(run.environment) == {
        "nmtlab", "python", "packages", "machine", "processes", "corpus_checksum", "code",
    }  # fmt: skip
    assert run.environment["packages"]["torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    assert set(run.environment["machine"]) <= {"system", "processor", "cores", "gpu"}
    for name in ("environment.json", "recipe.toml", "metrics.jsonl", "vocabulary/pipeline.json"):
        text = (run.folder / name).read_text(encoding="utf-8")
        assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", text), name
        assert not re.search(r"[\"'\s](/[\w.-]+)+", text), name
        assert str(Path.home()) not in text, name


# Damage


@pytest.mark.parametrize("which", ["best", "last"])
def test_a_damaged_checkpoint_is_named_and_the_rest_of_the_run_can_still_be_read(copied, which):
    path = copied.folder / "checkpoints" / f"{which}.safetensors"
    content = bytearray(path.read_bytes())
    content[-9] ^= 4
    path.write_bytes(content)
    with pytest.raises(RunError, match=rf"copied/checkpoints/{which}.safetensors: checksum mismatch"):
        open_system(copied, which=which)
    path.write_bytes(content[:1000])
    with pytest.raises(RunError, match=rf"copied/checkpoints/{which}.safetensors: damaged or truncated"):
        open_system(copied, which=which)
    path.unlink()
    with pytest.raises(RunError, match=rf"copied/checkpoints/{which}.safetensors: no such checkpoint"):
        open_system(copied, which=which)
    assert copied.status == "finished"
    assert len(copied.log.metrics("validation")) == 3


@pytest.mark.parametrize(
    ("file", "read"),
    [
        ("recipe.toml", lambda run: run.recipe),
        ("environment.json", lambda run: run.environment),
        ("vocabulary/pipeline.json", lambda run: run.pipeline),
        ("vocabulary/target.tsv", lambda run: run.pipeline),
        ("metrics.jsonl", lambda run: run.log.metrics("train")),
        ("probes/g.jsonl", lambda run: run.log.g_values()),
        ("probes/gradient_norm.jsonl", lambda run: run.log.gradient_norms()),
        ("probes/embedding_norms/0000040.npz", lambda run: run.log.embedding_norms()),
    ],
)
def test_any_other_damaged_file_is_named_too(copied, file, read):
    path = copied.folder / file
    path.write_bytes(b"{\xff damaged\n\n" + path.read_bytes()[:100] + b"\n")
    with pytest.raises(NmtlabError) as caught:
        read(Run(copied.folder))
    assert Path(file).name in str(caught.value)
    assert "; " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_recipe_is_no_run(workspace):
    (workspace.runs / "empty").mkdir(parents=True)
    for name in ("empty", "missing"):
        with pytest.raises(RunError, match=f"run '{name}': not found; 'nmtlab runs list --packed' lists all runs"):
            open_run(name, workspace)


def test_runs_are_listed_newest_first_and_folders_that_are_no_whole_runs_are_named(trained, workspace):
    run, _ = trained
    for age, name in enumerate(("newest", "middle", "oldest")):
        folder = shutil.copytree(run.folder, workspace.runs / name)
        os.utime(folder, (1e9 - age, 1e9 - age))
    for name, file in (("no-environment", "environment.json"), ("no-recipe", "recipe.toml")):
        (shutil.copytree(run.folder, workspace.runs / name) / file).unlink()
    (shutil.copytree(run.folder, workspace.runs / "bad-recipe") / "recipe.toml").write_text("[model", encoding="utf-8")
    (shutil.copytree(run.folder, workspace.runs / "bad-log") / "metrics.jsonl").write_text("{\n", encoding="utf-8")
    (workspace.runs / ".unfinished").mkdir()
    (workspace.runs / "a file").write_text("", encoding="utf-8")
    runs, broken = list_runs(workspace)
    assert [run.name for run in runs] == ["newest", "middle", "oldest"]
    assert sorted(broken) == ["bad-log", "bad-recipe", "no-environment", "no-recipe"]


def test_without_a_runs_folder_there_are_no_runs(workspace):
    assert list_runs(workspace) == ([], {})


def test_arrays_that_would_execute_something_when_read_are_refused(copied, tmp_path):
    class Evil:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "executed"),))

    np.savez(copied.folder / "probes/embedding_norms/0000040.npz", source=np.array([Evil()], dtype=object))
    with pytest.raises(RunError, match=r"0000040\.npz"):
        copied.log.embedding_norms()
    assert not (tmp_path / "executed").exists()


# Logs


def test_a_last_line_that_was_cut_off_does_not_count(copied):
    log = copied.folder / "metrics.jsonl"
    lines = read_log(log)
    assert lines[-1]["kind"] == "end"
    content = log.read_bytes()
    for cut in range(1, 20):
        log.write_bytes(content[:-cut])
        assert read_log(log) == lines[:-1]
        assert copied.status == "interrupted"
    log.write_bytes(b'{"kind": "tra')
    assert read_log(log) == []
    log.write_bytes(b"")
    assert read_log(log) == []


def test_lines_come_back_as_they_were_appended(tmp_path):
    lines = [{"step": 1, "loss": 0.1, "text": "a\u2028b\x85\n"}, {"step": 2, "loss": float("nan")}]
    append_lines(tmp_path / "probes" / "log.jsonl", lines[:1])
    append_lines(tmp_path / "probes" / "log.jsonl", lines[1:])
    found = read_log(tmp_path / "probes" / "log.jsonl")
    assert found[0] == lines[0]
    assert np.isnan(found[1]["loss"])
    assert read_log(tmp_path / "none.jsonl") == []


def test_cutting_back_forgets_what_came_after_a_step_and_how_the_run_ended(copied):
    RunWriter(copied).truncate_after(35)
    assert copied.status == "interrupted"
    assert copied.log.metrics("train")["step"].tolist() == [10, 20, 30]
    assert copied.log.metrics("validation")["step"].tolist() == [20]
    assert len(copied.log.metrics("end")) == 0
    assert copied.log.gradient_norms()["step"].max() == 35
    assert set(copied.log.g_values()["step"]) == {20}
    assert list(copied.log.embedding_norms()) == [20]


def test_cutting_back_to_an_evaluation_keeps_all_that_it_logged(copied):
    RunWriter(copied).truncate_after(40)
    assert copied.log.metrics("train")["step"].tolist() == [10, 20, 30, 40]
    assert copied.log.metrics("validation")["step"].tolist() == [20, 40]
    assert copied.log.gradient_norms()["step"].max() == 40
    assert set(copied.log.g_values()["step"]) == {20, 40}
    assert list(copied.log.embedding_norms()) == [20, 40]


# One writer


@pytest.mark.full
def test_a_run_is_training_while_another_process_holds_it_and_interrupted_when_that_has_gone(copied):
    RunWriter(copied).truncate_after(35)
    program = (
        "import sys; from pathlib import Path\n"
        "from nmtlab.runs.run import Run; from nmtlab.runs.writer import writing\n"
        "with writing(Run(Path(sys.argv[1]))): print('held', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(copied.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        assert copied.status == "training"
        with (
            pytest.raises(RunError, match="'copied': another process is training it; wait for it to end"),
            writing(copied),
        ):
            pass
        other.kill()
    assert copied.status == "interrupted"
    with writing(copied):
        assert copied.status == "training"


# Checkpoints that belong together

FACTS = {"epoch": 0, "batch": 1, "seconds": 1.0, "factor": 1.0, "best": None, "since_best": 0, "evaluations": 0}


@pytest.mark.parametrize("too_large", ["weights", "optimiser"])
def test_the_last_checkpoint_and_its_optimiser_are_replaced_together(too_large, workspace, tiny_corpus, tiny_recipe):
    run = Run.create(workspace.runs / "run", tiny_recipe, {}, Pipeline.learn(tiny_recipe.text, tiny_corpus))
    RunWriter(run).save_last({"w": torch.ones(4)}, {"exp_avg.w": torch.ones(4)}, FACTS | {"step": 10})
    weights = {"w": torch.zeros(5000 if too_large == "weights" else 4)}
    optimiser = {"exp_avg.w": torch.zeros(5000 if too_large == "optimiser" else 4)}
    with files_of_at_most(4096), pytest.raises(RunError, match=r"safetensors: could not be written"):
        RunWriter(run).save_last(weights, optimiser, FACTS | {"step": 20})
    kept, facts = run.checkpoints.weights("last")
    moments, _ = run.checkpoints.optimiser(facts["step"])
    assert (facts["step"], kept["w"].tolist(), moments["exp_avg.w"].tolist()) == (10, [1] * 4, [1] * 4)
    RunWriter(run).save_last(weights, optimiser, FACTS | {"step": 20})
    assert files(run.folder / "checkpoints") == ["last.optimiser-0000020.safetensors", "last.safetensors"]


@pytest.mark.full
def test_a_disk_that_fills_up_while_training_loses_nothing(tmp_path, tiny_corpus, tiny_recipe, trained):
    whole, _ = trained
    workspace = Workspace(tmp_path / "data")
    steps = iter(range(1000))
    run = train("run", tiny_recipe, tiny_corpus, workspace, should_stop=lambda: next(steps) == 25)
    checkpoints = {path: path.read_bytes() for path in (run.folder / "checkpoints").iterdir()}
    assert run.checkpoints.weights("last")[1]["step"] == 25
    room = min(map(len, checkpoints.values())) - 1000  # for logs and probes, not for a checkpoint
    program = (
        "import resource, sys; room = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))\n"
        "sys.argv[:2] = ['nmtlab']; from nmtlab.cli import main; main()"
    )
    words = ["train", str(tiny_corpus.folder), "--name", "run", "--resume", "--threads", "1"]
    environment = {**os.environ, "NMTLAB_DATA": str(workspace.data), "PYTHONDONTWRITEBYTECODE": "1"}
    full = subprocess.run(
        [sys.executable, "-c", program, str(room), *words], env=environment, capture_output=True, text=True
    )
    assert full.returncode == 2
    assert full.stderr.startswith("nmtlab: ")
    assert ".safetensors: could not be written (File too large); free some space" in full.stderr
    assert full.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in (run.folder / "checkpoints").iterdir()} == checkpoints
    assert run.status == "interrupted"

    train("run", tiny_recipe, tiny_corpus, workspace, resume=True)
    assert run.status == "finished"
    assert run.log.gradient_norms().equals(whole.log.gradient_norms())
    assert all(
        torch.equal(run.checkpoints.weights("last")[0][name], tensor)
        for name, tensor in whole.checkpoints.weights("last")[0].items()
    )


def test_a_saved_translation_has_a_line_for_each_sentence(copied):
    path = copied.notes.save_translation("mine.txt", ["a", "", "two\nlines"])
    assert path.read_text(encoding="utf-8") == "a\n\ntwo lines\n"


def test_a_look_at_the_status_does_not_keep_a_training_from_resuming(copied):
    """Like a page that polls: hold the lock for a moment."""
    looking = (copied.folder / ".lock").open()
    fcntl.flock(looking, fcntl.LOCK_SH)
    threading.Timer(0.2, looking.close).start()
    with writing(copied):
        assert copied.status == "finished"


# Environment


def test_the_commit_is_that_of_nmtlab_and_not_of_a_repository_that_it_is_installed_in(tmp_path, monkeypatch):
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    package = tmp_path / "nmtlab"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    git("init")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-m", "another project")
    monkeypatch.setattr(nmtlab, "__file__", str(package / "__init__.py"))
    assert environment([""], torch.device("cpu"))["code"] == {}
    git("add", "nmtlab")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "nmtlab")
    assert len(environment([""], torch.device("cpu"))["code"]["commit"]) == 40
