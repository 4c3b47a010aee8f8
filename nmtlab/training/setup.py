"""Set up a training: check the texts, learn the vocabulary, create the run, and start or resume the loop."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace

from nmtlab.device import choose_device
from nmtlab.errors import CorpusError, RunError
from nmtlab.recipe import MachineSettings, Recipe
from nmtlab.runs.environment import environment
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter, writing
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.checks.inspection import check_texts, scored_dev
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.events import OnEvent, Preparing, ignore
from nmtlab.training.loop import Trainer
from nmtlab.training.parallel import Group
from nmtlab.training.prepare import learned_table, needs_table
from nmtlab.training.transfer import check_parent, target_overlap
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
    minutes: float = math.inf,
) -> Run:
    """Train a model into a run, or resume a training that was interrupted.

    Args:
        name: of the run; a new one unless `resume`.
        recipe: what to train; when resuming, the run's recipe is used, except for device and threads.
        corpus: training corpus, in addition to the recipe's `more_corpora`; the dev text of the first corpus in each
            direction that has some decides when to stop.
        workspace: where runs and caches are kept.
        resume: continue from the last checkpoint, with the same losses as an uninterrupted training.
        on_event: called with progress events.
        should_stop: polled after every update; the training can be resumed after a stop.
        allow_overlap: accept dev and test pairs that also occur in train; the run records how many. A resumed run keeps
            its setting.
        minutes: of training, after which it is evaluated and stopped; it can be resumed.

    Raises:
        NmtlabError: a problem that the user can fix; nothing is lost.
    """
    device = choose_device(recipe.machine)
    group = Group.init(device)
    on_event = on_event if group.is_main else ignore
    folder = workspace.run_folder(name)
    if resume:
        run = Run(folder)
        run.check_trainable()
        _check_same_training(run, corpus, group)
        recipe, allow_overlap = resumed_recipe(run, recipe.machine), bool(run.environment.get("overlap"))
    elif group.broadcast(folder.exists()):
        raise RunError(f"run {name!r}: already exists", "choose another --name, or add --resume to continue it")

    on_event(Preparing("checking the corpus"))
    corpora = open_corpora(recipe, corpus, workspace)
    trained, also = _by_use(recipe, corpora)
    parent = _parent_of(recipe, workspace) if not (resume and run.has_weights("last")) else None
    dev, overlap, checksums = {}, {}, []
    if group.is_main:  # the other processes read only the encoded texts
        dev, overlap = check_texts(trained, allow_overlap)
        checksums = [text.checksum() for text in corpora]
    if parent:
        check_parent(parent, recipe, trained, checksums)
        overlap |= _parent_overlap(parent, trained, workspace, allow_overlap) if group.is_main else {}
    if resume and group.is_main:
        _check_same_text(run, corpora, checksums)
    elif group.is_main:
        on_event(Preparing("learning the vocabulary"))
        recipe = naming(recipe, corpora)
        pipeline = Pipeline.learn(recipe.text, *trained, also=also, parent=parent and parent.pipeline)
        Run.create(folder, recipe, environment(checksums, device, group.size, overlap), pipeline)
    checksums = group.broadcast(checksums)  # the other processes wait until the run exists
    run = Run(folder)
    dev = {direction: scored_dev(text, run.pipeline.directed(*direction)) for direction, text in dev.items()}
    with writing(run) if group.is_main else nullcontext():
        on_event(Preparing("encoding the corpus"))
        if group.is_main:
            _encoded(workspace, run, corpora, checksums)
        group.broadcast(None)
        mixture = _encoded(workspace, run, corpora, checksums)
        if group.is_main and needs_table(run):
            on_event(Preparing("aligning words"))
            RunWriter(run).save_translation_table(learned_table(run, mixture))
        group.broadcast(None)
        trainer = Trainer(run, resumed_recipe(run, recipe.machine), mixture, dev, device, group)
        if resume:
            trainer.restore()
        if parent:
            on_event(trainer.inherit(parent))
        trainer.train(on_event, should_stop, minutes)
    group.broadcast(None)  # the other processes wait until the run says how it ended
    return run


def open_corpora(recipe: Recipe, corpus: ParallelCorpus, workspace: Workspace) -> list[ParallelCorpus]:
    """Return all corpora of a training: the first with the recipe's weight and origin, then its `more_corpora`.

    Raises:
        CorpusError: a corpus is not in the workspace, or lacks the languages that the recipe names.
    """
    opened = [replace(corpus, weight=recipe.corpus.weight, origin=recipe.corpus.origin)]
    for named in recipe.more_corpora:
        folder = workspace.corpus_folder(named.name)
        opened.append(ParallelCorpus.open(folder, named.source, named.target, named.weight, named.origin))
    return opened


def _by_use(recipe: Recipe, corpora: Sequence[ParallelCorpus]) -> tuple[list[ParallelCorpus], list[ParallelCorpus]]:
    """Return the training corpora, and those from which only subwords are learned."""
    trained, vocabulary_only = [], []
    for corpus, settings in zip(corpora, recipe.corpora, strict=True):
        (vocabulary_only if settings.vocabulary_only else trained).append(corpus)
    return trained, vocabulary_only


def _parent_overlap(
    parent: Run, trained: Sequence[ParallelCorpus], workspace: Workspace, allow_overlap: bool
) -> dict[str, int]:
    """Return how many target sentences of dev and test the parent was trained on, by split.

    Raises:
        CorpusError: there are some, without `allow_overlap`.
    """
    counted: Counter[str] = Counter()
    for corpus in trained:
        found = target_overlap(parent, corpus, workspace) or {}
        for split, number in found.items():
            if not allow_overlap:
                raise CorpusError(
                    f"parent {parent.name!r}: was trained on {number:,} {corpus.target} sentences of {split}",
                    "choose a parent with other text, or accept it with --allow-overlap",
                )
        counted.update(found)
    return {f"{split} (target side, in the parent's text)": number for split, number in counted.items()}


def _parent_of(recipe: Recipe, workspace: Workspace) -> Run | None:
    return open_run(recipe.transfer.parent, workspace) if recipe.transfer.parent else None


def naming(recipe: Recipe, corpora: Sequence[ParallelCorpus]) -> Recipe:
    """Return a recipe with the name of the first training corpus and the languages of all."""
    named = [
        settings.model_copy(update={"source": corpus.source, "target": corpus.target})
        for settings, corpus in zip(recipe.corpora, corpora, strict=True)
    ]
    first = named[0].model_copy(update={"name": corpora[0].name})
    return recipe.model_copy(update={"corpus": first, "more_corpora": tuple(named[1:])})


def both_ways(recipe: Recipe, corpora: Sequence[ParallelCorpus]) -> Recipe:
    """Return a recipe that trains on every corpus in both directions.

    The reverse of a corpus follows it, unless it is among the corpora; one from which only subwords are learned has
    none.

    Args:
        recipe: names the corpora.
        corpora: all of them, opened.
    """
    named = naming(recipe, corpora)
    ways = {(one.name, one.source, one.target) for one in named.corpora}
    every = []
    for one in named.corpora:
        reverse = one.model_copy(update={"source": one.target, "target": one.source})
        is_new = not one.vocabulary_only and (one.name, one.target, one.source) not in ways
        every += [one, reverse] if is_new else [one]
    return named.model_copy(update={"more_corpora": tuple(every[1:])})


def _encoded(workspace: Workspace, run: Run, corpora: Sequence[ParallelCorpus], checksums: Sequence[str]) -> Mixture:
    texts = [
        EncodedCorpus.open(workspace.cache, run.pipeline, text, checksum=checksum)
        for text, checksum, named in zip(corpora, checksums, run.recipe.corpora, strict=True)
        if not named.vocabulary_only
    ]
    return Mixture(texts, run.recipe.training.sampling_exponent)


def resumed_recipe(run: Run, machine: MachineSettings) -> Recipe:
    """Return a run's recipe with another device and number of threads, which do not change the training."""
    changed = run.recipe.machine.model_copy(update={"device": machine.device, "threads": machine.threads})
    return run.recipe.model_copy(update={"machine": changed})


def _check_same_training(run: Run, corpus: ParallelCorpus, group: Group) -> None:
    languages = run.recipe.corpus
    if (corpus.source, corpus.target) != (languages.source, languages.target):
        raise RunError(
            f"run {run.name!r}: translates {languages.source} to {languages.target}, but the corpus was opened as "
            f"{corpus.source} to {corpus.target}",
            f"resume it with --source {languages.source} --target {languages.target}, or without both",
        )
    if group.size != (begun := run.environment.get("processes", 1)):
        raise RunError(
            f"run {run.name!r}: started with {begun} processes, whose dropout differs from that of {group.size}",
            f"resume it with {begun}" + (" under torchrun" if begun > 1 else ""),
        )


def _check_same_text(run: Run, corpora: Sequence[ParallelCorpus], checksums: Sequence[str]) -> None:
    if run.checksums != list(checksums):
        if marked := [f"{corpus.name}/{file}" for corpus in corpora for file in corpus.marked_files()]:
            raise RunError(
                f"run {run.name!r}: started on other text, perhaps when byte order marks were read as text, as in "
                f"{marked[0]}",
                "train a new run, or resume it on the corpus it was started on",
            )
        raise RunError(f"run {run.name!r}: started on other text", "resume it on the corpus it was started on")
