"""`nmtlab status`: what is running, what ended, and a command that can be given next."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from nmtlab.cli.status import WorkspaceStatus
from nmtlab.jobs import Job
from nmtlab.locks import lock
from nmtlab.recipe import load_recipe
from nmtlab.runs.log import keep_lines, read_log, write_log
from nmtlab.runs.run import Run


@pytest.fixture
def found(nmtlab, data):
    """Return the status of the workspace, as JSON, after checking that the text says the same."""

    def found() -> WorkspaceStatus:
        said = nmtlab("status", "--json")
        assert (said.code, said.err) == (0, "")
        status = WorkspaceStatus.model_validate_json(said.out, strict=True)
        text = nmtlab("status")
        assert text.code == 0
        assert text.out.splitlines()[-1] == f"next: {status.next}"
        rows = [[cell.strip() for cell in line.split("│")[1:3]] for line in text.out.splitlines() if line[:1] == "│"]
        assert rows == [[one.run, one.status] for one in (*status.running, *status.ended)]
        return status

    return found


def ended(status: WorkspaceStatus) -> list[tuple[str, str]]:
    return [(one.run, one.status) for one in status.ended]


def end_as(folder: Path, status: str) -> None:
    """Let a training have ended in a way; in none if it is empty."""
    keep_lines(folder / "metrics.jsonl", dict, lambda line: line["kind"] != "end")
    lines = read_log(folder / "metrics.jsonl")
    end = {"kind": "end", "step": lines[-1]["step"], "status": status, "seconds": 1.0}
    write_log(folder / "metrics.jsonl", [*lines, *([end] if status else [])])


def job_of(data: Path, name: str, program: str) -> Job:
    """Start a job whose command looks like that of a training, but is a program in Python."""
    job = Job.start(data / "jobs" / name, [sys.executable, "-c", program])
    facts = json.loads((job.folder / "job.json").read_text(encoding="utf-8"))
    words = ["python", "-m", "nmtlab", "train", "tiny", "--name", name]
    (job.folder / "job.json").write_text(json.dumps(facts | {"command": words}), encoding="utf-8")
    return job


def test_an_empty_workspace_begins_with_the_demo(found, data, monkeypatch):
    shutil.rmtree(data)
    monkeypatch.delenv("NMTLAB_CORPORA")
    assert found() == WorkspaceStatus(data=str(data), running=[], ended=[], damaged={}, next="nmtlab demo")


def test_a_corpus_without_runs_is_to_be_trained_on(found, data):
    shutil.rmtree(data / "runs")
    assert found().next == "nmtlab train tiny"


def test_a_finished_run_is_evaluated_and_then_compared(found, data, nmtlab):
    status = found()
    (whole,) = status.ended
    run = Run(data / "runs/whole")
    assert (whole.status, whole.about, whole.updates) == ("finished", "tiny de-en", run.log.last_step)
    assert whole.dev_bleu == run.checkpoints.best_bleu
    assert status.next == "nmtlab evaluate whole"
    assert nmtlab(*status.next.split()[1:]).code == 0
    assert found().next == "nmtlab dashboards"
    newer = shutil.copytree(data / "runs/whole", data / "runs/newer")
    os.utime(newer / "metrics.jsonl")
    assert found().next == "nmtlab compare whole newer"
    shutil.rmtree(newer / "translations")
    assert found().next == "nmtlab evaluate newer"


def test_an_interrupted_run_is_resumed_and_one_in_training_is_shown(found, data):
    end_as(data / "runs/whole", "")
    assert (ended(found()), found().next) == ([("whole", "interrupted")], "nmtlab train tiny --name whole --resume")
    with lock(data / "runs/whole/.lock"):
        status = found()
        assert [(one.run, one.status) for one in status.running] == [("whole", "training")]
        assert (status.ended, status.next) == ([], "nmtlab runs show whole")
    assert ended(found()) == [("whole", "interrupted")]


def test_a_stopped_run_is_evaluated_if_it_can_be_and_else_resumed(found, data):
    end_as(data / "runs/whole", "stopped")
    assert found().next == "nmtlab evaluate whole"
    shutil.rmtree(data / "runs/whole/checkpoints")
    assert found().next == "nmtlab train tiny --name whole --resume"


def test_a_run_that_diverged_is_trained_more_slowly(found, data, nmtlab):
    end_as(data / "runs/whole", "diverged")
    status = found()
    assert ended(status) == [("whole", "diverged")]
    words = status.next.split()
    lr_scale = Run(data / "runs/whole").recipe.training.lr_scale
    assert words[-4:] == ["--name", "whole.slower", "--set", f"training.lr_scale={lr_scale / 2:g}"]
    assert load_recipe(Path(words[words.index("--recipe") + 1])) == Run(data / "runs/whole").recipe
    assert "parameters" in nmtlab(*words[1:], "--estimate").out


def test_text_that_is_not_in_the_workspace_is_named_as_a_path(found, data, monkeypatch):
    end_as(data / "runs/whole", "")
    monkeypatch.delenv("NMTLAB_CORPORA")
    assert found().next == "nmtlab train path/to/tiny --name whole --resume"


def test_a_job_that_failed_says_why_and_what_was_started(found, data):
    message = "nmtlab: corpus 'tiny': is gone; bring it back"
    job = job_of(data, "mine", f"print({message!r})")
    job._process.wait()
    status = found()
    mine = next(one for one in status.ended if one.run == "mine")
    assert (mine.status, mine.about, mine.updates) == ("failed", "tiny", None)
    assert mine.error == "corpus 'tiny': is gone; bring it back"
    assert status.next == "nmtlab train tiny --name mine"
    end_as(shutil.copytree(data / "runs/whole", data / "runs/mine"), "")
    failed = next(one for one in found().ended if one.run == "mine")
    assert (failed.status, failed.error) == ("failed", mine.error)
    assert found().next == "nmtlab train tiny --name mine --resume"
    end_as(data / "runs/mine", "finished")
    assert next(one for one in found().ended if one.run == "mine").error is None


def test_a_job_without_a_run_is_starting(found, data):
    job = job_of(data, "mine", "import time; time.sleep(600)")
    try:
        status = found()
    finally:
        os.kill(job.pid, 9)
    assert [(one.run, one.status, one.about) for one in status.running] == [("mine", "starting", "tiny")]
    assert status.next == "nmtlab status"


def test_a_measurement_is_running_while_its_log_is_locked(found, data):
    path = data / "runs/whole/measures/search.search_errors.search_errors-0123456789ab.jsonl"
    path.parent.mkdir(exist_ok=True)
    with lock(path):
        (measured,) = found().running
    assert (measured.run, measured.status, measured.about) == ("whole", "measuring", "search errors")
    assert found().running == []


def test_damaged_runs_and_jobs_are_named_in_a_line_each(found, data, nmtlab):
    for name, file in (("cut", "metrics.jsonl"), ("odd", "recipe.toml")):
        shutil.copytree(data / "runs/whole", data / "runs" / name)
        (data / "runs" / name / file).write_text("{\n", encoding="utf-8")
    (data / "runs/empty").mkdir()
    (data / "jobs/bad").mkdir(parents=True)
    status = found()
    assert ended(status) == [("whole", "finished")]
    assert list(status.damaged) == ["cut", "empty", "jobs/bad", "odd"]
    text = nmtlab("status").out
    assert all(
        re.search(rf"^{re.escape(f'{name}: {problem}')}$", text, re.M) for name, problem in status.damaged.items()
    )


def test_an_imported_run_translates(found, data):
    facts = {"model": "opus-de-en", "architecture": "MarianMTModel"}
    (data / "runs/whole/imported.json").write_text(json.dumps(facts), encoding="utf-8")
    (data / "runs/whole/metrics.jsonl").unlink()
    assert ended(found()) == [("whole", "imported")]
    assert found().next == "nmtlab translate whole"


def test_only_the_runs_that_ended_last_are_named(found, data):
    for number in range(7):
        folder = shutil.copytree(data / "runs/whole", data / f"runs/run{number}")
        os.utime(folder / "metrics.jsonl", (number, number))
    assert [name for name, _ in ended(found())] == ["whole", "run6", "run5", "run4", "run3"]
