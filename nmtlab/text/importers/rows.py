"""The rows of tables: TSV, CSV and JSON lines, with their header."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Literal, NamedTuple

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.lines import MAX_CHARACTERS, read_lines

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
