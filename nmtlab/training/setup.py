"""Set up a training: check the texts, learn the vocabulary, create the run, and start or resume the loop."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmtlab.device import choose_device
from nmtlab.errors import CorpusError, RecipeError, RunError
from nmtlab.recipe import Recipe, TransformerSettings
from nmtlab.runs.environment import environment
from nmtlab.runs.run import TABLE, Run
from nmtlab.runs.writer import RunWriter, writing
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.checks.inspection import DevText, check_texts, scored_dev
from nmtlab.text.corpora.corpus import Direction, ParallelCorpus
from nmtlab.text.segmentation.counting import counts_in, unknown_shares
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.annotation import lexicon_run, suggestions_for, without_folder
from nmtlab.training.corpora import by_use, naming, open_corpora, synthetic_pairs
from nmtlab.training.cost import check_fits
from nmtlab.training.earlier_texts import overlap_with, overlap_with_teachers, text_of
from nmtlab.training.events import Ended, Hint, OnEvent, Preparing, ignore
from nmtlab.training.lexicon import learned_lexicon
from nmtlab.training.links import LINKS, learn_links, with_links
from nmtlab.training.loop import Trainer
from nmtlab.training.parallel import Group
from nmtlab.training.resuming import check_same_text, check_same_training, resumed_recipe
from nmtlab.training.teacher import check_same_teacher, check_teacher, open_teacher, teacher_of
from nmtlab.training.transfer import check_parent, continued_pipeline, parent_of
from nmtlab.workspace import Workspace

_ANCHORED = "transfer.anchor = 'ewc'", "choose transfer.anchor=l2, which needs no text"


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
    """Train a recipe of any family into a run, or resume a training that was interrupted.

    A phrase-based system is trained in one pass: a stopped training keeps nothing and cannot be resumed.

    Args:
        name: of the run; a new one unless `resume`.
        recipe: what to train; when resuming, that of the run, except for device and threads.
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
    _check_without_lists(name, recipe)
    if not (Run(workspace.run_folder(name)).recipe if resume else recipe).model.neural:
        _check_one_pass(name, resume, minutes)
        from nmtlab.baselines.phrase import train_phrase  # its libraries take a second to load

        overlap_with_teachers((), None, [corpus], workspace, allow_overlap)
        run = train_phrase(
            name, recipe, corpus, workspace, lambda what: on_event(Preparing(what)), should_stop, allow_overlap
        )
        best, seconds = run.log.metrics("validation")["bleu"].max(), run.log.metrics("end")["seconds"].iloc[-1]
        on_event(Ended("finished", 1, float(best), float(seconds)))
        return run
    device = choose_device(recipe.machine)
    group = Group.init(device)
    on_event = on_event if group.is_main else ignore
    folder = workspace.run_folder(name)
    if resume:
        begun = Run(folder)
        begun.origin.check_trainable()
        check_same_training(begun, recipe, corpus, group.size)
        recipe, allow_overlap = resumed_recipe(begun, recipe.machine), bool(begun.environment.get("overlap"))
    elif group.broadcast(folder.exists()):
        raise RunError(f"run {name!r}: already exists", "choose another --name, or add --resume to continue it")

    on_event(Preparing("checking the corpus"))
    corpora = open_corpora(recipe, corpus, workspace)
    going_on = resume and begun.checkpoints.has_weights("last")
    parent = None if going_on else parent_of(recipe, workspace)
    teacher = teacher_of(recipe, workspace)
    before = None if going_on else (parent, teacher)
    checked = group.on_main(lambda: _checked(recipe, corpora, before, workspace, allow_overlap))
    if resume:
        check_same_text(begun, corpora, checked.checksums)
        if teacher:
            check_same_teacher(begun, teacher)
    else:
        on_event(Preparing("counting the types" if recipe.transfer.continued else "learning the vocabulary"))
        facts = partial(environment, checked.checksums, device, group.size, checked.overlap)
        named = naming(recipe, corpora)
        group.on_main(lambda: _create(folder, named, corpora, parent, teacher, facts(), workspace))
    run = Run(folder)
    encoded = partial(_encoded, workspace, run, corpora, checked.checksums)
    dev = {way: scored_dev(text, run.pipeline.directed(*way)) for way, text in checked.dev.items()}
    with writing(run) if group.is_main else nullcontext():
        group.on_main(lambda: _prepare(run, encoded, on_event))
        taught_by = open_teacher(teacher, recipe.machine) if teacher else None
        mixture, resumed = with_links(run, encoded()), resumed_recipe(run, recipe.machine)
        _check_positions(resumed, mixture, run.pipeline, dev)
        synthetic, pairs = synthetic_pairs(mixture, by_use(recipe, corpora)[0])
        mostly = 2 * synthetic > pairs
        waits = int(mostly) if resumed.training.curriculum == "none" else resumed.training.curriculum_passes
        trainer = Trainer(run, resumed, mixture, dev, device, group, taught_by, waits)
        if resume:
            trainer.restore()
        if parent:
            on_event(trainer.inherit(parent, _anchoring_text(parent, run, workspace) if group.is_main else None))
        if parent and (zeros := trainer.stepper.zeros) and not zeros.any:
            on_event(Hint(f"{parent.name} has no zeros that transfer.keep_zeros could keep"))
        if parent and recipe.transfer.continued:
            on_event(Hint(_unknown(parent, run.pipeline, checked.parents_text_is_known)))
        if mostly:
            on_event(Hint(f"{synthetic:,} of {pairs:,} pairs are synthetic: {_WAITS}"))
        trainer.train(on_event, should_stop, minutes)
    group.broadcast(None)  # the other processes wait until the run says how it ended
    return run


def _check_positions(recipe: Recipe, mixture: Mixture, pipeline: Pipeline, dev: Mapping[Direction, DevText]) -> None:
    """Check that a model with learned positions has one for each token of train and dev.

    Raises:
        CorpusError: a sentence has more tokens.
    """
    model = recipe.model
    if not isinstance(model, TransformerSettings) or model.positions != "learned":
        return
    longest = [("train", encoded.direction, encoded.longest) for encoded in mixture.texts]
    for way, text in dev.items():
        directed = pipeline.directed(*way)
        sources = directed.encode_sources([text.source, *text.more_sources])
        targets = directed.encode_target(text.references[0])
        longest.append(("dev", way, (max(len(ids) for side in sources for ids in side), max(map(len, targets)))))
    for split, way, (source, target) in longest:
        most = max(source, target)
        if most > model.max_positions:
            side = "source" if source == most else "target"
            raise CorpusError(
                f"{split} {'-'.join(way)}: a {side} of {most:,} tokens, but model.max_positions is "
                f"{model.max_positions:,}",
                f"leave out longer sentences, or train a new run with model.max_positions = {most:,} or more",
            )


_WAITS = "early stopping and decay wait for a pass over the text"


def _check_without_lists(name: str, recipe: Recipe) -> None:
    """Raise `RecipeError` if the dev text were translated with a shortlist for each batch."""
    if recipe.search.shortlist_translations:
        raise RecipeError(
            "search.shortlist_translations: a training has no lexicon to take shortlists from",
            f"leave it out, and give it to translate or evaluate after nmtlab runs align {name}",
        )


def _check_one_pass(name: str, resume: bool, minutes: float) -> None:
    if resume:
        raise RunError(f"run {name!r}: a phrase-based training cannot be resumed", "leave out --resume")
    if minutes < math.inf:
        raise RunError(f"run {name!r}: a phrase-based training is one pass over the text", "leave out --minutes")


class _Checked(NamedTuple):
    """What is found in the corpora of a training: dev text and overlap as of `check_texts`, and their checksums."""

    dev: dict[Direction, DevText]
    overlap: dict[str, int]
    checksums: list[str]
    parents_text_is_known: bool


def _checked(
    recipe: Recipe,
    corpora: Sequence[ParallelCorpus],
    before: tuple[Run | None, Run | None] | None,
    workspace: Workspace,
    allow_overlap: bool,
) -> _Checked:
    """Check the corpora of a training, and unless it goes on, the runs `before` it: its parent, and its teachers."""
    trained, _ = by_use(recipe, corpora)
    dev, overlap = check_texts(trained, allow_overlap)
    checksums = [text.checksum() for text in corpora]
    known = True
    parent, teacher = before or (None, None)
    if parent:
        check_parent(parent, recipe, trained, checksums)
        if recipe.transfer.continued and choose_device(recipe.machine).type == "cpu":
            check_fits(recipe, parent.pipeline, trained)
        if recipe.transfer.anchor == "ewc":
            text_of(parent, workspace, *_ANCHORED)
        shared, known = overlap_with("parent", parent, trained, workspace, allow_overlap)
        overlap |= shared
    if before:
        overlap |= overlap_with_teachers([teacher] if teacher else [], parent, trained, workspace, allow_overlap)
        # The lexicon of a parent that goes on is in its pipeline, and may no longer be here.
        with suppress(RunError) if recipe.transfer.continued else nullcontext():
            if lexicon := lexicon_run(recipe.text, workspace):
                overlap |= overlap_with("lexicon", lexicon, trained, workspace, allow_overlap)[0]
    return _Checked(dev, overlap, checksums, known)


def _unknown(parent: Run, pipeline: Pipeline, text_is_known: bool) -> str:
    """Return what a continued parent does not know of the text, and what is not known of the parent's."""
    source, target = unknown_shares(pipeline)
    sizes = (pipeline.source.size, parent.pipeline.source.size), (pipeline.target.size, parent.pipeline.target.size)
    added = max(ours - theirs for ours, theirs in sizes)
    before = f"{added:,} types were added; now unknown" if added else f"unknown to {parent.name}"
    said = f"{before}: {source:.2%} of the source tokens and {target:.2%} of the target tokens"
    unseen = "; its training text is not here: it may have seen sentences of dev and test"
    return said if text_is_known else said + unseen


def _create(
    folder: Path,
    recipe: Recipe,
    corpora: Sequence[ParallelCorpus],
    parent: Run | None,
    teacher: Run | None,
    facts: Mapping[str, Any],
    workspace: Workspace,
) -> None:
    """Learn the vocabulary, or count the parent's, and create the run; a model that goes on keeps its table."""
    trained, also = by_use(recipe, corpora)
    table = None
    if parent and recipe.transfer.continued:
        pipeline, table = continued_pipeline(parent, recipe.transfer, trained), parent.model_table
        more = pipeline.source.size - parent.pipeline.source.size
        table = replace(table, offsets=np.pad(table.offsets, (0, more), "edge")) if table else None
        pipeline = pipeline.recounted(*counts_in(pipeline, *trained))
    else:
        suggestions = suggestions_for(recipe.text, trained, workspace)
        recipe = recipe.model_copy(update={"text": without_folder(recipe.text)})
        before = parent.pipeline if parent else None
        pipeline = Pipeline.learn(recipe.text, *trained, also=also, parent=before, suggestions=suggestions)
    if teacher:
        check_teacher(teacher, pipeline)
        facts = {**facts, "teacher": teacher.checkpoints.digest}
    if recipe.text.context:
        facts = {**facts, "documents": [corpus.documents_checksum() for corpus in trained]}
    Run.create(folder, recipe, facts, pipeline, lambda unfinished: table.save(unfinished / TABLE) if table else None)


def _anchoring_text(parent: Run, run: Run, workspace: Workspace) -> Mixture | None:
    """Return the text of a parent, as a run that goes on from it reads it, if the anchor of its weights needs it."""
    if run.recipe.transfer.anchor != "ewc":
        return None
    texts = text_of(parent, workspace, *_ANCHORED)
    return Mixture([EncodedCorpus.open(workspace.cache, run.pipeline.directed(*one.direction), one) for one in texts])


def _prepare(run: Run, encoded: Callable[[], Mixture], on_event: OnEvent) -> None:
    """Encode the corpora, and learn the translation table or the links if the training needs them."""
    on_event(Preparing("encoding the corpus"))
    mixture = encoded()
    if run.recipe.training.guided_attention and not (run.folder / LINKS).exists():
        on_event(Preparing("aligning words"))
        learn_links(run, mixture)
    if not run.recipe.model.lexical_table or run.translation_table is not None:
        return
    on_event(Preparing("aligning words"))
    RunWriter(run).save_translation_table(learned_lexicon(mixture.texts, run.pipeline.source.size))


def _encoded(workspace: Workspace, run: Run, corpora: Sequence[ParallelCorpus], checksums: Sequence[str]) -> Mixture:
    """Return the texts of a training as ids; with several segmentations, each text in all of them, as a rotation."""
    pipeline, settings = run.pipeline.learned or run.pipeline, run.recipe.training
    named = [one for one in zip(corpora, checksums, run.recipe.corpora, strict=True) if not one[2].vocabulary_only]
    several = settings.segmentations > 1
    draws = [(number, settings.segmentation_alpha) if several else None for number in range(settings.segmentations)]
    texts = [
        EncodedCorpus.open(workspace.cache, pipeline.directed(*text.direction), text, checksum=checksum, draw=draw)
        for draw in draws
        for text, checksum, _ in named
    ]
    rotations = [one.rotation or f"text {place}" * several for place, (*_, one) in enumerate(named)] * len(draws)
    return Mixture(texts, settings.sampling_exponent, rotations=rotations)
