"""`nmtlab demo`."""

import sys
from typing import Annotated

import typer

from nmtlab.analysis.access.scoring import compare_texts
from nmtlab.analysis.access.translations import translations
from nmtlab.cli.compare import print_comparison
from nmtlab.cli.dashboards import dashboards
from nmtlab.cli.options import Threads
from nmtlab.cli.tables import print_table
from nmtlab.demo import (
    CHILD_CORPUS,
    CORPUS,
    PARENT_CORPUS,
    TRANSFER,
    TRANSFORMERS,
    demo_corpus,
    demo_recipe,
    demo_runs,
    finished,
)
from nmtlab.progress import ProgressBar
from nmtlab.runs.run import Run
from nmtlab.text.artificial import FAMILY
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.thesis.measured import measured
from nmtlab.workspace import Workspace


def demo(
    transfer: Annotated[
        bool, typer.Option("--transfer", help="A child with 500 pairs, alone and with a parent in a related language.")
    ] = False,
    threads: Threads = None,
) -> None:
    """Show a measured finding, then train three tiny systems on a small artificial language and compare them.

    The trainings take three to four minutes on 2 CPU cores; those of an earlier demo are reused. At the end, the demo
    offers to open the dashboards.
    """
    _show_finding(*(("table-3.2", "Uyg-Eng") if transfer else ("table-3.13", "gl-en")))
    workspace = Workspace.find()
    corpus = demo_corpus(workspace, CHILD_CORPUS if transfer else CORPUS)
    _introduce(corpus)
    if transfer:
        _introduce(demo_corpus(workspace, PARENT_CORPUS))
    runs = [_run(workspace, name, threads) for name in (TRANSFER if transfer else TRANSFORMERS)]
    _report([run for run in runs if run.recipe.corpus.name == corpus.name], corpus)
    if transfer:
        print(
            "\nWhat next:\n"
            "  nmtlab dashboards                                the page Parent and child shows what moved\n"
            f"  nmtlab corpus overlap {PARENT_CORPUS} {CHILD_CORPUS}     how many words and subwords they share\n"
            "  nmtlab corpus make --help                        a closer or more distant relative, by --cognates\n"
            "  nmtlab train --help                              a parent in your language: --vocabulary-from, --parent"
        )
    else:
        _next_steps(runs[-1])
    if sys.stdin.isatty() and sys.stdout.isatty() and typer.confirm("\nOpen the dashboards now?", default=True):
        dashboards(browser=True)


def _show_finding(name: str, row: str) -> None:
    """Print what the trainings that come with nmtlab found on one text, to be read while the demo trains."""
    print_table(*measured(name, "small").row_sheet(row))
    print(
        f"  the whole table: nmtlab reproduce {name} --stored, or the page Tables of nmtlab dashboards\n\n"
        "The demo trains smaller systems of these kinds.\n"
    )


def _next_steps(run: Run) -> None:
    print(
        "\nWhat next:\n"
        "  nmtlab dashboards                        inspect them: figures, attention, what decided each word\n"
        f"  nmtlab translate {run.name}          translate sentences that you type\n"
        f"  nmtlab runs show {run.name}          its recipe, every field explained, and its evaluations\n"
        "  nmtlab corpus import --help              import your text: files, TSV, gettext catalogues\n"
        "  nmtlab train YOUR-CORPUS                 train on it; 'nmtlab recipes list' lists the systems"
    )


def _introduce(corpus: ParallelCorpus) -> None:
    name = FAMILY[corpus.source].name
    print(f"{corpus.name}: an artificial language, {name}, and an English-like one; for example")
    for source, target in list(corpus.pairs("dev"))[:3]:
        print(f"  {source}\n    {target}")


def _run(workspace: Workspace, name: str, threads: int | None) -> Run:
    print(f"\n{name}: {'already trained' if finished(workspace, name) else demo_recipe(name).about}")
    (run,) = demo_runs(workspace, name, on_event=ProgressBar(), threads=threads)
    return run


def _report(runs: list[Run], corpus: ParallelCorpus) -> None:
    lines = {run.name: translations(run, corpus, "test") for run in runs}
    comparison = compare_texts(lines, corpus.references("test"), corpus.target)
    print()
    print_comparison(comparison[comparison["metric"] == "BLEU"], f"{corpus.name} test")
    print("  only an illustration: one seed each, and claims about systems need several")
    for number, (source, target) in enumerate(list(corpus.pairs("test"))[:3]):
        print(f"\n  source          {source}\n  reference       {target}")
        for name, translated in lines.items():
            print(f"  {name:15} {translated[number]}")
