"""`nmtlab demo`."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nmtlab.runs.run import Run
    from nmtlab.text.corpus import ParallelCorpus
    from nmtlab.workspace import Workspace

CORPUS = "demo-seedlings"
LANGUAGE = "qaa"
SYSTEMS = {
    "demo-postnorm": "postnorm",
    "demo-prenorm": "prenorm",
    "demo-scalenorm": "prenorm-fixnorm-scalenorm",
}
SETTINGS = [
    "text.vocabulary_size=1500", "model.d_model=64", "model.d_ff=256", "model.heads=2", "training.batch_tokens=1536",
    "training.validate_every=100", "training.max_evaluations=8", "training.warmup=150", "training.rate_scale=1.0",
]  # fmt: skip


def demo(
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads. [default: torch's choice]")] = None,
) -> None:
    """Grow a small language, train three tiny systems on it, and compare them: two to three minutes on 2 CPU cores.

    What is there already, from an earlier time, is not made again.
    """
    from nmtlab.workspace import Workspace

    workspace = Workspace.find()
    corpus = _corpus(workspace)
    settings = [*SETTINGS, *([f"machine.threads={threads}"] if threads else [])]
    runs = [_run(name, recipe, settings, corpus, workspace) for name, recipe in SYSTEMS.items()]
    _report(runs, corpus)
    print(
        "\nWhat next:\n"
        f"  nmtlab translate {runs[-1].name}          translate sentences that you type\n"
        f"  nmtlab runs show {runs[-1].name}          its recipe, every field explained, and its evaluations\n"
        "  nmtlab corpus import --help              bring text of your own: files, TSV, gettext catalogues\n"
        "  nmtlab train YOUR-CORPUS                 train on it; 'nmtlab recipes list' shows the systems there are"
    )


def _corpus(workspace: "Workspace") -> "ParallelCorpus":
    from nmtlab.text.corpus import ParallelCorpus
    from nmtlab.text.seedlings import FAMILY, write_corpus

    folder = workspace.data / "corpora" / CORPUS
    if not folder.exists():
        write_corpus(folder, [LANGUAGE], train=6000, dev=200, test=500)
    corpus = ParallelCorpus.open(folder, LANGUAGE, "en")
    print(f"{CORPUS}: a controlled language, {FAMILY[LANGUAGE].name}, and an English-like one; for example")
    for source, target in list(corpus.pairs("dev"))[:3]:
        print(f"  {source}\n    {target}")
    return corpus


def _run(name: str, recipe: str, settings: list[str], corpus: "ParallelCorpus", workspace: "Workspace") -> "Run":
    from nmtlab.progress import ProgressBar
    from nmtlab.recipe import named_recipe
    from nmtlab.runs.run import Run
    from nmtlab.training.trainer import train

    folder = workspace.run_folder(name)
    if folder.exists() and Run(folder).status == "finished":
        print(f"\n{name}: trained already")
        return Run(folder)
    print(f"\n{name}: {named_recipe(recipe).about}")
    return train(
        name,
        named_recipe(recipe).with_settings(settings),
        corpus,
        workspace,
        resume=folder.exists(),
        on_event=ProgressBar(),
    )


def _report(runs: "list[Run]", corpus: "ParallelCorpus") -> None:
    from nmtlab.analysis.scores import compare_texts
    from nmtlab.analysis.translations import translations
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
