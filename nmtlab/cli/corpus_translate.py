"""`nmtlab corpus translate`."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Literal

import typer

from nmtlab.cli.corpus_import import Name, print_pairs
from nmtlab.cli.options import AskedEngine, Threads, check_belongs, check_sampling, sentence_bar
from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.recipe import MachineSettings
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.checks.inspection import check_held_out
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.corpus_builder import ImportReport
from nmtlab.text.corpora.monolingual import open_monolingual
from nmtlab.workspace import Workspace

ACCEPT = ", or accept them with --allow-overlap"
"""What else can be done about text with sentences of dev and test, than to remove them."""


def translate(
    name: Name,
    run: Annotated[str, typer.Option(metavar="RUN", help="The run that translates the text.")],
    text: Annotated[
        str, typer.Option(metavar="MONO", help="Monolingual text, or one side of a parallel corpus as NAME:en.")
    ],
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="RUN", help="Also translate with this run, as an ensemble; repeatable."),
    ] = None,
    to: Annotated[
        str, typer.Option("--to", metavar="LANGUAGE", help="Language to translate into, if the run writes several.")
    ] = "",
    as_: Annotated[
        Literal["source", "target"],
        typer.Option("--as", help="Side of the new pairs that has the translations; source is back-translation."),
    ] = "source",
    beam_size: Annotated[
        int | None,
        typer.Option(
            min=1, help="Beam size; 1 is greedy. (default: 1; the recipe's with --nearest, or if phrase-based)"
        ),
    ] = None,
    nearest: Annotated[
        Literal["bleu", "chrf"] | None,
        typer.Option(help="Keep of each beam the translation nearest to the reference; of a parallel corpus' side."),
    ] = None,
    samples: Annotated[
        int, typer.Option(min=0, max=1000, help="Sample so many translations of each line instead, each a pair.")
    ] = 0,
    temperature: Annotated[float | None, typer.Option(help="Temperature of sampling. (default: 1)")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number of lines, drawn at random; 0 for all.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of samples, and of the draw of lines.")] = 1,
    origin: Annotated[
        str, typer.Option(help="Kind of text, tagged in training if the recipe names it; empty for no tag.")
    ] = "synthetic",
    allow_overlap: Annotated[
        bool, typer.Option("--allow-overlap", help="Accept text with sentences of the run's dev and test sets.")
    ] = False,
    threads: Threads = None,
    engine: Annotated[
        AskedEngine,
        typer.Option(
            help="Inference engine; auto is ctranslate2 where it finds the same text sooner, as in greedy search of a "
            "Transformer on a CPU, else nmtlab."
        ),
    ] = "auto",
) -> None:
    """Translate text with a run: pairs to train another run on.

    Back-translation needs a run that translates into the source language of the system to be trained:

        nmtlab train gl-en --source en --target gl --name back
        nmtlab corpus translate gl-en.back --run back --text english

    Distillation trains a student on the targets that its teacher writes; dev and test of the corpus are kept:

        nmtlab corpus translate gl-en.taught --run teacher --text gl-en:gl --as target --beam-size 5

    Translations that are blank, or cut off at the length limit, are left out. An interrupted command leaves nothing
    behind, and begins anew.
    """
    workspace = Workspace.find()
    folder = workspace.new_corpus_folder(name)
    check_belongs("--samples", samples, {"--temperature": temperature})
    special = {"--samples": samples, "--with": with_}
    unserved = [f"{option}: CTranslate2 searches with a plain beam only" for option, given in special.items() if given]
    if engine == "ctranslate2" and unserved:
        raise NmtlabError(unserved[0], "leave --engine out")
    for option, given in (("--beam-size", beam_size), ("--nearest", nearest)):
        if samples and given:
            raise NmtlabError(f"{option} and --samples: mutually exclusive", "leave one out")
    if nearest and as_ == "source":
        raise NmtlabError("--nearest: chooses among targets", "add --as target, or leave it out")
    check_sampling(1.0 if temperature is None else temperature)
    if not re.fullmatch("[a-z0-9-]{0,50}", origin):  # as in a recipe
        raise NmtlabError(f"--origin {origin!r}: not letters a to z, digits and hyphens", "give a name like synthetic")
    opened, *others = (open_run(one, workspace) for one in (run, *(with_ or [])))
    lines = open_monolingual(text, workspace)
    if reads := any(lines.language == source for source, _ in opened.directions):
        opened = opened.directed(lines.language, to)
    neural = opened.recipe.model.neural
    if samples and not neural:
        raise NmtlabError(f"--samples: run {opened.name!r} is phrase-based", "leave it out")
    if reads and not allow_overlap:  # text in another language is refused as such
        check_held_out(lines, _corpora([opened, *others], workspace), ACCEPT)

    from nmtlab.interchange.engine import choose_engine  # after the names are checked: it loads torch
    from nmtlab.interchange.served import open_served
    from nmtlab.synthetic import Synthesis, back_translate

    width = beam_size or (1 if neural and not nearest else opened.recipe.search.beam_size)
    if nearest and width == 1:
        raise NmtlabError("--nearest: chooses among the translations of a beam", "give a --beam-size of 2 or more")
    search = opened.recipe.search.model_copy(update={"beam_size": width})
    settings = Synthesis(as_, search, samples, temperature or 1.0, limit, seed, origin, nearest=nearest)
    machine = MachineSettings(threads=threads) if threads else MachineSettings()
    choice = choose_engine(engine, opened, search, machine, unserved)
    system = open_served(opened, "fp32", search, machine=machine) if choice.engine == "ctranslate2" else None
    total = lines.count()
    with sentence_bar(min(total, limit or total)) as bar:
        report = back_translate(opened, lines, folder, settings, machine, bar.update, system, others)
    if choice.why:
        print(choice, file=sys.stderr)
    print_pairs(name, report)
    _print_recipe(name, report)


def _corpora(runs: Sequence[Run], workspace: Workspace) -> Iterator[ParallelCorpus]:
    """Yield the corpora of runs that are here."""
    for named in dict.fromkeys(named for run in runs for named in run.recipe.corpora):
        with suppress(CorpusError):
            yield ParallelCorpus.open(workspace.corpus_folder(named.name), named.source, named.target)


def _print_recipe(name: str, report: ImportReport) -> None:
    """Print how many translations are copies or not the model's best, and how to train on the new pairs."""
    if copies := report.options["copies"]:
        print(f"{copies:,} of the translations copy their line")
    if lower := report.options.get("lower_ranked"):
        print(f"{lower:,} of the translations are nearer to the reference than the model's best")
    if "dev" in report.kept:
        print(f"next: nmtlab train {name} --source {report.source} --target {report.target}, or beside real pairs:")
    else:
        print("next: nmtlab train with real pairs, and a recipe that adds these:")
    origin, samples = report.options["origin"], report.options.get("samples", 1)
    fields = {"name": name, "source": report.source, "target": report.target} | ({"origin": origin} if origin else {})
    print('\nbase = "transformer-small"\n\n[[more_corpora]]')
    for field, value in fields.items():
        print(f'{field} = "{value}"')
    if samples > 1:
        print(f"weight = {1 / samples:.4g}  # {samples} pairs a line")
