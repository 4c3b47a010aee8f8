"""`nmtlab compare`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from tqdm import tqdm

from nmtlab.analysis.comparison.compared import Compared
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
)
from nmtlab.cli.tables import print_table
from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.files import write_text
from nmtlab.recipe.text import TextSettings
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus, open_corpus
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
    samples: Annotated[int, typer.Option(min=1, max=1_000_000, help="Test sets to resample for the bootstrap.")] = 1000,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Also write a page with scores, sentences, words and n-grams; runs that differ in their "
            "seed alone are one system there."
        ),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values instead of a table.")] = False,
) -> None:
    """Compare systems with a baseline by paired bootstrap resampling.

    p is computed as in sacrebleu: the share of resampled test sets whose absolute difference, minus the mean over all
    of them, exceeds that on the test set itself. It is close to p of a one-sided test (Koehn 2004), and half that of a
    two-sided one.
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

    lines = {}
    for name in systems:
        if name in elsewhere:
            lines[name] = elsewhere[name]
            continue
        recipe = run_recipe(runs[name].recipe, set_, threads, beam)
        with tqdm(total=text.count(split), desc=name, unit=" sentences", disable=None, leave=False) as bar:
            lines[name] = translations(runs[name], text, split, recipe.search, recipe.machine, bar.update)
    if html is not None:
        _write_page(html, lines, runs, text, split)
    table = compare_texts(lines, text.references(split), text.target, samples)
    if csv:
        print(table.to_csv(index=False), end="")
    else:
        print_comparison(table, f"{text.name} {split}, {text.source} to {text.target}")
        if "tokenized BLEU" not in set(table["metric"]):
            print(f"no tokenized BLEU: the text in {text.target} has no spaces between words")
        for opened in runs.values():
            say_overlap(opened, text, split)


def _write_page(
    path: Path, lines: Mapping[str, Sequence[str]], runs: Mapping[str, Run], text: ParallelCorpus, split: str
) -> None:
    """Write a comparison of translations as an HTML file."""
    from nmtlab.analysis.comparison.stored import known_names, seeds_of, word_counts
    from nmtlab.dashboards.parts.compared import comparison_file

    labels = {run.name: system for system, seeds in seeds_of(list(runs.values())).items() for run in seeds}
    files = Counter(Path(name).name for name in lines if name not in runs)
    systems: dict[str, list[Sequence[str]]] = {}
    for name, translated in lines.items():
        short = Path(name).name
        alone = files[short] == 1 and short not in labels.values()
        system = labels[runs[name].name] if name in runs else short if alone else name
        systems.setdefault(system, []).append(translated)
    longest = max((run.recipe.text.max_words for run in runs.values()), default=TextSettings().max_words)
    counts = word_counts(text, longest)
    source = list(text.lines(split, text.source))
    compared = Compared(source, text.references(split), systems, text.direction, counts, known_names(text))
    write_text(path, comparison_file(compared, f"{text.name} {split}, {text.source} to {text.target}"))


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
