"""`nmtlab corpus filter`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from pandas import DataFrame

from nmtlab.cli.options import Source, Target
from nmtlab.cli.tables import print_frame
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.language_identification import Identifier
from nmtlab.files import write_text
from nmtlab.languages import scripts_of
from nmtlab.text.corpora.cleaning import Limits
from nmtlab.text.corpora.corpus import ParallelCorpus, open_corpus
from nmtlab.text.corpora.filtering import Filter, Filtered, filter_corpus, filtered
from nmtlab.workspace import Workspace

_LONGEST = 60  # characters of an example


def filter_(
    corpus: Annotated[str, typer.Argument(help="Name of a corpus, or path of its folder.")],
    new: Annotated[str, typer.Argument(help="Name of the new corpus; not needed with --dry-run.")] = "",
    max_words: Annotated[int, typer.Option(min=1, help="Drop pairs with more words on either side.")] = 250,
    max_ratio: Annotated[
        float,
        typer.Option(
            min=0,
            help="Drop pairs with one side this many times longer, in words, or in characters if a language is written "
            "without spaces; 0 for no limit.",
        ),
    ] = 5.0,
    copies: Annotated[bool, typer.Option(help="Drop pairs that are the same on both sides.")] = True,
    scripts: Annotated[
        bool, typer.Option(help="Drop pairs with most letters of a side in another script than its language's.")
    ] = True,
    languages: Annotated[
        bool, typer.Option("--languages", help="Drop pairs with a side in another language, as py3langid finds.")
    ] = False,
    similar: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Drop pairs with a side that has this share of words in common with a dev or test sentence, such as "
            "0.7 (Jaccard index); 0 to keep them.",
        ),
    ] = 0.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what each rule would drop.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write a page with histograms of lengths and of their ratios.")
    ] = None,
    source: Source = "",
    target: Target = "",
) -> None:
    """Drop bad pairs from the training text of a corpus: a new corpus, with the same dev and test.

    A pair is counted under the first rule that drops it: blank side, too long, length ratio, copy, script, language,
    duplicate, similar to dev or test.
    """
    workspace = Workspace.find()
    if not (new or dry_run):
        raise NmtlabError("no name for the new corpus", "give one, or --dry-run")
    text = open_corpus(corpus, workspace, source, target)
    identifier = Identifier() if languages else None
    limits = Limits(max_words, max_ratio).of(*text.direction)
    chosen = Filter(limits, copies, scripts, identifier.excludes if identifier else None, similar)
    found = Filtered(limits)
    if dry_run:
        for _ in filtered(text, chosen, found):
            pass
    else:
        folder = workspace.new_corpus_folder(new)
        filter_corpus(folder, text, chosen, found)
    _print(f"{text.name}: {text.source} to {text.target}", found.table(chosen.reasons))
    for note in _unchecked(text, scripts, identifier):
        print(note)
    if html is not None:
        from nmtlab.dashboards.parts.filtered import filter_file  # needs the workbench

        write_text(html, filter_file(f"{text.name}, {text.source} to {text.target}", chosen, found))
    if not dry_run:
        print(f"written to {folder}; dev and test are those of {text.name}")
        print(f"next: nmtlab corpus stats {new}, then nmtlab train {new}")


def _print(title: str, table: DataFrame) -> None:
    """Print how many pairs each rule dropped, with examples."""
    for side in ("source", "target"):
        table[side] = [text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in table[side]]
    shown = [("dropped as", "rule", "{}"), ("pairs", "pairs", "{:,.0f}"), ("share", "share", "{:.1%}")]
    shown += [("line", "line", "{:,.0f}"), ("source", "source", "{}"), ("target", "target", "{}")]
    print_frame(title, table, shown)


def _unchecked(corpus: ParallelCorpus, scripts: bool, identifier: Identifier | None) -> Iterator[str]:
    """Yield what could not be checked, as the language is unknown."""
    for code in corpus.direction:
        if scripts and not scripts_of(code):
            yield f"scripts of {code} were not checked: it is unknown which it is written in"
        if identifier and not identifier.knows(code):
            yield f"{code} was not checked for other languages: py3langid does not know it"
