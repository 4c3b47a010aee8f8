"""A table of results as it is printed and stored: measured beside published values, and what stands under it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import compress
from typing import NamedTuple, Protocol, get_args

import pandas as pd

from nmtlab.analysis.metrics import find_metrics, label_of
from nmtlab.grids.declared.declaration import GRID, Scale, Table
from nmtlab.grids.declared.labels import caveats, labelled, system_labels
from nmtlab.grids.results.collected import published
from nmtlab.grids.results.judgement import GRID_RULE, NOT_KEPT, RULE
from nmtlab.grids.results.signatures import printed_signatures, signatures
from nmtlab.grids.results.summary import Comparison


class Sheet(NamedTuple):
    """A table to print: the columns named in `numbers` are right-aligned, and `notes` are the lines under it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Collection[str]
    notes: Sequence[str]


class _Line(Protocol):
    """A line of `summary` with labels; numbers that are not known are NaN."""

    row: str
    column: str
    metric: str
    mean: float
    mean_low: float
    mean_high: float
    missing: int
    diverged: int
    difference: float
    low: float
    high: float
    q: float
    detectable: float
    bound: float
    seeds_needed: float
    verdict: str
    reason: str
    published: str
    published_difference: str
    published_mark: str


def results_sheet(
    table: Table, scale: Scale, cells: pd.DataFrame, lines: pd.DataFrame, left_out: Mapping[str, str]
) -> Sheet:
    """Return measured values with their verdicts beside published ones, and what stands under a table.

    Args:
        table, scale: what was run.
        cells: lines of `CELLS`.
        lines: of `summary`.
        left_out: why the text of a row is not available.
    """
    lines = lines[(lines["seeds"] > 0) | (lines["missing"] > 0) | (lines["diverged"] > 0)]
    several = len(table.metrics) + len(table.given) > 1
    columns = ["pair", "system", *(["measure"] if several else []), "measured, 95 %"]
    baseline = system_labels(table).get(table.baseline, "")
    columns += [f"vs {baseline}, 95 %", "detectable", "q", "verdict"] if baseline else []
    columns += ["published", *([f"published vs {baseline}"] if baseline else [])]
    rows = [
        [line.row, line.column, *([label_of(line.metric)] if several else []), _measured(line)]
        + (_compared(line) if table.baseline else [])
        + [_published(line), *([_published_difference(line)] if table.baseline else [])]
        for line in labelled(lines, table, scale).itertuples()
    ]
    if not table.published:
        filled = [any(cells) for cells in zip(*rows, strict=True)]
        columns, *rows = ([*compress(row, filled)] for row in (columns, *rows))
    metrics = "" if several else f"{label_of(table.metrics[0])}; "
    shares = any(measure.kind in ("outcome", "proportion") for measure in find_metrics(table.metrics))
    notes = [f"{metrics}mean over {_seeds(cells)}, ± 95 % by Student's t{'; of shares, by Wilson' if shares else ''}"]
    notes += printed_signatures(signatures(table.only(dict.fromkeys(lines["row"])), scale))
    notes += [*_verdicts(table, scale, lines), *caveats(table), *_about_published(table, scale, lines)]
    notes += reasons(table, scale, left_out)
    numbers = {*columns[2 + several :]} - {"verdict"}
    return Sheet(_title(table, scale), columns, rows, numbers, [f"  {note}" for note in notes])


def row_sheet(table: Table, scale: Scale, cells: pd.DataFrame, lines: pd.DataFrame, row: str) -> Sheet:
    """Return the systems of one row: means, differences to the baseline and verdicts; arguments as `results_sheet`."""
    lines = labelled(lines[(lines["row"] == row) & (lines["seeds"] > 0)], table, scale)
    baseline = system_labels(table)[table.baseline]
    columns = ["system", f"{label_of(table.metrics[0])}, 95 %", f"vs {baseline}, 95 %", "verdict"]
    rows = []
    for line in lines.itertuples():
        difference, *_, verdict = _compared(line)
        rows.append([line.column, _measured(line), difference, verdict])
    note = f"  mean over {_seeds(cells[cells['row'] == row])}, ± 95 %"
    return Sheet(f"{table.title}: {lines['row'].iloc[0]}", columns, rows, columns[1:3], [note])


def estimate_sheet(table: Table, scale: Scale, cells: pd.DataFrame) -> Sheet:
    """Return what a table will take, given the lines of `estimate_grid`."""
    rows = [
        [row, column, str(len(some)), str((some["disk_mib"] == 0).sum())]
        + [_number(some[name].sum(skipna=False), ",.0f") for name in ("minutes", "disk_mib")]
        for (row, column), some in cells.groupby(["row", "column"], sort=False)
    ]
    columns = ["pair", "system", "cells", "made", "minutes", "MiB"]
    minutes, disk, uncounted = cells["minutes"].sum(), cells["disk_mib"].sum(), cells["minutes"].isna().sum()
    whole = (
        f"{len(cells)} cells, {(cells['disk_mib'] == 0).sum()} made; about {minutes:,.0f} minutes more if "
        f"trained one by one, within a factor of two; about {disk:,.0f} MiB more on disk"
        + (f"; {uncounted} cells without their text are not counted" if uncounted else "")
    )
    without = cells[cells["problem"] != ""]
    left_out = reasons(table, scale, dict(zip(without["row"], without["problem"], strict=True)))
    return Sheet(_title(table, scale), columns, rows, columns[2:], [whole, *(f"  {reason}" for reason in left_out)])


def decisions(table: Table, scale: Scale, lines: pd.DataFrame) -> list[str]:
    """Return a sentence for each difference to the baseline: how it was decided, or why it is not, and what would help.

    Args:
        table, scale: what was run.
        lines: of `summary`.
    """
    compared = labelled(lines[lines["verdict"] != ""], table, scale)
    baseline = system_labels(table).get(table.baseline, "")
    return [_decision(line, baseline) for line in compared.itertuples()]


def _decision(line: _Line, baseline: str) -> str:
    where = f"{line.row}, {label_of(line.metric)}"
    difference = _with_interval(line.difference, line.low, line.high, "+.2f")
    if line.verdict in ("better", "worse"):
        return f"{where}: {line.column} is {line.verdict} than {baseline} ({difference})"
    if line.verdict == "equivalent":
        return f"{where}: {line.column} and {baseline} are equivalent ({difference}; bound {line.bound:g})"
    known = "" if line.difference != line.difference else f"{difference}; "
    more = "" if pd.isna(line.seeds_needed) else f"; about {line.seeds_needed} seeds would decide it"
    return f"{where}: undecided between {line.column} and {baseline} ({known}{line.reason or line.verdict}{more})"


def _title(table: Table, scale: Scale) -> str:
    return f"{table.name}: {table.title}" if scale == GRID else f"{table.name} {scale}: {table.title}"


def _seeds(cells: pd.DataFrame) -> str:
    """Return which seeds the rows have."""
    found = cells.dropna(subset=["seed", "value"]).groupby("row", sort=False)["seed"].unique().map(sorted)
    different = sorted({tuple(seeds) for seeds in found}, key=lambda seeds: (len(seeds), seeds))
    return " or ".join(f"seeds {', '.join(map(str, seeds))}" for seeds in different) or "no seeds"


def _verdicts(table: Table, scale: Scale, lines: pd.DataFrame) -> Iterator[str]:
    if not table.baseline:
        return
    labels = system_labels(table)
    yield f"intervals of differences: {', '.join(sorted(set(lines['interval']) - {''}))}"
    yield RULE if scale != GRID else GRID_RULE
    for column, some in lines[lines["column"] != table.baseline].groupby("column", sort=False):
        counts = some["verdict"].value_counts()
        kinds = [kind for kind in get_args(Comparison) if kind != NOT_KEPT or kind in counts]
        yield f"{labels[column]}: {', '.join(f'{counts.get(kind, 0)} {kind}' for kind in kinds)}"


def _about_published(table: Table, scale: Scale, lines: pd.DataFrame) -> Iterator[str]:
    if not table.published:
        return
    sources = ", ".join(published(table.name)["source"].unique())
    text = "" if scale == "thesis" else "; on another text: compare differences, not scores"
    yield f"published: {sources + text if sources else 'not available (the published values come with nmtlab)'}"
    if lines["published_mark"].any():
        yield f"marks of the published values: {table.marks}"


def reasons(table: Table, scale: Scale, left_out: Mapping[str, str]) -> list[str]:
    """Return why rows and cells of the table are not run; `left_out` is why the text of a row is not available."""
    of_rows: dict[str, list[str]] = {}
    of_cells: dict[tuple[str, str], list[str]] = {}
    for row in table.rows:
        setup = row.at[scale]
        if reason := setup if isinstance(setup, str) else left_out.get(row.name):
            of_rows.setdefault(reason, []).append(row.name)
            continue
        for column in (column for name, column in table.left_out if name == row.name):
            of_cells.setdefault((column, table.left_out[row.name, column]), []).append(row.name)
    said = [f"not run: {', '.join(names)}: {reason}" for reason, names in of_rows.items()]
    return said + [f"not run: {column} in {', '.join(names)}: {why}" for (column, why), names in of_cells.items()]


def _measured(line: _Line) -> str:
    parts = [_with_interval(line.mean, line.mean_low, line.mean_high)]
    parts += [f"{line.missing} not finished"] if line.missing else []
    parts += [f"{line.diverged} diverged"] if line.diverged else []
    return ", ".join(parts)


def _published(line: _Line) -> str:
    return line.published + ("" if line.published_difference else line.published_mark)


def _published_difference(line: _Line) -> str:
    return line.published_difference + (line.published_mark if line.published_difference else "")


def _compared(line: _Line) -> list[str]:
    """Return the difference to the baseline, the smallest detectable one, q and the verdict."""
    if line.difference != line.difference:
        return ["", "", "", line.verdict]
    difference = _with_interval(line.difference, line.low, line.high, "+.2f")
    q = "" if line.q != line.q else f"{line.q:.3f}"
    return [difference, "" if line.detectable != line.detectable else f"{line.detectable:.2f}", q, line.verdict]


def _with_interval(mean: float, low: float, high: float, form: str = ".2f") -> str:
    """Return a number with its interval, by its half-width if the number is in the middle."""
    if low != low:
        return _number(mean, form)
    symmetric = abs((low + high) / 2 - mean) < 1e-9
    return _number(mean, form) + (f" ± {high - mean:.2f}" if symmetric else f", {low:{form}} to {high:{form}}")


def _number(value: float, form: str) -> str:
    """Return a number in a format, or a dash if there is none."""
    return "-" if value != value else format(value, form)
