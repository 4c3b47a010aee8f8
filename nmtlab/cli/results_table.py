"""A table of results in the terminal, as `nmtlab reproduce` prints and stores it."""

from collections.abc import Mapping
from itertools import compress
from typing import get_args

import pandas as pd

from nmtlab.analysis.metrics import find_metric, find_metrics
from nmtlab.cli.tables import print_table
from nmtlab.experiments.results.collected import published
from nmtlab.experiments.results.judgement import NOT_KEPT, RULE
from nmtlab.experiments.results.kept import Kept
from nmtlab.experiments.results.sentences import read_sentences
from nmtlab.experiments.results.signatures import printed_signatures, signatures
from nmtlab.experiments.results.stored import Stored, read_cells
from nmtlab.experiments.results.summary import Verdict, summary
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.experiments.tables.labels import caveats, labelled, system_labels


def print_results(
    table: Table,
    scale: Scale,
    cells: pd.DataFrame,
    spreads: pd.DataFrame,
    left_out: Mapping[str, str],
    kept: Kept | None = None,
) -> None:
    """Print measured values with their verdicts beside published ones, and what stands under a table.

    Args:
        table: its declaration.
        scale: at which it was run.
        cells: lines of `nmtlab.experiments.results.collected.results`.
        spreads: the part of the test sentences, as of `nmtlab.experiments.results.sentences`.
        left_out: why the text of a row is not available.
        kept: what is kept of the table's trainings; if not given, everything is.
    """
    lines = summary(cells, table, spreads, kept)
    lines = lines[(lines["seeds"] > 0) | (lines["missing"] > 0) | (lines["diverged"] > 0)]
    several = len(table.metrics) > 1
    columns = ["pair", "system", *(["measure"] if several else []), "measured, 95 %"]
    baseline = system_labels(table).get(table.baseline, "")
    columns += [f"vs {baseline}, 95 %", "detectable", "q", "verdict"] if baseline else []
    columns += ["published", *([f"published vs {baseline}"] if baseline else [])]
    rows = [
        [line.row, line.column, *([line.metric] if several else []), _measured(line)]
        + (_compared(line) if table.baseline else [])
        + [_published(line), *([_published_difference(line)] if table.baseline else [])]
        for line in labelled(lines, table, scale).itertuples()
    ]
    if not table.published:
        filled = [any(cells) for cells in zip(*rows, strict=True)]
        columns, *rows = ([*compress(row, filled)] for row in (columns, *rows))
    print_table(f"{table.name} {scale}: {table.title}", columns, rows, set(columns[2 + several :]) - {"verdict"})
    metrics = "" if several else f"{find_metric(table.metrics[0]).label}; "
    shares = any(measure.kind in ("outcome", "proportion") for measure in find_metrics(table.metrics))
    print(f"  {metrics}mean over {_seeds(cells)}, ± 95 % by Student's t{'; of shares, by Wilson' if shares else ''}")
    for line in printed_signatures(signatures(table.only(dict.fromkeys(lines["row"])), scale)):
        print(f"  {line}")
    _print_verdicts(table, lines)
    for caveat in caveats(table):
        print(f"  {caveat}")
    if table.published:
        sources = ", ".join(published(table.name)["source"].unique())
        text = "" if scale == "thesis" else "; on another text: compare differences, not scores"
        there = sources + text if sources else "not available (the published values come with nmtlab)"
        print(f"  published: {there}")
        if lines["published_mark"].any():
            print(f"  marks of the published values: {table.marks}")
    print_reasons(table, scale, left_out)


def print_row(stored: Stored, row: str) -> None:
    """Print the systems of one row of a measured table: means, differences to the baseline and verdicts."""
    table, cells = stored.table, read_cells(stored.path)
    lines = summary(cells, table, read_sentences(stored.sentences))
    lines = labelled(lines[(lines["row"] == row) & (lines["seeds"] > 0)], table, stored.scale)
    baseline = system_labels(table)[table.baseline]
    columns = ["system", f"{find_metric(table.metrics[0]).label}, 95 %", f"vs {baseline}, 95 %", "verdict"]
    rows = []
    for line in lines.itertuples():
        difference, *_, verdict = _compared(line)
        rows.append([line.column, _measured(line), difference, verdict])
    print_table(f"{table.title}: {lines['row'].iloc[0]}", columns, rows, set(columns[1:3]))
    print(f"  mean over {_seeds(cells[cells['row'] == row])}, ± 95 %")


def _seeds(cells: pd.DataFrame) -> str:
    """Return which seeds the rows have."""
    found = cells.dropna(subset=["seed", "value"]).groupby("row", sort=False)["seed"].unique().map(sorted)
    different = sorted({tuple(seeds) for seeds in found}, key=lambda seeds: (len(seeds), seeds))
    return " or ".join(f"seeds {', '.join(map(str, seeds))}" for seeds in different) or "no seeds"


def _print_verdicts(table: Table, lines: pd.DataFrame) -> None:
    if not table.baseline:
        return
    labels = system_labels(table)
    covered = ", ".join(sorted(set(lines["interval"]) - {""}))
    print(f"  intervals of differences: {covered}\n  {RULE}")
    for column, some in lines[lines["column"] != table.baseline].groupby("column", sort=False):
        counts = some["verdict"].value_counts()
        kinds = [kind for kind in get_args(Verdict) if kind != NOT_KEPT or kind in counts]
        print(f"  {labels[column]}: {', '.join(f'{counts.get(kind, 0)} {kind}' for kind in kinds)}")


def print_reasons(table: Table, scale: Scale, left_out: Mapping[str, str]) -> None:
    """Print why rows and cells of the table are not run; `left_out` is why the text of a row is not available."""
    reasons: dict[str, list[str]] = {}
    cells: dict[tuple[str, str], list[str]] = {}
    for row in table.rows:
        setup = row.at[scale]
        if reason := setup if isinstance(setup, str) else left_out.get(row.name):
            reasons.setdefault(reason, []).append(row.name)
            continue
        for column in (column for name, column in table.left_out if name == row.name):
            cells.setdefault((column, table.left_out[row.name, column]), []).append(row.name)
    for reason, names in reasons.items():
        print(f"  not run: {', '.join(names)}: {reason}")
    for (column, reason), names in cells.items():
        print(f"  not run: {column} in {', '.join(names)}: {reason}")


def _measured(line: object) -> str:
    parts = [_with_interval(line.mean, line.mean_low, line.mean_high)]
    parts += [f"{line.missing} not finished"] if line.missing else []
    parts += [f"{line.diverged} diverged"] if line.diverged else []
    return ", ".join(parts)


def _published(line: object) -> str:
    return line.published + ("" if line.published_difference else line.published_mark)


def _published_difference(line: object) -> str:
    return line.published_difference + (line.published_mark if line.published_difference else "")


def _compared(line: object) -> list[str]:
    """Return the difference to the baseline, the smallest detectable one, q and the verdict."""
    if line.difference != line.difference:
        return ["", "", "", line.verdict]
    difference = _with_interval(line.difference, line.low, line.high, "+.2f")
    q = "" if line.q != line.q else f"{line.q:.3f}"
    return [difference, "" if line.detectable != line.detectable else f"{line.detectable:.2f}", q, line.verdict]


def _with_interval(mean: float, low: float, high: float, form: str = ".2f") -> str:
    """Return a number with its interval, by its half-width if the number is in the middle."""
    if low != low:
        return number(mean, form)
    symmetric = abs((low + high) / 2 - mean) < 1e-9
    return number(mean, form) + (f" ± {high - mean:.2f}" if symmetric else f", {low:{form}} to {high:{form}}")


def number(value: float, form: str) -> str:
    """Return a number in a format, or a dash if there is none."""
    return "-" if value != value else format(value, form)
