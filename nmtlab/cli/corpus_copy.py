"""`nmtlab corpus copy`."""

from typing import Annotated

import typer

from nmtlab.cli.corpus_import import Name, print_pairs
from nmtlab.text.corpora.corpus_builder import copy_text
from nmtlab.text.corpora.monolingual import open_monolingual
from nmtlab.workspace import Workspace


def copy(
    name: Name,
    text: Annotated[
        str,
        typer.Option(metavar="MONO", help="Text in the target language, or one side of a parallel corpus as NAME:en."),
    ],
    source: Annotated[str, typer.Option(metavar="LANGUAGE", help="The source language of the system to be trained.")],
) -> None:
    """Put text in the target language on both sides: pairs to train on beside real ones (Currey et al. 2017).

        nmtlab corpus copy english-copied --text english --source gl

    The decoder reads more of its language, and learns to pass on names and numbers as they are.
    """
    workspace = Workspace.find()
    folder = workspace.new_corpus_folder(name)
    report = copy_text(folder, open_monolingual(text, workspace), source)
    print_pairs(name, report)
    print("next: nmtlab train with real pairs, and a recipe that adds these:")
    print(f'\n[[more_corpora]]\nname = "{name}"\nsource = "{source}"\ntarget = "{report.target}"')
