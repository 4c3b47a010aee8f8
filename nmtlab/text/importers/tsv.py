"""Importing tab-separated files with sentence pairs in two of the columns."""

from collections.abc import Iterator
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.cleaning import Limits
from nmtlab.text.corpus import Pair
from nmtlab.text.importers.corpus_builder import ImportReport, as_named, build
from nmtlab.text.lines import read_lines
from nmtlab.text.splitting import HoldOut


def import_tsv(
    folder: Path,
    path: Path,
    columns: tuple[str, str],
    source: str,
    target: str,
    limits: Limits,
    hold_out: HoldOut,
) -> ImportReport:
    """Make the corpus `folder` from a tab-separated file; quotation marks have no special meaning.

    Args:
        folder: folder of the new corpus; must not exist.
        path: the file, plain, `.gz` or `.xz`.
        columns: source and target column: numbers from 1, or names in the first line, which is then a header.
        source: code of the source column's language.
        target: code of the target column's language.
        limits: length limits.
        hold_out: how much to hold out.

    Raises:
        CorpusError: a line lacks a column (the message has its number); or as `build`.
    """
    origin = {"file": as_named(path), "columns": list(columns)}
    return build(folder, ImportReport("tsv", origin, source, target), _pairs(path, columns), limits, hold_out)


def _pairs(path: Path, columns: tuple[str, str]) -> Iterator[Pair]:
    rows = (line.split("\t") for line in read_lines(path))
    named = not all(column.isdecimal() for column in columns)
    header = next(rows, []) if named else []
    source, target = (_index(path, column, header) for column in columns)
    for number, row in enumerate(rows, start=2 if named else 1):
        if len(row) <= max(source, target):
            raise CorpusError(
                f"{path}, line {number}: {len(row)} columns, no column {max(source, target) + 1}",
                "choose other columns, or fix the line",
            )
        yield row[source], row[target]


def _index(path: Path, column: str, header: list[str]) -> int:
    if column in header:
        return header.index(column)
    if column.isdecimal() and int(column) > 0:
        return int(column) - 1
    if header:
        raise CorpusError(
            f"{path}, line 1: no column {column!r}", f"choose from {', '.join(header)}, or give its number"
        )
    raise CorpusError(f"{path}: no column {column!r}", "columns are numbered from 1")
