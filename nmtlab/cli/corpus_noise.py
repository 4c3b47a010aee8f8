"""`nmtlab corpus noise`."""

from typing import Annotated

import typer

from nmtlab.cli.corpus_import import Name, report_pairs
from nmtlab.cli.options import Source, Target
from nmtlab.text.corpora.corpus import open_corpus
from nmtlab.text.corpora.monolingual import open_monolingual
from nmtlab.text.noise.adding import add_noise
from nmtlab.text.noise.kinds import Kind
from nmtlab.workspace import Workspace


def noise(
    name: Name,
    corpus: Annotated[str, typer.Option(help="Name of the clean corpus, or path of its folder.")],
    kind: Annotated[Kind, typer.Option(help="What is wrong with the pairs that are added.")],
    share: Annotated[float, typer.Option(help="Pairs to add for each clean one: 0.2 adds 20 %, 10 is the most.")],
    seed: Annotated[int, typer.Option(min=0, help="Random seed; less noise is then part of more.")] = 1,
    third: Annotated[
        str, typer.Option(metavar="CORPUS:xx", help="Text in a third language, for pairs in the wrong language.")
    ] = "",
    source: Source = "",
    target: Target = "",
) -> None:
    """Add bad pairs to the training text of a corpus: a new corpus, with the same dev and test.

    The clean pairs stay as they are, before the bad ones. Bad pairs are misaligned (the target of another pair),
    misordered (the words of a side shuffled), in the wrong language (a line of --third on a side), copied (a side
    replaced by a copy of the other), or short (pairs of at most 5 words, repeated).
    """
    workspace = Workspace.find()
    folder = workspace.new_corpus_folder(name)
    clean = open_corpus(corpus, workspace, source, target)
    text = open_monolingual(third, workspace) if third else None
    report_pairs(name, add_noise(folder, clean, kind, share, seed, text))
