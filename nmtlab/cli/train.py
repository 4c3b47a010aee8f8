"""`nmtlab train`."""

import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from nmtlab.cli.options import Set, Source, Target, Threads, changed, check_belongs, interrupted
from nmtlab.errors import CorpusError, RunError
from nmtlab.progress import ProgressBar
from nmtlab.recipe import Recipe, find_recipe
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.corpora import both_ways, by_use, open_corpora
from nmtlab.training.events import Event, OnEvent
from nmtlab.training.tensorboard import event_writer
from nmtlab.training.trackers import Tracker, tracker_writer
from nmtlab.workspace import Workspace

_RECIPE, _CONTINUED = "transformer-small", "fine-tune"
_going_on = partial(typer.Option, rich_help_panel="Going on from a run")


def train(
    corpus: Annotated[str, typer.Argument(help="Name of a corpus, or path of a folder with aligned text.")],
    recipe: Annotated[
        str,
        typer.Option(
            help=f"Name of a recipe ('nmtlab recipes list'), or path of a TOML file. (default: {_RECIPE}, or "
            f"{_CONTINUED} with --from)"
        ),
    ] = "",
    name: Annotated[str, typer.Option(help="Name of the run. (default: CORPUS.RECIPE.SEED)")] = "",
    source: Source = "",
    target: Target = "",
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CORPUS", help="Also train on this corpus, as CORPUS:en-gl in that direction; repeatable."
        ),
    ] = None,
    both: Annotated[bool, typer.Option("--both-ways", help="Train on every corpus in both directions.")] = False,
    vocabulary_from: Annotated[
        list[str] | None,
        typer.Option(metavar="CORPUS", help="Also learn subwords from this corpus, as a parent does from its child's."),
    ] = None,
    parent: Annotated[
        str, typer.Option(metavar="RUN", help="Initialise from this run, ideally of a related language.")
    ] = "",
    from_: Annotated[
        str,
        typer.Option("--from", metavar="RUN", help="Go on training this run, which may be imported, in a new run."),
    ] = "",
    add_letters: Annotated[
        bool,
        _going_on(
            "--add-letters", help="Give letters of the training text that the run lacks types, with new vectors."
        ),
    ] = False,
    add_tag: Annotated[
        str, _going_on(metavar="LANGUAGE", help="Give the run a tag for a language that it lacks.")
    ] = "",
    like: Annotated[
        str, _going_on(metavar="LANGUAGE", help="The language with whose vector that of the new tag begins.")
    ] = "",
    also_source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LANGUAGE",
            help="Translate this language of the corpus together with the source; repeatable.",
        ),
    ] = None,
    set_: Set = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed.")] = None,
    threads: Threads = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume an interrupted run with its recipe; no other options are needed."),
    ] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Estimate time, memory and disk space, without training.")
    ] = False,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.01, help="Stop after this time, with a final evaluation; --resume continues."),
    ] = None,
    allow_overlap: Annotated[
        bool,
        typer.Option(
            "--allow-overlap", help="Accept dev and test pairs that are also in train; scores then carry a warning."
        ),
    ] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write TensorBoard event files into the run's folder.")
    ] = False,
    log: Annotated[
        Tracker | None, typer.Option(help="Also log to the project 'nmtlab' of trackio or Weights & Biases.")
    ] = None,
) -> None:
    """Train a system on a corpus.

    A run interrupted by Ctrl-C or in any other way continues with --resume, with the same losses as if it had never
    stopped. To train in several processes, use torchrun:

        torchrun --standalone --nproc-per-node 2 -m nmtlab train CORPUS ...

    Further corpora train one model in several directions; dev BLEU is then the mean over directions:

        nmtlab train gl-en --also pt-en --both-ways --recipe tied-bpe --name many

    A system of several sources translates them together, line by line; a blank line is a missing sentence:

        nmtlab train together --source gl --also-source pt --target en --recipe tied-bpe --name several

    A child starts from a parent in a related language, whose subwords are learned from both texts:

        nmtlab train PARENT --vocabulary-from CHILD --recipe transfer-bpe --name parent
        nmtlab train CHILD --recipe transfer-bpe --parent parent

    A new run goes on from any other, with its model and its subwords; LoRA trains a few per cent of the weights:

        nmtlab runs import opus-mt-de-en --name opus
        nmtlab train CORPUS --from opus --name tuned
        nmtlab train CORPUS --from opus --recipe fine-tune-lora --name tuned-lora

    Letters and languages that a run lacks are added to it ('nmtlab corpus stats CORPUS --with RUN' finds them):

        nmtlab train CORPUS --from opus --add-letters --name tuned-letters
        nmtlab train CORPUS --from nllb --add-tag dag_Latn --like twi_Latn --name dagbani
    """
    workspace = Workspace.find()
    if parent and from_:
        raise RunError("--parent and --from: a run has one parent", "leave one of them out")
    additions = {"--add-letters": add_letters or None, "--add-tag": add_tag or None, "--like": like or None}
    check_belongs("--from", from_, additions)
    changes = [*(set_ or []), *([] if seed is None else [f"training.seed={seed}"])]
    changes += [f'transfer.parent="{parent}"'] if parent else []
    changes += [f"corpus.also_sources={json.dumps(also_source)}"] if also_source else []
    changes += ["transfer.add_letters=true"] if add_letters else []
    added = {"transfer.add_tag": add_tag, "transfer.like": like}
    changes += [f'{field}="{language}"' for field, language in added.items() if language]
    further = [_further_corpus(one, workspace) for one in also or []]
    further += [{"name": one, "vocabulary_only": True} for one in vocabulary_from or []]
    chosen = recipe or (_CONTINUED if from_ else _RECIPE)
    settings = _with_corpora(changed(_recipe(chosen, from_, workspace), changes, threads), further)
    if parent and settings.transfer.continued:
        raise RunError(f"--parent {parent}: recipe {chosen!r} goes on training a run", f"use --from {parent}")
    folder = workspace.corpus_folder(corpus)
    if not name and (resume or not estimate):
        name = _default_name(f"{folder.resolve().name}.{Path(chosen).stem}.{settings.training.seed}")
    if resume:
        started = Run(workspace.run_folder(name)).recipe
        settings = settings if recipe else _with_corpora(changed(started, changes, threads), further)
        source, target = source or started.corpus.source, target or started.corpus.target
    text = ParallelCorpus.open(folder, source, target)

    if both:
        settings = both_ways(settings, open_corpora(settings, text, workspace))
    if estimate:
        _print_cost(settings, open_corpora(settings, text, workspace), minutes, workspace)
        return

    from nmtlab.training.parallel import Group  # after the names are checked: it loads torch
    from nmtlab.training.setup import train as train_run

    writers = [event_writer(workspace.run_folder(name) / "tensorboard")] if tensorboard else []
    writers += [tracker_writer(log, name, settings.fields())] if log else []
    watch, should_stop = _watchers(writers)
    run = train_run(name, settings, text, workspace, resume, watch, should_stop, allow_overlap, minutes or math.inf)
    Group.leave()
    if run.status == "diverged":
        print(f"run {name}: the loss is no longer finite; try a lower learning rate: --set training.lr_scale=...")
    else:
        print(f"run {name}: {run.status}; next: {_next(run, corpus)}")


def _next(run: Run, corpus: str) -> str:
    """Return the commands that are of use after a training."""
    evaluate = f"nmtlab evaluate {run.name} --corpus {corpus}"
    if run.recipe.corpus.blank_source:
        evaluate = f"nmtlab rerank RUN --blank {run.name}"
    resume = f"nmtlab train {corpus} --name {run.name} --resume"
    if run.status != "stopped":
        return evaluate
    return f"{evaluate}, or {resume}" if run.checkpoints.has_weights() else resume


def _recipe(name: str, parent: str, workspace: Workspace) -> Recipe:
    """Return a recipe, by name or path; to go on training a parent, if there is one."""
    recipe = find_recipe(name)
    if not parent:
        return recipe
    from nmtlab.training.transfer import continued_recipe  # it loads torch

    return continued_recipe(open_run(parent, workspace), recipe)


def _with_corpora(recipe: Recipe, further: list[dict[str, Any]]) -> Recipe:
    """Return a recipe with some further corpora."""
    return recipe.with_changes({"more_corpora": [*recipe.model_dump()["more_corpora"], *further]})


def _further_corpus(named: str, workspace: Workspace) -> dict[str, Any]:
    """Return the settings of a corpus given as `CORPUS` or `CORPUS:en-gl`."""
    name, colon, direction = named.rpartition(":")
    if not colon:
        return {"name": named}
    folder, parts = workspace.corpus_folder(name), direction.split("-")
    ways = [("-".join(parts[:n]), "-".join(parts[n:])) for n in range(1, len(parts))]  # a code may have a hyphen too
    for source, target in ways:
        with suppress(CorpusError):
            ParallelCorpus.open(folder, source, target)
            if source and target:
                return {"name": name, "source": source, "target": target}
    problem = f"--also {named}: corpus {name!r} has no direction {direction!r}"
    raise CorpusError(problem, "name two of its languages, as CORPUS:en-gl")


def _watchers(writers: Sequence[OnEvent]) -> tuple[OnEvent, Callable[[], bool]]:
    """Return a handler of progress events, which are also written, and a function that reports an interruption."""
    should_stop = interrupted()
    handlers: list[OnEvent] = [ProgressBar(), *writers]

    def watch(event: Event) -> None:
        for handle in handlers:
            handle(event)

    return watch, should_stop


def _print_cost(recipe: Recipe, corpora: Sequence[ParallelCorpus], minutes: float | None, workspace: Workspace) -> None:
    from nmtlab.training.cost import estimate_cost, fitting, free_mib
    from nmtlab.training.transfer import check_parent, parent_of

    parent = parent_of(recipe, workspace) if recipe.transfer.continued else None
    if parent:
        check_parent(parent, recipe, by_use(recipe, corpora)[0], [text.checksum() for text in corpora])
    estimate = estimate_cost(recipe, *corpora, continued=parent.pipeline if parent else None)
    names = ", ".join(text.name for text in corpora)
    print(f"corpus      {names}: {estimate.pairs:,} pairs, about {estimate.tokens:,} tokens")
    print(f"parameters  {estimate.parameters:,}")
    print(f"updates     at most {estimate.updates:,}, about {estimate.epochs:.0f} epochs")
    print(f"time        at most {estimate.minutes:,.0f} minutes on this machine, within a factor of two")
    if minutes and minutes < estimate.minutes:
        print(f"            --minutes {minutes:g}: about {estimate.updates * minutes / estimate.minutes:,.0f} updates")
    print(f"memory      about {estimate.memory}")
    if estimate.memory.total > (free := free_mib()):
        remedy = "; " + fitting(estimate.memory, recipe, corpora, free) if parent else ""
        print(f"            more than the {free:,.0f} MiB that are free{remedy}")
    print(f"disk        about {estimate.disk_mib:,.0f} MiB")


def _default_name(name: str) -> str:
    """Return the name of a run that is not given one, if it is allowed."""
    try:
        Workspace.find().run_folder(name)
    except RunError as error:
        raise RunError(error.problem, "name the run with --name") from error
    return name
