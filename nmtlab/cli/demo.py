"""`nmtlab demo`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from nmtlab.cli.dashboards import dashboards

if TYPE_CHECKING:
    from nmtlab.runs.run import Run
    from nmtlab.text.corpus import ParallelCorpus
    from nmtlab.workspace import Workspace


def demo(
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads. (default: torch's choice)")] = None,
) -> None:
    """Grow a small language, train three tiny systems on it, and compare them: three to four minutes on 2 CPU cores.

    What is there already, from an earlier time, is not made again. In the end it offers the dashboards on them.
    """
    from nmtlab.demo import TRANSFORMERS, demo_corpus
    from nmtlab.workspace import Workspace

    workspace = Workspace.find()
    corpus = demo_corpus(workspace)
    _introduce(corpus)
    runs = [_run(workspace, name, threads) for name in TRANSFORMERS]
    _report(runs, corpus)
    print(
        "\nWhat next:\n"
        "  nmtlab dashboards                        look at them: figures, attention, what decided each word\n"
        f"  nmtlab translate {runs[-1].name}          translate sentences that you type\n"
        f"  nmtlab runs show {runs[-1].name}          its recipe, every field explained, and its evaluations\n"
        "  nmtlab corpus import --help              bring text of your own: files, TSV, gettext catalogues\n"
        "  nmtlab train YOUR-CORPUS                 train on it; 'nmtlab recipes list' shows the systems there are"
    )
    if (
        sys.stdin.isatty()
        and sys.stdout.isatty()
        and typer.confirm("\nLook at them in the dashboards now?", default=True)
    ):
        dashboards(browser=True)


def _introduce(corpus: "ParallelCorpus") -> None:
    from nmtlab.text.seedlings import FAMILY

    name = FAMILY[corpus.source].name
    print(f"{corpus.name}: a controlled language, {name}, and an English-like one; for example")
    for source, target in list(corpus.pairs("dev"))[:3]:
        print(f"  {source}\n    {target}")


def _run(workspace: "Workspace", name: str, threads: int | None) -> "Run":
    from nmtlab.demo import demo_recipe, demo_runs, finished
    from nmtlab.progress import ProgressBar

    print(f"\n{name}: {'trained already' if finished(workspace, name) else demo_recipe(name).about}")
    (run,) = demo_runs(workspace, name, on_event=ProgressBar(), threads=threads)
    return run


def _report(runs: "list[Run]", corpus: "ParallelCorpus") -> None:
    from nmtlab.analysis.access.scores import compare_texts
    from nmtlab.analysis.access.translations import translations
    from nmtlab.cli.tables import print_comparison

    lines = {run.name: translations(run, corpus, "test") for run in runs}
    comparison = compare_texts(lines, corpus.references("test"), corpus.target)
    print()
    print_comparison(comparison[comparison["metric"] == "BLEU"], f"{corpus.name} test")
    print("  one seed each, so an illustration: a claim about systems needs several")
    for number, (source, target) in enumerate(list(corpus.pairs("test"))[:3]):
        print(f"\n  source          {source}\n  reference       {target}")
        for name, translated in lines.items():
            print(f"  {name:15} {translated[number]}")
