"""`nmtlab compare`."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from nmtlab.cli.evaluate import read_translations
from nmtlab.cli.options import (
    Beam,
    Set,
    Source,
    Split,
    Target,
    Threads,
    open_text,
    run_recipe,
    say_overlap,
    sentence_bar,
)
from nmtlab.cli.tables import print_table
from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.files import write_text
from nmtlab.runs.listing import open_run
from nmtlab.text.corpora.corpus import open_corpus
from nmtlab.workspace import Workspace


def compare(
    systems: Annotated[
        list[str],
        typer.Argument(help="Runs, or text files with translations made elsewhere; the first is the baseline."),
    ],
    corpus: Annotated[str, typer.Option(help="Corpus to compare on. (default: that of the first run)")] = "",
    split: Split = "test",
    source: Source = "",
    target: Target = "",
    beam: Beam = None,
    set_: Set = None,
    threads: Threads = None,
    samples: Annotated[int, typer.Option(min=1, max=1_000_000, help="Number of bootstrap samples.")] = 1000,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Also write a page with scores, sentences, words and n-grams, where runs that differ only in their "
            "seed are one system."
        ),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values instead of a table.")] = False,
) -> None:
    """Compare systems with a baseline by paired bootstrap resampling.

    p is computed as in sacrebleu: the share of resampled test sets whose absolute difference, minus the mean over all
    of them, exceeds that on the test set itself. It is close to the p of a one-sided test (Koehn 2004), and half that
    of a two-sided one.
    """
    if len(systems) < 2:
        raise NmtlabError("one system: nothing to compare it with", "name a baseline and at least one other system")
    if twice := sorted({name for name in systems if systems.count(name) > 1}):
        raise NmtlabError(f"{twice[0]!r} is named twice", "name each system once")
    workspace = Workspace.find()
    runs = {name: open_run(name, workspace) for name in systems if not Path(name).is_file()}
    first = next(iter(runs.values()), None)
    if first is None and not corpus:
        raise CorpusError("text files only: no reference", "name the corpus they translate with --corpus")
    if first:
        _, text = open_text(first, workspace, corpus, source, target)
    else:
        text = open_corpus(corpus, workspace, source, target)
    elsewhere = {name: read_translations(Path(name), text, split) for name in systems if name not in runs}

    from nmtlab.analysis.access.scoring import compare_texts  # after the names are checked: it loads torch
    from nmtlab.analysis.access.translations import translations

    lines = {name: elsewhere.get(name, []) for name in systems}
    for name, run in runs.items():
        recipe = run_recipe(run.recipe, set_, threads, beam)
        with sentence_bar(text.count(split), name) as bar:
            lines[name] = translations(run, text, split, recipe.search, recipe.machine, bar.update)
    about = f"{text.name} {split}, {text.source} to {text.target}"
    if html is not None:
        from nmtlab.analysis.comparison.stored import compared_lines
        from nmtlab.dashboards.parts.compared import comparison_file  # needs the workbench

        write_text(html, comparison_file(compared_lines(lines, runs, text, split), about))
    table = compare_texts(lines, text.references(split), text.target, samples)
    if csv:
        print(table.to_csv(index=False), end="")
    else:
        print_comparison(table, about)
        if "tokenized BLEU" not in set(table["metric"]):
            print(f"no tokenized BLEU: the text in {text.target} has no spaces between words")
        for opened in runs.values():
            say_overlap(opened, text, split)


def print_comparison(comparison: pd.DataFrame, title: str) -> None:
    """Print a paired bootstrap: * for p < 0.05, ** for p < 0.01 against the first system."""
    for metric, rows in comparison.groupby("metric", sort=False):
        cells = [
            [
                row.system,
                f"{row.score:.2f}",
                f"{row.mean:.2f} ± {row.margin:.2f}",
                "" if pd.isna(row.p) else f"{row.difference:+.2f}",
                "" if pd.isna(row.p) else f"{row.p:.3f} {'**' if row.p < 0.01 else '*' if row.p < 0.05 else ''}",
            ]
            for row in rows.itertuples()
        ]
        columns = ["system", str(metric), "bootstrap, 95 %", "difference", "p"]
        print_table(f"{metric} on {title}", columns, cells, set(columns[1:]))
        print(f"  {rows['signature'].iloc[0]}")
    print("  * p < 0.05, ** p < 0.01 against the first system, sacrebleu's paired bootstrap")
