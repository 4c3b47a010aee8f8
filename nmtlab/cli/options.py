"""Options that several commands share."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nmtlab.recipe import Recipe
    from nmtlab.runs.run import Run
    from nmtlab.text.corpus import ParallelCorpus
    from nmtlab.workspace import Workspace

Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.FIELD=VALUE", help="Change a field of the recipe; may be given many times."),
]
Source = Annotated[str, typer.Option(help="Language translated from; found from the corpus where it can be.")]
Target = Annotated[str, typer.Option(help="Language translated into.")]
Split = Annotated[str, typer.Option(help="Part of the corpus: train, dev or test.")]
Beam = Annotated[int | None, typer.Option(min=1, help="Beam size; 1 is greedy search. (default: the recipe's)")]
Threads = Annotated[int | None, typer.Option(min=1, help="CPU threads. (default: torch's choice)")]


def open_corpus(workspace: "Workspace", name: str, source: str, target: str) -> "ParallelCorpus":
    """Open a corpus of the workspace, or the folder at a path."""
    from nmtlab.text.corpus import ParallelCorpus

    return ParallelCorpus.open(workspace.corpus_folder(name), source, target)


def changed(recipe: "Recipe", settings: list[str] | None, threads: int | None, beam: int | None = None) -> "Recipe":
    """Return a recipe with the command line's changes."""
    more = [f"machine.threads={threads}"] if threads else []
    more += [f"search.beam_size={beam}"] if beam else []
    return recipe.with_settings([*(settings or []), *more])


def run_recipe(recipe: "Recipe", settings: list[str] | None, threads: int | None, beam: int | None) -> "Recipe":
    """Return a trained run's recipe with the command line's changes, of how to search and where to compute only.

    Where it was trained does not count.

    Raises:
        RecipeError: another field is to be changed, which is too late once a run is trained.
    """
    from nmtlab.errors import RecipeError
    from nmtlab.recipe import MachineSettings

    for setting in settings or []:
        if not setting.startswith(("search.", "machine.")):
            raise RecipeError(
                f"--set {setting}: the run is trained already", "set fields of search or machine, or train another run"
            )
    return changed(recipe.model_copy(update={"machine": MachineSettings()}), settings, threads, beam)


def say_overlap(run: "Run", corpus: "ParallelCorpus", split: str) -> None:
    """Say beside a score that the run has learned from some of the text, if it has."""
    from nmtlab.analysis.access.checks import overlap

    if found := overlap(run, corpus, split):
        print(found)


def read_text(path: Path | None) -> list[str]:
    """Return the lines of a file, or of standard input without one."""
    import sys

    from nmtlab.text.files import lines_of, read_lines

    return list(read_lines(path) if path else lines_of(sys.stdin.buffer, "standard input"))


def read_translations(path: Path, corpus: "ParallelCorpus", split: str) -> list[str]:
    """Return translations made elsewhere, one for each sentence of a split.

    Raises:
        CorpusError: there are more or fewer lines than sentences.
    """
    from nmtlab.errors import CorpusError
    from nmtlab.text.files import read_lines

    lines, sentences = list(read_lines(path)), corpus.count(split)
    if len(lines) != sentences:
        raise CorpusError(
            f"{path}: {len(lines):,} lines, but {corpus.name} {split} has {sentences:,} sentences",
            "give a line for each sentence, in the same order",
        )
    return lines


def numbers(text: str, kind: type[int] | type[float], option: str, least: float) -> list[int] | list[float]:
    """Return the numbers in an option's text, with commas between them, none below the least."""
    from nmtlab.errors import NmtlabError

    try:
        found = [kind(part) for part in text.split(",")]
    except ValueError as error:
        raise NmtlabError(f"{option} {text}: {error}", "give numbers with commas between them") from error
    for number in found:
        if number < least or not abs(number) < math.inf:
            form = "g" if kind is float else "d"
            remedy = "give numbers" if least == -math.inf else f"give numbers from {least:g}"
            raise NmtlabError(f"{option} {text}: {number:{form}} is among them", remedy)
    return found
