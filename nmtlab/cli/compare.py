"""`nmtlab compare`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from nmtlab.analysis.access.needs import overlap_warning, unfinished_warning
from nmtlab.analysis.comparison.files import (
    ScoredText,
    labels_of,
    read_frequency,
    read_translations,
    text_of_split,
)
from nmtlab.cli.answer import Answer, Json, print_answer
from nmtlab.cli.options import (
    Beam,
    Set,
    Source,
    Split,
    Target,
    Threads,
    check_belongs,
    open_text,
    run_recipe,
    sentence_bar,
)
from nmtlab.cli.scored import (
    FIELDS,
    Asked,
    LowerIsBetter,
    References,
    Score,
    Segments,
    SpBleu,
    Ter,
    text_of,
    warn,
)
from nmtlab.cli.tables import print_table
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.resampling import counted_scores
from nmtlab.files import write_text
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace


class ComparedScore(Score, Answer):
    """A score of a system, in `Comparison`."""

    system: str
    """The run, or the file of translations."""
    difference: float | None
    """To the score of the first system."""
    p: float | None
    """That the systems do not differ, by sacrebleu's paired bootstrap."""


class LabelScores(Answer):
    """The scores of the sentences of a label, in `Comparison`."""

    label: str
    """As in the file."""
    sentences: int
    """How many have it."""
    scores: dict[str, list[ComparedScore]]
    """Title of each metric -> each system."""


class Comparison(Answer):
    """The answer of `nmtlab compare`. Each list of scores has all systems, the first one first."""

    text: str
    """The corpus and its split, or the files of references."""
    source: str | None
    """Language of the source."""
    target: str
    """Language of the translations."""
    sentences: int
    """How many are compared."""
    bleu: list[ComparedScore]
    """By sacrebleu, of detokenized text."""
    chrf: list[ComparedScore]
    """By sacrebleu: chrF2."""
    chrf_plus_plus: list[ComparedScore]
    """By sacrebleu: chrF2++."""
    ter: list[ComparedScore] | None
    """By sacrebleu, with `--ter`."""
    spbleu: list[ComparedScore] | None
    """By sacrebleu on the subwords of FLORES-200, with `--spbleu`."""
    tokenized_bleu: list[ComparedScore] | None
    """As multi-bleu computes it, of Moses tokens."""
    segment_scores: dict[str, list[ComparedScore]]
    """By the metrics of `--segment-scores`: their names -> the means of the sentences."""
    labels: list[LabelScores] | None
    """By the labels of `--labels`, those of most sentences first."""
    warnings: list[str]
    """What to know before the scores are believed."""


def compare(
    systems: Annotated[
        list[str],
        typer.Argument(help="Runs, or text files with translations made elsewhere; the first is the baseline."),
    ],
    corpus: Annotated[str, typer.Option(help="Corpus to compare on. (default: that of the first run)")] = "",
    split: Split = "test",
    source: Source = "",
    target: Target = "",
    reference: References = None,
    source_text: Annotated[
        Path | None, typer.Option(help="File of the source sentences, with --reference, for the page.")
    ] = None,
    frequency_text: Annotated[
        Path | None,
        typer.Option(
            help="Text in which words are counted for the page. (default: the training text, or else the references)"
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="File with a label for each sentence: also score the sentences of each label.")
    ] = None,
    ter: Ter = False,
    spbleu: SpBleu = False,
    segment_scores: Segments = None,
    lower_is_better: LowerIsBetter = None,
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
    json: Json = False,
) -> None:
    """Compare systems with a baseline by paired bootstrap resampling.

    Runs are compared on a text of a corpus; files of translations, on that or on --reference, without any workspace.

    p is computed as in sacrebleu: the share of resampled test sets whose absolute difference, minus the mean over all
    of them, exceeds that on the test set itself. It is close to the p of a one-sided test (Koehn 2004), and half that
    of a two-sided one. Fewer than six sentences decide nothing: their p is 1.
    """
    if len(systems) < 2:
        raise NmtlabError("one system: nothing to compare it with", "name a baseline and at least one other system")
    if twice := sorted({name for name in systems if systems.count(name) > 1}):
        raise NmtlabError(f"{twice[0]!r} is named twice", "name each system once")
    runs = {} if reference else _opened(systems, Workspace.find())
    check_belongs("--reference", reference, {"--source-text": source_text})
    check_belongs("--html", html, {"--frequency-text": frequency_text})
    check_belongs("a run", runs, {"--beam": beam, "--set": set_, "--threads": threads})
    on: ParallelCorpus | None
    if runs:
        _, on = open_text(next(iter(runs.values())), Workspace.find(), corpus, source, target)
        text = text_of_split(on, split)
    else:
        text, on = text_of(systems, reference, corpus, split, source, target, source_text)
    elsewhere = {name: read_translations(Path(name), text, warn) for name in systems if name not in runs}
    asked = Asked(ter, spbleu, segment_scores or [], lower_is_better or [])
    given = asked.given(systems, text)
    of_lines = _labels(labels, len(text.source)) if labels else []
    seen = read_frequency(frequency_text, text.languages[1]) if frequency_text else None
    metrics = asked.metrics(text)

    from nmtlab.analysis.access.scoring import compared_by_label, compared_counts, counted_texts, who_wins
    from nmtlab.analysis.access.translations import translations

    lines = {name: elsewhere.get(name, []) for name in systems}
    warnings: list[str] = []
    if on:
        for name, run in runs.items():
            recipe = run_recipe(run.recipe, set_, threads, beam, [other.recipe for other in runs.values()])
            with sentence_bar(len(text.source), name) as bar:
                lines[name] = translations(run, on, split, recipe.search, recipe.machine, bar.update)
            warnings += filter(None, (overlap_warning(run, on, split), unfinished_warning(run)))
    about = f"{text.name}, {text.direction}"
    if html is not None:
        from nmtlab.analysis.comparison.stored import compared_lines
        from nmtlab.dashboards.parts.compared import comparison_file  # needs the workbench

        whole = replace(compared_lines(lines, runs, text, on, given), metrics=metrics.of, labels=of_lines)
        write_text(html, comparison_file(replace(whole, counts={}, seen=seen) if seen else whole, about))
    counts = counted_texts([lines[name] for name in systems], text.references, metrics.of)
    counts += [counted_scores(one.name, [one.of[name][0] for name in systems], one.better) for one in given]
    table = compared_counts(systems, counts, samples)
    by_label = compared_by_label(systems, counts, of_lines, samples) if of_lines else None
    if json:
        print_answer(_answer(text, table, by_label, metrics.missing, warnings))
    elif csv:
        print(pd.concat([table, by_label]).to_csv(index=False), end="")
    else:
        print_comparison(table, about)
        for system in who_wins(table):
            print(f"  {system}")
        if by_label is not None:
            _print_by_label(by_label, about)
        if "tokenized BLEU" in metrics.missing:
            print(f"no tokenized BLEU: {metrics.missing['tokenized BLEU']}")
        for warning in warnings:
            print(warning)


def _opened(systems: list[str], workspace: Workspace) -> dict[str, Run]:
    """Return the runs among systems by name; the others are files."""
    return {name: open_run(name, workspace) for name in systems if not Path(name).is_file()}


def _labels(path: Path, sentences: int) -> list[str]:
    with path.open("rb") as file:
        return labels_of(file, str(path), sentences)


def _answer(
    text: ScoredText,
    table: pd.DataFrame,
    by_label: pd.DataFrame | None,
    missing: Mapping[str, str],
    warnings: list[str],
) -> Comparison:
    scores = compared_scores(table)
    of_labels = None if by_label is None else by_label.groupby("label", sort=False)
    labels = [
        LabelScores(label=str(label), sentences=int(rows["sentences"].iloc[0]), scores=compared_scores(rows))
        for label, rows in of_labels or ()
    ]
    reasons = {"source": "the text has references alone", "labels": "not asked for with --labels"}
    return Comparison.of(
        reasons | {FIELDS[title]: reason for title, reason in missing.items()},
        text=text.name, source=text.languages[0] or None, target=text.languages[1], sentences=len(text.source),
        segment_scores={title: rows for title, rows in scores.items() if title not in FIELDS},
        labels=labels or None, warnings=warnings,
        **{name: scores.get(title) for title, name in FIELDS.items()},
    )  # fmt: skip


def compared_scores(table: pd.DataFrame) -> dict[str, list[ComparedScore]]:
    """Return the scores of all systems by each metric, by its title."""
    found: dict[str, list[ComparedScore]] = {}
    for row in table.itertuples():
        names = ("system", "score", "mean", "margin", "p", "better", "signature")
        of = {name: getattr(row, name) for name in names} | {"difference": None if pd.isna(row.p) else row.difference}
        reasons = dict.fromkeys(("difference", "p"), "it is the first system")
        found.setdefault(str(row.metric), []).append(ComparedScore.of(reasons, **of))
    return found


def print_comparison(comparison: pd.DataFrame, title: str) -> None:
    """Print a paired bootstrap: * for p < 0.05, ** for p < 0.01 against the first system."""
    for metric, rows in comparison.groupby("metric", sort=False):
        columns = ["system", *_columns(str(metric), rows)]
        cells = [[row.system, *_cells(row)] for row in rows.itertuples()]
        print_table(f"{metric} on {title}", columns, cells, set(columns[1:]))
        print(f"  {rows['signature'].iloc[0]}")
    print("  * p < 0.05, ** p < 0.01 against the first system, sacrebleu's paired bootstrap")


def _print_by_label(by_label: pd.DataFrame, title: str) -> None:
    for metric, rows in by_label.groupby("metric", sort=False):
        columns = ["label", "sentences", "system", *_columns(str(metric), rows)]
        cells = [[str(row.label), f"{row.sentences:,}", row.system, *_cells(row)] for row in rows.itertuples()]
        print_table(f"{metric} by label on {title}", columns, cells, set(columns[3:]) | {"sentences"})


def _columns(metric: str, rows: pd.DataFrame) -> list[str]:
    lower = " (lower is better)" * (rows["better"].iloc[0] == "lower")
    return [f"{metric}{lower}", "bootstrap, 95 %", "difference", "p"]


def _cells(row: Any) -> list[str]:
    decimals = 2 if row.metric in FIELDS else 4
    first = pd.isna(row.p)
    return [
        f"{row.score:.{decimals}f}",
        f"{row.mean:.{decimals}f} ± {row.margin:.{decimals}f}",
        "" if first else f"{row.difference:+.{decimals}f}",
        "" if first else f"{row.p:.3f} {'**' if row.p < 0.01 else '*' if row.p < 0.05 else ''}",
    ]
