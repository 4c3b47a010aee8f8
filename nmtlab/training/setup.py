"""A training from its beginning: the corpus checked, the vocabulary learned, the run made, and the loop begun."""

from collections.abc import Callable
from contextlib import nullcontext

from nmtlab.device import choose_device
from nmtlab.errors import RunError
from nmtlab.recipe import MachineSettings, Recipe
from nmtlab.runs.environment import environment
from nmtlab.runs.run import Run
from nmtlab.text.checked import DevText, checked_corpus
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.encoded import EncodedCorpus
from nmtlab.text.pipeline import Pipeline
from nmtlab.training.events import OnEvent, Preparing, ignore
from nmtlab.training.loop import Trainer
from nmtlab.training.parallel import Group
from nmtlab.training.prepare import learned_table, needs_table
from nmtlab.workspace import Workspace


def train(
    name: str,
    recipe: Recipe,
    corpus: ParallelCorpus,
    workspace: Workspace,
    resume: bool = False,
    on_event: OnEvent = ignore,
    should_stop: Callable[[], bool] = lambda: False,
    allow_overlap: bool = False,
) -> Run:
    """Train a model into a run, or go on with one that was interrupted.

    Args:
        name: of the run; a new one unless `resume`.
        recipe: what to train; when resuming, the run's own recipe counts, but for processor and threads.
        corpus: what to learn from.
        workspace: where runs and caches are kept.
        resume: continue from the last checkpoint, with the same losses as if nothing had happened.
        on_event: told how far things are.
        should_stop: asked after every update; the training can be resumed after a stop.
        allow_overlap: accept pairs of dev and test that are in train too; the run notes how many. A run that was begun
            so is resumed so.

    Raises:
        NmtlabError: something a person can mend, before anything is lost.
    """
    device = choose_device(recipe.machine)
    group = Group.init(device)
    on_event = on_event if group.is_main else ignore
    folder = workspace.run_folder(name)
    if resume:
        run = Run(folder)
        _check_same_training(run, corpus, group)
        recipe, allow_overlap = resumed_recipe(run, recipe.machine), bool(run.environment.get("overlap"))
    elif group.broadcast(folder.exists()):
        raise RunError(f"run {name!r}: there is one already", "choose another --name, or add --resume to go on with it")

    on_event(Preparing("checking the corpus"))
    dev, overlap, checksum = DevText([], []), {}, ""
    if group.is_main:  # of the text the others see no more than its ids
        dev, overlap = checked_corpus(corpus, allow_overlap)
        checksum = corpus.checksum()
    if resume and group.is_main:
        _check_same_text(run, checksum)
    elif group.is_main:
        on_event(Preparing("learning the vocabulary"))
        recipe = recipe.with_changes(
            {"corpus.name": corpus.name, "corpus.source": corpus.source, "corpus.target": corpus.target}
        )
        pipeline = Pipeline.learn(recipe.text, corpus)
        Run.create(folder, recipe, environment(checksum, device, group.size, overlap), pipeline)
    checksum = group.broadcast(checksum)  # the others wait for the run to be made
    run = Run(folder)
    with run.writing() if group.is_main else nullcontext():
        on_event(Preparing("encoding the corpus"))
        if group.is_main:
            EncodedCorpus.open(workspace.cache, run.pipeline, corpus, checksum=checksum)
        group.broadcast(None)
        encoded = EncodedCorpus.open(workspace.cache, run.pipeline, corpus, checksum=checksum)
        if group.is_main and needs_table(run):
            on_event(Preparing("aligning words"))
            run.save_translation_table(learned_table(run, encoded))
        group.broadcast(None)
        trainer = Trainer(run, resumed_recipe(run, recipe.machine), encoded, dev, device, group)
        if resume:
            trainer.restore()
        trainer.train(on_event, should_stop)
    return run


def resumed_recipe(run: Run, machine: MachineSettings) -> Recipe:
    """Return a run's recipe, to be computed on another processor or with other threads, which leave it the same."""
    kept = run.recipe.machine.model_copy(update={"device": machine.device, "threads": machine.threads})
    return run.recipe.model_copy(update={"machine": kept})


def _check_same_training(run: Run, corpus: ParallelCorpus, group: Group) -> None:
    languages = run.recipe.corpus
    if (corpus.source, corpus.target) != (languages.source, languages.target):
        raise RunError(
            f"run {run.name!r}: translates {languages.source} to {languages.target}, the corpus was opened as "
            f"{corpus.source} to {corpus.target}",
            f"resume it with --source {languages.source} --target {languages.target}, or without both",
        )
    if group.size != (begun := run.environment.get("processes", 1)):
        raise RunError(
            f"run {run.name!r}: begun by {begun} processes, which draw other dropout than {group.size}",
            f"resume it with {begun}" + (" under torchrun" if begun > 1 else ""),
        )


def _check_same_text(run: Run, checksum: str) -> None:
    if run.environment.get("corpus_checksum") != checksum:
        raise RunError(f"run {run.name!r}: it was begun on other text", "resume it on the corpus it was begun on")
