"""Importing tables with sentence pairs in two of the columns: TSV, CSV and JSON lines."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Literal, NamedTuple

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import Limits
from nmtlab.text.corpora.corpus import Pair
from nmtlab.text.corpora.corpus_builder import ImportReport, as_named, build
from nmtlab.text.corpora.lines import MAX_CHARACTERS, read_lines
from nmtlab.text.corpora.splitting import HoldOut

Form = Literal["tsv", "csv", "jsonl"]

SOURCES, TARGETS = ("source", "src"), ("target", "tgt", "trg")
"""Names of columns, besides those of languages."""

_LOOKED_AT = 1000  # lines, to decide whether cells are quoted
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_NUMBER = re.compile(r"[-+]?\d[\d.,:/]*")
_BREAKS = re.compile(r"[\r\n\0]+")
_NAMES = {*SOURCES, *TARGETS, "id", "text", "translation", "sentence", "lang", "language", "score", "split"}
_NAMES |= set(
    "afrikaans amharic arabic azerbaijani basque bengali bulgarian burmese catalan chinese croatian czech danish dutch "
    "english estonian finnish french galician georgian german greek guarani hausa hebrew hindi hungarian icelandic "
    "igbo indonesian irish italian japanese kazakh khmer korean kurdish kyrgyz lao latvian lithuanian malay maltese "
    "mongolian nepali norwegian pashto persian polish portuguese quechua romanian russian serbian sinhala slovak "
    "slovenian somali spanish swahili swedish tajik tamil tatar telugu thai tibetan tigrinya turkish turkmen ukrainian "
    "urdu uyghur uzbek vietnamese welsh wolof xhosa yoruba zulu".split()
)


class Table(NamedTuple):
    """A table that is being read.

    Args:
        header: names of the columns; empty if it has no header.
        rows: number of each row's first line, and its cells.
    """

    header: list[str]
    rows: Iterator[tuple[int, list[str]]]


def open_table(path: Path, form: Form, languages: tuple[str, str], named: bool) -> Table:
    """Open a table, streaming.

    Cells of a CSV file may be quoted. So may those of a TSV file if its first lines show it; otherwise quotation marks
    are ordinary text. Line 1 is a header if two of its cells are names such as `id`, `text` or a language. A line break
    in a cell becomes a space.

    Args:
        path: the file, plain, `.gz` or `.xz`.
        form: tsv, csv (separated by comma, semicolon or tab) or jsonl (an object in each line, by itself or under
            `translation`).
        languages: codes that name columns.
        named: line 1 is a header whatever it looks like.

    Raises:
        CorpusError: a line is damaged; the message has its number.
    """
    if form == "jsonl":
        return _of_objects(path)
    lines = read_lines(path)
    first = list(islice(lines, _LOOKED_AT))
    lines = chain(first, lines)
    if form == "csv":
        rows = _unquoted(path, lines, max(",;\t", key=first[0].count) if first else ",")
    elif _is_quoted([line.split("\t") for line in first], languages):
        rows = _unquoted(path, lines, "\t")
    else:
        rows = ((number, line.split("\t")) for number, line in enumerate(lines, start=1))
    number, top = next(rows, (1, []))
    if named or _is_header(top, languages):
        return Table(top, rows)
    return Table([], chain([(number, top)] if top else [], rows))


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, a date or a time."""
    return bool(_NUMBER.fullmatch(cell.strip()))


def _is_header(cells: Sequence[str], languages: tuple[str, str]) -> bool:
    known = _NAMES | {code.casefold() for code in languages}
    return len({name for cell in cells if (name := cell.strip().casefold()) in known}) > 1


def _is_quoted(rows: Sequence[Sequence[str]], languages: tuple[str, str]) -> bool:
    """Return whether cells are quoted as in CSV, as far as the first lines show.

    They are if line 1 is a quoted header; if every cell is quoted or a number; or if every cell with quotation marks is
    quoted and has marks inside, doubled, because only such cells needed it.
    """
    if not rows:
        return False
    top = rows[0]
    if all(map(_QUOTED.fullmatch, top)) and _is_header([cell[1:-1] for cell in top], languages):
        return True
    cells = [cell for row in rows for cell in row if cell]
    marked = [cell for cell in cells if '"' in cell]
    if not marked or not all(map(_QUOTED.fullmatch, marked)):
        return False
    return all('""' in cell[1:-1] for cell in marked) or all('"' in cell or is_number(cell) for cell in cells)


def _unquoted(path: Path, lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(MAX_CHARACTERS)
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    begun = 1
    try:
        for row in reader:
            if row:
                yield begun, [_BREAKS.sub(" ", cell) for cell in row]
            begun = reader.line_num + 1
    except csv.Error as error:
        raise CorpusError(f"{path}, line {begun}: not readable as CSV ({error})", "fix its quotation marks") from None


def _of_objects(path: Path) -> Table:
    objects = _objects(path)
    number, first = next(objects, (1, {}))
    keys = list(first)
    return Table(
        keys, ((where, [_text(one.get(key)) for key in keys]) for where, one in chain([(number, first)], objects))
    )


def _objects(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{path}, line {number}: not JSON ({error})", "write one object on each line") from None
        inner = found.get("translation") if isinstance(found, dict) else None
        found = inner if isinstance(inner, dict) else found
        if not isinstance(found, dict):
            raise CorpusError(f"{path}, line {number}: not an object", 'write lines such as {"uz": "...", "en": "..."}')
        yield number, found


def _text(value: object) -> str:
    """Return a value of an object as a cell; what is neither text nor a number is empty."""
    text = str(value) if isinstance(value, str | int | float) else ""
    return _BREAKS.sub(" ", text.encode(errors="replace").decode())


_PAIRS_LOOKED_AT = 100  # pairs, to find out whether the columns are the right ones
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
        path, form: as of `open_table`.
        columns: source and target column: numbers from 1, or names in the header or keys; if empty, the columns named
            after the languages or `source` and `target`, or without a header the first two.
        source, target: language codes.
        folder, limits, hold_out: as of `build`.

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
    first = list(islice(pairs, _PAIRS_LOOKED_AT))
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
