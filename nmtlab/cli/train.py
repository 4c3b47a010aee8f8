"""`nmtlab train`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmtlab.cli.options import Set, Source, Target, Threads, changed

if TYPE_CHECKING:
    from nmtlab.recipe import Recipe
    from nmtlab.runs.run import Run
    from nmtlab.text.corpus import ParallelCorpus
    from nmtlab.training.events import OnEvent

_RECIPE = "transformer-small"


def train(
    corpus: Annotated[str, typer.Argument(help="Name of a corpus, or path of a folder of aligned text.")],
    recipe: Annotated[
        str,
        typer.Option(help=f"Name of a recipe ('nmtlab recipes list'), or path of a TOML file. (default: {_RECIPE})"),
    ] = "",
    name: Annotated[str, typer.Option(help="Name of the run. (default: CORPUS.RECIPE.SEED)")] = "",
    source: Source = "",
    target: Target = "",
    set_: Set = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The one seed of everything random.")] = None,
    threads: Threads = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with a run that was interrupted, as it was begun; nothing else is needed."
        ),
    ] = False,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would take, and do not train.")] = False,
    allow_overlap: Annotated[
        bool,
        typer.Option("--allow-overlap", help="Accept pairs of dev and test that are in train too; scores then say so."),
    ] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write TensorBoard event files into the run's folder.")
    ] = False,
) -> None:
    """Train a system on a corpus.

    The run can be interrupted with Ctrl-C, or in any other way, and continued with --resume: its losses are the same
    as if it had never stopped. Several processes train together under torchrun:

        torchrun --standalone --nproc-per-node 2 -m nmtlab train CORPUS ...
    """
    from nmtlab.recipe import find_recipe
    from nmtlab.runs.run import Run
    from nmtlab.text.corpus import ParallelCorpus
    from nmtlab.workspace import Workspace

    workspace = Workspace.find()
    seeds = [] if seed is None else [f"training.seed={seed}"]
    changes = [*(set_ or []), *seeds]
    settings = changed(find_recipe(recipe or _RECIPE), changes, threads)
    folder = workspace.corpus_folder(corpus)
    name = name or f"{folder.resolve().name}.{Path(recipe or _RECIPE).stem}.{settings.training.seed}"
    if resume:
        begun = Run(workspace.run_folder(name))
        settings = changed(find_recipe(recipe) if recipe else begun.recipe, changes, threads)
        _check_unchanged(begun, settings)
        source, target = source or begun.recipe.corpus.source, target or begun.recipe.corpus.target
    text = ParallelCorpus.open(folder, source, target)
    if estimate:
        _print_cost(settings, text)
        return

    from nmtlab.systems import train as train_run

    watch, should_stop = _watchers(workspace.run_folder(name) if tensorboard else None)
    run = train_run(name, settings, text, workspace, resume, watch, should_stop, allow_overlap)
    if run.status == "diverged":
        print(f"run {name}: the loss is no longer finite; try a lower rate: --set training.lr_scale=...")
    else:
        print(f"run {name}: {run.status}; next: nmtlab evaluate {name} --corpus {corpus}")


def _watchers(tensorboard: Path | None) -> "tuple[OnEvent, Callable[[], bool]]":
    """Return what draws the training's events, and what tells whether it was interrupted."""
    import signal

    from nmtlab.progress import ProgressBar

    stopped: list[int] = []
    bar = ProgressBar()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: (stopped.append(received), signal.signal(received, signal.SIG_DFL)))
    if tensorboard is None:
        return bar, lambda: bool(stopped)

    from nmtlab.training.tensorboard import event_writer

    write = event_writer(tensorboard / "tensorboard")
    return lambda event: (bar(event), write(event)), lambda: bool(stopped)


def _check_unchanged(run: "Run", recipe: "Recipe") -> None:
    """Refuse what would make another training of a run that is resumed."""
    from nmtlab.errors import RecipeError

    begun, asked = run.recipe.fields(), recipe.fields()
    for field, value in begun.items():
        may_change = field in ("about", "machine.device", "machine.threads") or field.startswith("corpus.")
        if not may_change and asked.get(field) != value:
            raise RecipeError(
                f"--resume: run {run.name!r} was begun with {field} = {value!r}, not {asked.get(field)!r}",
                "leave out what you have changed, or train a new run with another --name",
            )


def _print_cost(recipe: "Recipe", corpus: "ParallelCorpus") -> None:
    from nmtlab.training.cost import estimate_cost

    estimate = estimate_cost(recipe, corpus)
    print(f"corpus      {corpus.name}: {estimate.pairs:,} pairs, about {estimate.tokens:,} tokens")
    print(f"parameters  {estimate.parameters:,}")
    print(f"updates     at most {estimate.updates:,}, about {estimate.epochs:.0f} epochs")
    print(f"time        at most {estimate.minutes:,.0f} minutes on this machine, within a factor of two")
    print(f"memory      about {estimate.memory_mib:,.0f} MiB")
    print(f"disk        about {estimate.disk_mib:,.0f} MiB")
