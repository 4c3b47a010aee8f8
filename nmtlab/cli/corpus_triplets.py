"""`nmtlab corpus triplets`."""

import sys
from typing import Annotated

import typer

from nmtlab.cli.corpus_import import Name, print_report
from nmtlab.cli.options import Source, Target, Threads, check_belongs, sentence_bar
from nmtlab.errors import NmtlabError
from nmtlab.recipe import MachineSettings
from nmtlab.runs.listing import open_run
from nmtlab.text.corpora.corpus import open_corpus
from nmtlab.workspace import Workspace


def triplets(
    name: Name,
    corpus: Annotated[str, typer.Option(help="Name of a corpus of pairs, or path of its folder.")],
    run: Annotated[str, typer.Option(metavar="RUN", help="The run whose translations are to be corrected.")] = "",
    damage: Annotated[
        float | None, typer.Option(help="Instead of a run: share of the reference's words that are damaged, as 0.2.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed of --damage. (default: 1)")] = None,
    threads: Threads = None,
    source: Source = "",
    target: Target = "",
) -> None:
    """Make triplets for automatic post-editing: pairs with machine translations as a second source.

    The translations are in the files of the target language with -x-mt, as test.en-x-mt. They are a run's, of pairs
    that it was not trained on: pairs whose source is in its training text are left out, and a corpus that it was
    trained on is refused. Or they are references with damaged words: dropped, swapped or replaced.

        nmtlab corpus join little gl-en --train 1000
        nmtlab corpus join rest gl-en --skip 1000
        nmtlab corpus triplets edits --run weak --corpus rest

    A blank translation is a missing source, <NULL>.
    """
    workspace = Workspace.find()
    folder = workspace.new_corpus_folder(name)
    if bool(run) == (damage is not None):
        raise NmtlabError("--run and --damage: one of them makes the translations", "give one of them")
    check_belongs("--damage", damage, {"--seed": seed})
    check_belongs("--run", run, {"--threads": threads})
    pairs = open_corpus(corpus, workspace, source, target)
    opened = open_run(run, workspace) if run else None

    from nmtlab.triplets import damaged_triplets, translated_triplets  # after the names are checked: it loads torch

    if opened:
        machine = MachineSettings(threads=threads) if threads else MachineSettings()
        with sentence_bar(sum(map(pairs.count, pairs.splits))) as bar:
            report = translated_triplets(folder, pairs, opened, workspace, machine, bar.update)
    else:
        assert damage is not None
        report = damaged_triplets(folder, pairs, damage, 1 if seed is None else seed)
    languages = report.options["languages"]
    print_report(name, ", ".join(languages), report, "triplets")
    if blank := report.options["blank"]:
        print(f"{blank:,} translations are blank: missing sources, <NULL>")
    if report.options.get("unchecked"):
        print(f"not all training text of {run} is here: it may have seen some of these pairs", file=sys.stderr)
    first, mt, last = languages
    directed = f"--source {first} --target {last}"
    joint = "--set model.combine=joint"
    print(f"next: nmtlab train {name} --source {first} --also-source {mt} --target {last} {joint} --name NAME")
    if "test" in report.kept:
        print(f"unedited: nmtlab compare {folder / f'test.{mt}'} NAME --corpus {name} {directed} --ter")
