"""`nmtlab status`, which loads little: most of what it prints is in the index of runs."""

import shlex
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from nmtlab.cli.answer import Answer, Json, print_answer
from nmtlab.cli.runs_list import NOT_EVALUATED, run_facts
from nmtlab.cli.tables import print_table
from nmtlab.errors import noting
from nmtlab.jobs import Job, list_jobs
from nmtlab.locks import is_locked
from nmtlab.runs.index import RunIndex
from nmtlab.runs.schemas import Status
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from nmtlab.runs.run import Run

Running = Literal["training", "starting", "measuring"]

_SHOWN = 5
"""Trainings that ended last, of which the status says something."""

_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60}


class Work(Answer):
    """A training or a measurement, in `WorkspaceStatus`."""

    run: str
    """Name of the run."""
    status: Status | Running | Literal["failed"]
    """Of the training: `starting` before its first update, `failed` with an error; or that the run is measured."""
    about: str
    """The text that it is trained on, or the analysis that measures it."""
    updates: int | None
    """So far."""
    dev_bleu: float | None
    """Of the best checkpoint, in percent."""
    changed: str
    """When there was the last sign of it: date and time, UTC."""
    error: str | None
    """What went wrong, and what to do."""


class WorkspaceStatus(Answer):
    """What `nmtlab status --json` prints."""

    data: str
    """The folder of the workspace."""
    running: list[Work]
    """Trainings, newest first, and measurements, by any process."""
    ended: list[Work]
    """The five trainings that ended last, newest first."""
    damaged: dict[str, str]
    """Folder or file that cannot be opened -> what is wrong, and what to do."""
    next: str
    """A command that may be useful now."""


class _Training(NamedTuple):
    """A run, or the job of a run that is not there; `changed` is in seconds since 1970."""

    name: str
    status: str
    changed: float
    error: str | None = None
    job: Job | None = None


def status(as_json: Json = False) -> None:
    """Say what is running here, what ended lately and how, and which command may be useful next."""
    found = _status(Workspace.find())
    if as_json:
        print_answer(found)
        return
    work = [*found.running, *found.ended]
    if work:
        columns = ["run", "status", "about", "updates", "dev BLEU", "when"]
        title = f"Running and lately ended in {found.data}"
        print_table(title, columns, [_row(one) for one in work], {"updates", "dev BLEU"})
    else:
        print(f"nothing has been trained in {found.data} yet")
    for name, problem in ({one.run: one.error for one in work if one.error} | found.damaged).items():
        print(f"{name}: {problem}")
    print(f"next: {found.next}")


def _status(workspace: Workspace) -> WorkspaceStatus:
    index = RunIndex(workspace)
    trainings = sorted(_trainings(index, workspace), key=lambda one: one.changed, reverse=True)
    running = [one for one in trainings if one.status in get_args(Running)]
    ended = [one for one in trainings if one not in running][:_SHOWN]
    work = {one.run: one for one in _described([*running, *ended], index)}
    found = WorkspaceStatus(
        data=str(workspace.data),
        running=[*(work[one.name] for one in running if one.name in work), *_measurements(workspace)],
        ended=[work[one.name] for one in ended if one.name in work],
        next=_next([one for one in (*running, *ended) if one.name in work], index, workspace),
        damaged=dict(sorted(index.broken.items())),
    )
    index.save()
    return found


def _trainings(index: RunIndex, workspace: Workspace) -> Iterable[_Training]:
    """Return the trainings of a workspace; a run or job that cannot be read is noted in the index."""
    found: dict[str, _Training] = {}
    for name in index.trained:
        with noting(index.broken, name):
            found[name] = _Training(name, index.status(name), _changed(workspace.runs / name, "metrics.jsonl"))
    jobs, damaged = list_jobs(workspace.jobs)
    for job in jobs:
        if job.name not in index.broken:
            found[job.name] = _of_job(job, found.get(job.name))
    for name in damaged:
        index.broken[f"jobs/{name}"] = "job.json is missing or damaged; start it again, or remove its folder"
    return found.values()


def _of_job(job: Job, run: _Training | None) -> _Training:
    """Return what is known of a training that was started as a job, given what is known of its run, if there is one."""
    if run and run.status != "interrupted":
        return run
    if job.alive:
        return _Training(job.name, "starting", job.started.timestamp(), job=None if run else job)
    error = job.last_error
    if run:
        return run._replace(status="failed", error=error) if error else run
    unknown = f"ended before its run was created; {job.folder / 'log'} may say why"
    return _Training(job.name, "failed", _changed(job.folder, "log"), error or unknown, job)


def _described(trainings: Iterable[_Training], index: RunIndex) -> Iterator[Work]:
    """Yield what is said of trainings; one that cannot be read is noted in the index."""
    for one in trainings:
        with noting(index.broken, one.name):
            yield _work(one.name, one.status, one.changed, error=one.error, **_facts(one, index))


def _facts(training: _Training, index: RunIndex) -> dict[str, Any]:
    if training.job:
        return {"about": " ".join(training.job.command[4:5])}  # python -m nmtlab train CORPUS
    run = run_facts(index, training.name)
    about = ", ".join(f"{text.name} {text.source}-{text.target}" for text in run.texts)
    return {"about": about, "updates": run.updates, "dev_bleu": run.dev_bleu}


def _measurements(workspace: Workspace) -> Iterator[Work]:
    """Yield what is being measured: on disks with locks, the log of an unfinished answer is locked."""
    for folder in (workspace.runs, workspace.notes):
        for log in sorted(folder.glob("[!.]*/measures/*.jsonl")):
            if is_locked(log):
                analysis = log.stem.rpartition("-")[0].rpartition(".")[2].replace("_", " ")
                yield _work(log.parents[1].name, "measuring", log.stat().st_mtime, about=analysis)


def _work(run: str, status: str, changed: float, **facts: Any) -> Work:
    reasons = NOT_EVALUATED | {"updates": "none yet, or this is no training", "error": "none is known"}
    seen = datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds")
    return Work.of(reasons, run=run, status=status, changed=seen, **dict.fromkeys(reasons) | facts)


def _next(trainings: list[_Training], index: RunIndex, workspace: Workspace) -> str:
    """Return a command that may be useful now, given the trainings that are shown, those that are running first."""
    words = ["runs", "list"]
    if not trainings:
        corpora = workspace.corpus_names()
        words = ["train", corpora[0]] if corpora else ["demo"]
    elif trainings[0].job:
        words = ["status"] if trainings[0].status == "starting" else list(trainings[0].job.command[3:])
    elif trainings[0].status in get_args(Running):
        words = ["runs", "show", trainings[0].name]
    else:
        with noting(index.broken, trainings[0].name):
            words = _after(*trainings, index=index, workspace=workspace)
    return shlex.join(["nmtlab", *words])


def _after(ended: _Training, *others: _Training, index: RunIndex, workspace: Workspace) -> list[str]:
    """Return the words of a command that may be useful after a training, given others before it."""
    run, name = index.fact(ended.name, "advice", _advice), ended.name
    corpus = run["corpus"] if run["corpus"] in workspace.corpus_names() else f"path/to/{run['corpus']}"
    if ended.status == "imported":
        return ["translate", name]
    if ended.status == "diverged":
        recipe, slower = workspace.runs / name / "recipe.toml", f"training.lr_scale={run['lr_scale'] / 2:g}"
        return ["train", corpus, "--recipe", str(recipe), "--name", f"{name}.slower", "--set", slower]
    if ended.status in ("interrupted", "failed") or not run["weights"]:
        return ["train", corpus, "--name", name, "--resume"] if run["neural"] else ["runs", "remove", name]
    elsewhere = [] if corpus == run["corpus"] else ["--corpus", corpus]
    if not run["translated"]:
        return ["evaluate", name, *elsewhere]
    for other in others:
        before = index.fact(other.name, "advice", _advice) if other.job is None else {}
        if before.get("translated") and before["corpus"] == run["corpus"]:
            return ["compare", other.name, name, *elsewhere]
    return ["dashboards"]


def _advice(run: "Run") -> dict[str, Any]:
    """Return what the next command after a training depends on."""
    return {
        "corpus": run.recipe.corpus.name,
        "lr_scale": run.recipe.training.lr_scale,
        "neural": run.recipe.model.neural,
        "weights": run.checkpoints.has_weights() or not run.recipe.model.neural,
        "translated": bool(run.notes.translations()),
    }


def _row(work: Work) -> list[str]:
    updates = "-" if work.updates is None else f"{work.updates:,}"
    bleu = "-" if work.dev_bleu is None else f"{work.dev_bleu:.2f}"
    return [work.run, work.status, work.about, updates, bleu, _ago(datetime.fromisoformat(work.changed).timestamp())]


def _ago(moment: float) -> str:
    """Return how long ago a moment was, in words."""
    seconds = time.time() - moment
    for unit, length in _UNITS.items():
        if number := int(seconds / length):
            return f"{number} {unit}{'s' * (number > 1)} ago"
    return "just now"


def _changed(folder: Path, file: str) -> float:
    """Return when a file was changed, or its folder if it is not there."""
    path = folder / file
    return (path if path.exists() else folder).stat().st_mtime
