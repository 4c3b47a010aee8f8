"""Starting, watching, stopping and resuming trainings, which continue without the page."""

import sys
from html import escape
from pathlib import Path

import ipywidgets as widgets
import pandas as pd

from nmtlab.dashboards.about import TRAIN
from nmtlab.dashboards.chart import Chart
from nmtlab.dashboards.columns import columns, row
from nmtlab.dashboards.page import Note, Page
from nmtlab.dashboards.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.jobs import Job, list_jobs
from nmtlab.recipe import find_recipe, recipe_names
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.views import dev_view
from nmtlab.workspace import Workspace

_LINES = 12
_TRAIN = (sys.executable, "-m", "nmtlab", "train")


class TrainPage(Page):
    """Controls to start a training; the list of trainings with dev scores and log; buttons to stop and resume."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.corpus = widgets.Dropdown(description="Corpus", options=workspace.corpus_names(), layout={"width": "26em"})
        self.recipe = widgets.Dropdown(
            description="Recipe", options=recipe_names(), value="transformer-tiny", layout={"width": "26em"}
        )
        self.name = widgets.Text(description="Name", placeholder="name of the new run", layout={"width": "26em"})
        self.settings = widgets.Text(
            description="Settings", placeholder="model.dropout=0.2 training.max_evaluations=5", layout={"width": "26em"}
        )
        self.start = widgets.Button(description="Start training", button_style="primary")
        self.recipe_note, self.hint = Note(), Note()
        self.jobs = Table("Trainings started here", pick="one", height="13em")
        self.stop = widgets.Button(description="Stop", tooltip="Save a checkpoint and stop; can be resumed")
        self.resume = widgets.Button(description="Resume")
        self.curve, self.printed = Chart(), widgets.HTML()
        self.start.on_click(lambda _: self._start())
        self.stop.on_click(lambda _: self._stop())
        self.resume.on_click(lambda _: self._resume())
        state = {"corpus": self.corpus, "recipe": self.recipe, "settings": self.settings, "job": self.jobs}
        controls = [self.corpus, self.recipe, self.recipe_note, self.settings, self.name, self.start]
        parts = {self.curve: ("job",), self.hint: ("job", "corpus")}
        body = [
            columns(widgets.VBox(controls), widgets.VBox([self.jobs, row(self.stop, self.resume)])),
            self.hint, columns(self.curve, self.printed),
        ]  # fmt: skip
        super().__init__(TRAIN, state, self._answer, body, self._look, parts)

    def _answer(self, changed: set[str]) -> None:
        self.recipe_note.say(find_recipe(self.recipe.value).about)
        if changed & {"job", "corpus"}:
            self._list()
        job = self._picked()
        self.stop.disabled = job is None or not job.alive
        self.resume.disabled = job is None or job.alive or not self._resumable(job)
        if job is None:
            self.printed.value = ""
            self.hint.say("No trainings started from this page yet. Trainings continue when the page is closed.")
            return
        self._watch(job)

    def _watch(self, job: Job) -> None:
        folder = self._workspace.run_folder(job.name)
        if folder.is_dir() and len(Run(folder).metrics("validation")):
            self.curve.show(dev_view([Run(folder)]).figure)
        self.hint.say(f"{job.name}: {'training' if job.alive else _ended(job, folder)}.")
        self.printed.value = f"<pre class='nmtlab-log'>{escape(job.tail(_LINES))}</pre>"

    def _look(self) -> set[str]:
        self._offer_corpora()
        return {"job"} if self._picked() else set()

    def _offer_corpora(self) -> None:
        corpora, before = self._workspace.corpus_names(), self.corpus.value
        if tuple(corpora) != tuple(self.corpus.options):
            self.corpus.options = corpora
            self.corpus.value = before if before in corpora else next(iter(corpora), None)

    def _list(self) -> None:
        jobs, damaged = list_jobs(self._folder)
        rows = [{"run": job.name, "state": "training" if job.alive else "ended", "started": _when(job)} for job in jobs]
        rows += [{"run": name, "state": "damaged", "started": ""} for name in damaged]
        self.jobs.show(pd.DataFrame(rows, index=[row["run"] for row in rows]))
        if not self.jobs.chosen and jobs:
            self.jobs.choose([jobs[0].name])

    def _start(self) -> None:
        with self.guarded():
            self.tell("")
            if self.corpus.value is None:
                raise NmtlabError("no corpus here", "import one with 'nmtlab corpus import'")
            find_recipe(self.recipe.value).with_settings(self.settings.value.split())
            name = self.name.value.strip() or f"{self.corpus.value}.{self.recipe.value}"
            if self._workspace.run_folder(name).exists():
                raise NmtlabError(f"run {name!r} already exists", "choose another name or resume it")
            ParallelCorpus.open(self._workspace.corpus_folder(self.corpus.value))
            settings = [part for setting in self.settings.value.split() for part in ("--set", setting)]
            self._launch(name, [self.corpus.value, "--name", name, "--recipe", self.recipe.value, *settings])

    def _resume(self) -> None:
        with self.guarded():
            self.tell("")
            job = self._picked()
            if job is not None:
                first = [word for word in job.command[len(_TRAIN) :] if word != "--resume"]
                self._launch(job.name, [*first, "--resume"])

    def _launch(self, name: str, options: list[str]) -> None:
        Job.start(self._folder / name, [*_TRAIN, *options])
        self._list()
        self.jobs.choose([name])
        self._changed("job")

    def _stop(self) -> None:
        with self.guarded():
            self.tell("")
            if job := self._picked():
                job.stop()
                self.hint.say(f"{job.name}: stopping and saving a checkpoint; can be resumed.")

    def _picked(self) -> Job | None:
        name = self.jobs.value
        return Job.open(self._folder / name) if name else None

    def _resumable(self, job: Job) -> bool:
        folder = self._workspace.run_folder(job.name)
        return folder.is_dir() and Run(folder).status in ("interrupted", "stopped")

    @property
    def _folder(self) -> Path:
        return self._workspace.data / "jobs"


def train_page(workspace: Workspace | None = None) -> TrainPage:
    """Return the page."""
    return TrainPage(workspace or Workspace.find())


def _ended(job: Job, folder: Path) -> str:
    if job.last_error:
        return job.last_error
    return f"{Run(folder).status}" if folder.is_dir() else "ended before its run was created; see the log"


def _when(job: Job) -> str:
    return job.started.astimezone().strftime("%Y-%m-%d %H:%M")
