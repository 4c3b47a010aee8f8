"""Importing tables with sentence pairs in two of the columns: TSV, CSV and JSON lines."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import Limits
from nmtlab.text.corpora.corpus import Pair
from nmtlab.text.corpora.corpus_builder import ImportReport, as_named, build
from nmtlab.text.corpora.splitting import HoldOut
from nmtlab.text.importers.rows import SOURCES, TARGETS, Form, Table, is_number, open_table

_LOOKED_AT = 100  # pairs, to find out whether the columns are the right ones
_FEWEST = 10  # of fewer pairs, all may be numbers or equal
_MOST = 0.9  # share of pairs


def import_table(
    folder: Path | str,
    path: Path | str,
    form: Form,
    columns: tuple[str, str],
    source: str,
    target: str,
    limits: Limits = Limits(),
    hold_out: HoldOut = HoldOut(),
) -> ImportReport:
    """Make the corpus `folder` from a table, read as `open_table` does.

    Args:
        folder: folder of the new corpus; must not exist.
        path: the file, plain, `.gz` or `.xz`.
        form: tsv, csv or jsonl.
        columns: source and target column: numbers from 1, or names in the header or keys; if empty, the columns named
            after the languages or `source` and `target`, or without a header the first two.
        source: code of the source column's language.
        target: code of the target column's language.
        limits: length limits.
        hold_out: how much to hold out.

    Raises:
        CorpusError: a line lacks a column or is damaged (the message has its number); no such column; a column has
            only numbers, or both are equal; or as `build`.
    """
    path = Path(path)
    named = any(column and not column.isdecimal() for column in columns)
    table = open_table(path, form, (source, target), named)
    usual = (source, *SOURCES), (target, *TARGETS)
    places = [_place(path, table.header, columns[side], usual[side], side) for side in (0, 1)]
    origin = {
        "file": as_named(path),
        "columns": [column or str(places[side] + 1) for side, column in enumerate(columns)],
    }
    report = ImportReport(form, origin, source, target)
    return build(folder, report, _plausible(path, table, places), limits, hold_out)


def _place(path: Path, header: Sequence[str], column: str, usual: Sequence[str], side: int) -> int:
    """Return the index of a column, named by the user or as usual."""
    names = [name.strip().casefold() for name in header]
    for name in [column] if column else usual:
        if name.casefold() in names:
            return names.index(name.casefold())
    if column.isdecimal() and int(column) > 0:
        return int(column) - 1
    if not column and not header:
        return side
    problem, option = f"no column {column or usual[0]!r}", ("--source-column", "--target-column")[side]
    if header and not column.isdecimal():
        raise CorpusError(f"{path}, line 1: {problem}", f"choose {option} from {', '.join(header)}, or give its number")
    raise CorpusError(f"{path}: {problem}", "columns are numbered from 1")


def _plausible(path: Path, table: Table, places: Sequence[int]) -> Iterator[Pair]:
    """Yield the pairs of a table.

    Raises:
        CorpusError: the first ones show that a column is not text, or that one is a copy of the other.
    """
    pairs = _pairs(path, table, places)
    first = list(islice(pairs, _LOOKED_AT))
    least = max(_FEWEST, _MOST * len(first))
    choices = f" from {', '.join(table.header)}" if table.header else ""
    remedy = f"choose --source-column and --target-column{choices}"
    for place, cells in zip(places, zip(*first, strict=True), strict=False):
        if sum(map(is_number, cells)) >= least:
            raise CorpusError(f"{path}: column {place + 1} has numbers, such as {cells[0]!r}", remedy)
    if sum(one == other for one, other in first) >= least:
        raise CorpusError(f"{path}: columns {places[0] + 1} and {places[1] + 1} are the same", remedy)
    yield from chain(first, pairs)


def _pairs(path: Path, table: Table, places: Sequence[int]) -> Iterator[Pair]:
    for number, row in table.rows:
        if len(row) <= max(places):
            raise CorpusError(
                f"{path}, line {number}: {len(row)} columns, no column {max(places) + 1}",
                "choose other columns, or fix the line",
            )
        yield row[places[0]], row[places[1]]
