"""Starting, watching, stopping and resuming trainings, which continue without the page."""

import sys
from html import escape

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.dynamics.convergence import TrainingProgress, training_progress
from nmtlab.analysis.dynamics.curves import DEV_CURVE
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.links import links_to
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.parts.plan import Plan
from nmtlab.dashboards.parts.settings import SettingsEditor
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, offer, row
from nmtlab.dashboards.widgets.note import Answer, Note, heading, html
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.jobs import Job, list_jobs
from nmtlab.progress import clock
from nmtlab.recipe import Recipe, find_recipe, recipe_names
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

PAGE = About(
    place=120,
    group="Train",
    title="Train",
    question="How does a recipe train on a corpus? Start, watch and stop a training.",
    name="train",
)

_LINES = 12
_MAKE_ONE = "import one with 'nmtlab corpus import', or generate one with 'nmtlab corpus make'"
_NEXT = "; next: nmtlab "  # a command for a terminal; the page has links
_TRAIN = (sys.executable, "-m", "nmtlab", "train")


class TrainPage(Page):
    """Controls to start a training, with its cost; the list of trainings with progress, dev scores and log."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.corpus = widgets.Dropdown(description="Corpus", options=workspace.corpus_names())
        self.recipe = widgets.Dropdown(description="Recipe", options=recipe_names(), value="transformer-tiny")
        self.name = widgets.Text(description="Name")
        self.settings = widgets.Text(description="Settings", placeholder="model.dropout=0.2 …", continuous_update=False)
        self.start = button("Start training", self._start, self.guarded, button_style="primary")
        self.recipe_note, self.hint = Note(), Answer()
        self.plan, self.editor = Plan(self.guarded), SettingsEditor(self.settings, self.guarded)
        self.jobs = Table("Trainings started here", pick="one", height="13em")
        about = "Save a checkpoint and stop; can be resumed"
        self.stop = button("Stop", self._stop, self.guarded, tooltip=about)
        self.resume = button("Resume", self._resume, self.guarded)
        self.progress, self.links = html(), html(style="nmtlab-links")
        self.curve, self.printed = Chart(), widgets.HTML()
        state = {
            "corpus": self.corpus, "recipe": self.recipe, "settings": self.settings, "field": self.editor.table,
            "job": self.jobs,
        }  # fmt: skip
        sections = [
            Section(("job", "corpus"), (self.curve, self.hint), self._watch),
            Section(("corpus", "recipe", "settings", "field"), (), self._explain),
            Section(("corpus", "recipe", "settings"), (self.plan,), self._estimate),
        ]
        rail = [
            heading("New training"), self.corpus, self.recipe, self.recipe_note, self.settings, self.name, self.start,
            self.plan,
        ]  # fmt: skip
        body = [
            self.hint, self.progress, self.links, self.curve, self.jobs, row(self.stop, self.resume),
            Fold("log", "What did the training print?", self.printed),
            Fold("settings", "Which settings does the recipe have, and what do they mean?", self.editor),
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, rail, self._look)
        self.add_class("nmtlab-rail-open")  # on a narrow window, too: what the page is for is there

    def _settled(self) -> Recipe:
        return find_recipe(self.recipe.value).with_settings(self.settings.value.split())

    def _explain(self) -> None:
        """Show the fields of the recipe with the chosen settings."""
        recipe = find_recipe(self.recipe.value)
        self.recipe_note.say(recipe.about)
        settled = self._settled()
        self.editor.show(recipe, settled)
        self.name.placeholder = self._default_name(settled)

    def _estimate(self) -> None:
        if self.corpus.value is None:
            self.plan.say(f"No corpus here: {_MAKE_ONE}.")
        else:
            self.plan.estimate(self._settled(), self._opened_corpus())

    def _default_name(self, recipe: Recipe) -> str:
        return f"{self.corpus.value}.{self.recipe.value}.{recipe.training.seed}" if self.corpus.value else ""

    def _opened_corpus(self) -> ParallelCorpus:
        return ParallelCorpus.open(self._workspace.corpus_folder(self.corpus.value))

    def _watch(self) -> None:
        """List the trainings, and show how the picked one is doing."""
        self._list()
        job = self._picked()
        self.stop.disabled = job is None or not job.alive
        self.resume.disabled = job is None or job.alive or not self._resumable(job)
        self.printed.value = self.progress.value = self.links.value = ""
        if job is None:
            self.hint.say("No trainings started from this page yet. Trainings continue when the page is closed.")
            return
        alive, run = job.alive, self._run(job)
        self.hint.say(f"{job.name}: {'training' if alive else _ended(job, run)}.")
        log = job.tail(_LINES).partition(_NEXT)[0]
        self.printed.value = f"<pre class='nmtlab-log' tabindex='0' aria-label='log'>{escape(log)}</pre>"
        if run is None:
            return
        if len(run.log.metrics("validation")):
            self.curve.show(DEV_CURVE.view(run).figure)
        if progress := training_progress(run):
            self.progress.value = _drawn(progress, alive)
        if not alive and (links := links_to([run])):
            self.links.value = f"Open this run in: {links}"

    def _look(self) -> set[str]:
        offer(self.corpus, self._workspace.corpus_names())
        return {"job"} if self._picked() else set()

    def _list(self) -> None:
        jobs, damaged = list_jobs(self._workspace.jobs)
        rows = [{"run": job.name, "state": "training" if job.alive else "ended", "started": _when(job)} for job in jobs]
        rows += [{"run": name, "state": "damaged", "started": ""} for name in damaged]
        self.jobs.show(pd.DataFrame(rows, index=[row["run"] for row in rows]))
        if not self.jobs.chosen and jobs:
            self.jobs.choose([jobs[0].name])

    def _start(self) -> None:
        self.tell("")
        if self.corpus.value is None:
            raise NmtlabError("no corpus here", _MAKE_ONE)
        recipe = self._settled()
        name = self.name.value.strip() or self._default_name(recipe)
        if self._workspace.run_folder(name).exists():
            raise NmtlabError(f"run {name!r} already exists", "choose another name or resume it")
        self._opened_corpus()
        settings = [part for word in self.settings.value.split() for part in ("--set", word)]
        self._launch(name, [self.corpus.value, "--name", name, "--recipe", self.recipe.value, *settings])

    def _resume(self) -> None:
        self.tell("")
        job = self._picked()
        if job is not None:
            first = [word for word in job.command[len(_TRAIN) :] if word != "--resume"]
            self._launch(job.name, [*first, "--resume"])

    def _launch(self, name: str, options: list[str]) -> None:
        Job.start(self._workspace.jobs / name, [*_TRAIN, *options])
        self._list()
        self.jobs.choose([name])
        self._changed("job")

    def _stop(self) -> None:
        self.tell("")
        if job := self._picked():
            job.stop()
            self.hint.say(f"{job.name}: stopping and saving a checkpoint; can be resumed.")

    def _picked(self) -> Job | None:
        name = self.jobs.value
        return Job.open(self._workspace.jobs / name) if name else None

    def _run(self, job: Job) -> Run | None:
        folder = self._workspace.run_folder(job.name)
        return Run(folder) if folder.is_dir() else None

    def _resumable(self, job: Job) -> bool:
        run = self._run(job)
        return run is not None and run.status in ("interrupted", "stopped")


def train_page(workspace: Workspace | None = None) -> TrainPage:
    """Return the page."""
    return TrainPage(workspace or Workspace.find())


def _ended(job: Job, run: Run | None) -> str:
    if job.last_error:
        return job.last_error
    return run.status if run else "ended before its run was created; see the log"


def _drawn(progress: TrainingProgress, alive: bool) -> str:
    """Return a progress bar with its numbers, as markup."""
    total = f" of at most {progress.updates:,}" if progress.updates else ""
    facts = [f"update {progress.step:,}{total}"]
    if alive and progress.seconds_left is not None:
        facts.append(f"at most {clock(progress.seconds_left)} left")
    facts.append(f"learning rate {progress.rate:.2g}")
    if progress.bleu is not None:
        facts.append(f"dev BLEU {progress.bleu:.1f}, best {progress.best:.1f}")
    size = f" max='{progress.updates}' value='{progress.step}'" if progress.updates else ""
    bar = f"<progress{size} aria-label='updates'></progress>" if alive else ""
    return f"<div class='nmtlab-progress'>{bar}{' · '.join(facts)}</div>"


def _when(job: Job) -> str:
    return job.started.astimezone().strftime("%Y-%m-%d %H:%M")
