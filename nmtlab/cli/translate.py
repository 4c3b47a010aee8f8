"""`nmtlab translate`."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from tqdm import tqdm

from nmtlab.cli.options import Beam, Set, Threads, read_text, run_recipe
from nmtlab.errors import NmtlabError, RecipeError, RunError
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.lines import write_lines
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from nmtlab.translation import Translation

_COLDEST, _HOTTEST = 0.001, 1000.0  # beyond these, float32 has no distribution left to sample from
_SCORES = tuple(f"search.{name}=" for name in ("score", "alpha", "gamma", "coverage"))


def translate(
    run: Annotated[str, typer.Argument(help="Name of a run.")],
    input: Annotated[
        Path | None, typer.Option("--input", "-i", help="Text to translate. (default: standard input)")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. (default: standard output)")
    ] = None,
    to: Annotated[str, typer.Option("--to", metavar="LANGUAGE", help="Language to translate into, if several.")] = "",
    from_: Annotated[
        str, typer.Option("--from", metavar="LANGUAGE", help="Language of the text, if the run reads several.")
    ] = "",
    beam: Beam = None,
    n_best: Annotated[int, typer.Option(min=1, help="Translations per line, best first.")] = 1,
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Print line number, score and log-probability before each, separated by tabs."),
    ] = False,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="RUN", help="Translate with this run too, as an ensemble; repeatable."),
    ] = None,
    mean: Annotated[
        Literal["arithmetic", "geometric"] | None,
        typer.Option(help="Mean of the probabilities of an ensemble's runs. (default: arithmetic)", show_default=False),
    ] = None,
    prefix: Annotated[Path | None, typer.Option(help="File of target prefixes, one line per line of the text.")] = None,
    samples: Annotated[
        int, typer.Option(min=0, max=10_000, help="Translations to sample per line, instead of searching.")
    ] = 0,
    temperature: Annotated[float | None, typer.Option(help="Temperature of sampling. (default: 1)")] = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, help="Sample from the k most probable types only. (default: from all)")
    ] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Sample from the fewest types with this much probability. (default: from all)")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of sampling. (default: 1)")] = None,
    groups: Annotated[
        int,
        typer.Option(min=0, max=100, help="Groups of diverse beam search; the best translation of each is shown."),
    ] = 0,
    strength: Annotated[
        float | None,
        typer.Option(min=0, max=1e6, help="Strength of the diversity penalty between groups. (default: 0.5)"),
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="Use the last checkpoint instead of the best.")] = False,
    engine: Annotated[
        Literal["nmtlab", "ctranslate2"], typer.Option(help="Program that computes; the latter has Transformers only.")
    ] = "nmtlab",
    precision: Annotated[
        Literal["fp32", "int8", "int16"] | None,
        typer.Option(help="Precision that CTranslate2 computes in. (default: fp32)", show_default=False),
    ] = None,
    set_: Set = None,
    threads: Threads = None,
) -> None:
    """Translate text, one sentence per line; a blank line stays blank.

    A run of several languages translates in the direction of its first corpus, or --from any language that it reads
    --to any that it writes, even if it has seen no example of the two together.

    CTranslate2 finds the same greedy translations. Its beam ends with as many finished hypotheses as it is wide, so
    that it can miss some that nmtlab's finds; their score is the same.
    """
    drawing = {"--temperature": temperature, "--top-k": top_k, "--top-p": top_p, "--seed": seed}
    _check_belongs(samples > 0, "--samples", drawing)
    _check_belongs(groups > 0, "--groups", {"--strength": strength})
    _check_belongs(bool(with_), "--with", {"--mean": mean})
    _check_belongs(engine == "ctranslate2", "--engine ctranslate2", {"--precision": precision})
    workspace = Workspace.find()
    opened, *further = (open_run(name, workspace) for name in (run, *(with_ or [])))
    if from_ or to:
        opened = opened.directed(from_, to)
    recipe = run_recipe(opened.recipe, set_, threads, beam)
    ways = {"--prefix": prefix, "--samples": samples, "--groups": groups}
    ours = [option for option, value in {**ways, "--with": with_}.items() if value]
    if engine == "ctranslate2" and ours:
        raise NmtlabError(f"{ours[0]}: CTranslate2 searches with a plain beam only", "leave --engine out")
    _check(opened, ways, n_best, set_ or [], drawing)
    if n_best > recipe.search.beam_size:
        raise RecipeError(
            f"--n-best {n_best} is more than the beam size {recipe.search.beam_size}", f"add --beam {n_best} or more"
        )
    lines, which = read_text(input), "last" if last else "best"

    from nmtlab.interchange.served import open_served
    from nmtlab.search.searches import Diverse, Sample  # after the names are checked: it loads torch
    from nmtlab.systems import open_ensemble, open_system

    if engine == "ctranslate2":
        system = open_served(opened, precision or "fp32", recipe.search, which, recipe.machine)
    elif further:
        system = open_ensemble([opened, *further], recipe.search, mean or "arithmetic", recipe.machine, which)
    else:
        system = open_system(opened, recipe.search, which, recipe.machine)
    more: dict[str, Any] = {}  # arguments that a phrase-based system does not have
    if prefix:
        more["prefixes"] = _prefixes(prefix, lines)
    elif samples:
        shape = temperature or 1.0, top_k or 0, top_p or 1.0
        more["search"] = Sample(recipe.search, samples, *shape, 1 if seed is None else seed)
    elif groups:
        more["search"] = Diverse(recipe.search, groups, 0.5 if strength is None else strength)
    with tqdm(total=len(lines), unit=" sentences", disable=None, leave=False) as bar:
        found = system.translate(lines, n_best, on_progress=bar.update, **more)
    if system.model and system.limitations:
        print(system.limitations, file=sys.stderr)
    shown = [row for number, translation in enumerate(found, start=1) for row in _rows(number, translation, scores)]
    if output is None:
        for row in shown:
            print(row)
    else:
        write_lines(output, shown)


def _check_belongs(asked: bool, way: str, options: Mapping[str, object]) -> None:
    """Refuse options of a search method that is not used."""
    for option, value in options.items():
        if value is not None and not asked:
            raise NmtlabError(f"{option}: belongs to {way}", f"add {way}, or leave it out")


def _check(
    run: Run, ways: Mapping[str, object], n_best: int, changes: list[str], drawing: Mapping[str, float | None]
) -> None:
    """Refuse search methods that exclude each other or that the run does not support, and numbers out of range."""
    asked = [option for option, value in ways.items() if value]
    if len(asked) > 1:
        raise NmtlabError(f"{asked[0]} and {asked[1]}: one excludes the other", "leave one out")
    if asked and not run.recipe.model.neural:
        raise RunError(f"{asked[0]}: run {run.name!r} is phrase-based", "choose a transformer or an rnn")
    if asked in (["--samples"], ["--groups"]) and n_best > 1:
        raise NmtlabError(f"--n-best and {asked[0]}: the latter is the number of translations", "leave --n-best out")
    scores = [change for change in changes if change.startswith(_SCORES)]
    if scores and run.recipe.model.plans_length:
        raise NmtlabError(f"--set {scores[0]}: run {run.name!r} is searched by p(length) times p", "leave it out")
    temperature, top_p = (1.0 if drawing[name] is None else drawing[name] for name in ("--temperature", "--top-p"))
    if not _COLDEST <= temperature <= _HOTTEST:
        raise NmtlabError(
            f"--temperature {temperature:g}: not between {_COLDEST:g} and {_HOTTEST:g}",
            "give 1 for the model's distribution",
        )
    if not 0 < top_p <= 1:
        raise NmtlabError(f"--top-p {top_p:g}: not above 0 and at most 1", "give 1 to sample from all types")


def _prefixes(path: Path, lines: list[str]) -> list[str]:
    prefixes = read_text(path)
    if len(prefixes) != len(lines):
        raise NmtlabError(
            f"{path}: {len(prefixes):,} lines, but the text has {len(lines):,}",
            "give one line per line of the text, empty for no prefix",
        )
    return prefixes


def _rows(number: int, translation: "Translation", scores: bool) -> list[str]:
    if not scores:
        return translation.texts
    if not translation.hypotheses:
        return [f"{number}\t0.0000\t0.0000\t"]
    found = zip(translation.texts, translation.hypotheses, strict=True)
    return [f"{number}\t{h.score:.4f}\t{h.log_prob:.4f}\t{text}" for text, h in found]
