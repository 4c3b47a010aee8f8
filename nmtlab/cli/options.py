"""Options and steps shared by several commands."""

import math
import signal
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import typer
from pandas import DataFrame
from tqdm import tqdm

from nmtlab.analysis.access.needs import in_direction, overlap_warning
from nmtlab.errors import NmtlabError, RecipeError, RunError
from nmtlab.files import writing
from nmtlab.recipe import MachineSettings, Recipe, SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus, open_corpus
from nmtlab.text.corpora.lines import lines_of, read_lines
from nmtlab.workspace import Workspace

_OF_SCORES = {
    "alpha": ("length-normalised",), "gamma": ("word-reward", "bounded-reward"), "reward_ratio": ("bounded-reward",),
}  # fmt: skip
_OF_ANY_SCORE = (*_OF_SCORES, "score", "coverage", "coverage_form", "coverage_floor")
_OF_PLANS = ("length_candidates", "length_weight")
OF_BEAMS = (*_OF_ANY_SCORE, *_OF_PLANS, "beam_size", "prune_below", "per_parent", "block_ngrams")
"""Fields of search of a beam, of what it prunes and what it maximises."""

UNFORCED = SearchSettings.model_fields.keys() - {"attention_temperature", "int8", "batch_tokens"}
"""Fields of search that the probability of a given translation does not depend on."""

_COLDEST, _HOTTEST = 0.001, 1000.0  # beyond these, float32 has no distribution left to sample from
Number = TypeVar("Number", bound=float)
AskedEngine = Literal["auto", "nmtlab", "ctranslate2"]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.FIELD=VALUE", help="Change a field of the recipe; repeatable."),
]
Source = Annotated[str, typer.Option(help="Source language; inferred from the corpus if possible.")]
Target = Annotated[str, typer.Option(help="Target language.")]
Split = Annotated[str, typer.Option(help="Split of the corpus: train, dev or test.")]
Beam = Annotated[int | None, typer.Option(min=1, help="Beam size; 1 is greedy search. (default: the recipe's)")]
Threads = Annotated[int | None, typer.Option(min=1, help="CPU threads. (default: torch's choice)")]


def open_text(run: Run, workspace: Workspace, corpus: str, source: str, target: str) -> tuple[Run, ParallelCorpus]:
    """Return a run in the direction that the options of a command choose, and the text to translate.

    Args:
        run: as opened.
        workspace: where corpora are.
        corpus: name or path; the run's first one in the direction if empty.
        source, target: language codes; those of the run's first corpus that has the others if empty.

    Raises:
        RunError: the run does not translate in this direction; the message names those that it was trained in.
        CorpusError: there is no such corpus, or it is in other languages.
    """
    name = workspace.corpus_folder(corpus).resolve().name if corpus else ""
    wanted = {"source": source, "target": target}
    trained = run.recipe.trained_corpora
    fitting = [one for one in trained if all(code in ("", getattr(one, side)) for side, code in wanted.items())]
    named = [one for one in fitting if one.name == name]
    first = (named or fitting or trained)[0]
    if not (corpus or first.name):
        raise RunError(f"run {run.name!r}: was imported without a corpus", "name one with --corpus")
    languages = source or first.source, target or first.target
    if len(run.directions) > 1:
        run = run.directed(*languages)
    text = open_corpus(corpus or first.name, workspace, *languages)
    return in_direction(run, text), text


def changed(recipe: Recipe, settings: list[str] | None, threads: int | None, beam: int | None = None) -> Recipe:
    """Return a recipe with the command line's changes."""
    more = [f"machine.threads={threads}"] if threads else []
    more += [f"search.beam_size={beam}"] if beam else []
    return recipe.with_settings([*(settings or []), *more])


def run_recipe(
    recipe: Recipe, settings: list[str] | None, threads: int | None, beam: int | None, others: Sequence[Recipe] = ()
) -> Recipe:
    """Return a trained run's recipe with the command line's changes to search and machine settings.

    The machine settings of its training are dropped, and low-rank changes are merged: that is how the run is used.

    Args:
        others: recipes of the runs that get the same changes.

    Raises:
        RecipeError: a change to any other field, which a trained run does not allow, or that no run's search reads.
    """
    for setting in settings or []:
        if not setting.startswith(("search.", "machine.")):
            remedy = "set fields of search or machine, or train another run"
            raise RecipeError(f"--set {setting}: the run is already trained", remedy)
    used = changed(_as_used(recipe), settings, threads, beam)
    runs = [used, *(changed(_as_used(other), settings, None) for other in others)]
    for field, setting in _search_fields(settings).items():
        problems = [_unread(field, one) for one in runs]
        if all(problems):
            scores = _OF_SCORES.get(field, ()) if used.model.neural and not used.model.plans_length else ()
            remedy = f"add --set search.score={scores[0]}, or leave it out" if scores else "leave it out"
            raise RecipeError(f"--set {setting}: {problems[0]}", remedy)
    return used


def _as_used(recipe: Recipe) -> Recipe:
    """Return a trained run's recipe without the machine settings and the low-rank changes of its training."""
    return recipe.without_low_rank().model_copy(update={"machine": MachineSettings()})


def _search_fields(settings: list[str] | None) -> dict[str, str]:
    """Return the settings of search among those of the command line, by field."""
    fields = ((setting.partition("=")[0].strip(), setting) for setting in settings or [])
    return {name.removeprefix("search."): setting for name, setting in fields if name.startswith("search.")}


def _unread(field: str, recipe: Recipe) -> str:
    """Return why the search of a run does not read a field, as a clause; empty if it does."""
    model, score = recipe.model, recipe.search.score
    if not model.neural:
        return "" if field == "beam_size" else "a phrase-based run reads only search.beam_size"
    if model.plans_length and field in _OF_ANY_SCORE:
        return "the score of a run that plans lengths is p(length) · p(tokens)"
    if field in _OF_PLANS and not model.plans_length:
        return "the run plans no lengths"
    needed = _OF_SCORES.get(field, (score,))
    return "" if score in needed else f"{field} is of the score {' or '.join(needed)}, not of {score}"


def check_unread(
    option: str, why: str, unread: Collection[str], settings: list[str] | None, beam: int | None = None
) -> None:
    """Refuse settings of a search with an option that does not read them.

    Args:
        option: as on the command line.
        why: it does not read them.
        unread: fields of search.

    Raises:
        NmtlabError: one of them, or a beam, is given.
    """
    asked = [f"--beam {beam}"] if beam else []
    asked += [f"--set {setting}" for field, setting in _search_fields(settings).items() if field in unread]
    if asked:
        raise NmtlabError(f"{asked[0]} and {option}: {why}", "leave one out")


def say_overlap(run: Run, corpus: ParallelCorpus, split: str) -> None:
    """Print a warning if the run was trained on some of the text that it is scored on."""
    if found := overlap_warning(run, corpus, split):
        print(found)


def sentence_bar(total: int, label: str | None = None) -> tqdm:
    """Return a progress bar that counts sentences, in a terminal only."""
    return tqdm(total=total, desc=label, unit=" sentences", disable=None, leave=False)


def write_csv(table: DataFrame, path: Path) -> None:
    """Write a table to a file that the user has named."""
    with writing(path) as place:
        table.to_csv(place, index=False)


def read_text(path: Path | None) -> list[str]:
    """Return the lines of a file, or of standard input if there is no path."""
    return list(read_lines(path) if path else lines_of(sys.stdin.buffer, "standard input"))


def numbers(text: str, kind: type[Number], option: str, least: float) -> list[Number]:
    """Parse the comma-separated numbers of an option, none of them below `least`."""
    try:
        found = [kind(part) for part in text.split(",")]
    except ValueError as error:
        what = "numbers" if kind is float else "whole numbers"
        raise NmtlabError(f"{option} {text}: not {what} between commas", f"give {what}, as 1,4") from error
    for number in found:
        if number < least or not abs(number) < math.inf:
            form = "g" if kind is float else "d"
            remedy = "give finite numbers" if least == -math.inf else f"give numbers from {least:g}"
            raise NmtlabError(f"{option} {text}: {number:{form}} is out of range", remedy)
    return found


def check_sampling(temperature: float, top_p: float = 1.0) -> None:
    """Refuse settings of sampling that are out of range."""
    if not _COLDEST <= temperature <= _HOTTEST:
        problem = f"--temperature {temperature:g}: not between {_COLDEST:g} and {_HOTTEST:g}"
        raise NmtlabError(problem, "give 1 for the model's distribution")
    if not 0 < top_p <= 1:
        raise NmtlabError(f"--top-p {top_p:g}: not above 0 and at most 1", "give 1 to sample from all tokens")


def check_belongs(way: str, asked: object, options: Mapping[str, object]) -> None:
    """Refuse options of something that is not asked for."""
    for option, value in options.items():
        if value is not None and not asked:
            raise NmtlabError(f"{option}: belongs to {way}", f"add {way}, or leave it out")


def interrupted() -> Callable[[], bool]:
    """Return a function that reports whether Ctrl-C was pressed; pressed again, it ends the process."""
    caught: list[int] = []

    def note(received: int, _: object) -> None:
        caught.append(received)
        signal.signal(received, signal.SIG_DFL)

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, note)
    return lambda: bool(caught)
