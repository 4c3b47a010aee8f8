"""Where a field is in a text in TOML, so that an error can name its line: readers of TOML do not say it."""

import re
from collections import Counter
from collections.abc import Sequence

_HEADER = re.compile(r"\s*(\[\[?)([^\]=]+)\]\]?\s*(?:#.*)?")
_ASSIGNMENT = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*'|\s*\.\s*)+?)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


def line_of(text: str, place: Sequence[str | int]) -> int:
    """Return the number of the line, from 1, on which a field begins, or else of what it is in.

    Args:
        text: valid TOML.
        place: keys and indices of lists, from the outside in: `("system", 1, "changes", "model.norm")`.
    """
    known = _lines(text)
    wanted = tuple(part for one in place for part in (one.split(".") if isinstance(one, str) else (one,)))
    inside = (wanted[:length] for length in range(len(wanted), 0, -1))
    return next((known[path] for path in inside if path in known), 1)


def _lines(text: str) -> dict[tuple[str | int, ...], int]:
    """Return the first line of each table and each field that has a line."""
    table: tuple[str | int, ...] = ()
    counts: Counter[str] = Counter()
    known: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.fullmatch(line):
            first, *rest = _parts(header[2])
            counts[first] += header[1] == "[[" and not rest
            table = (first, counts[first] - 1, *rest) if counts[first] else (first, *rest)
            known.setdefault(table[:1], number)
        elif found := _ASSIGNMENT.match(line):
            known.setdefault((*table, *_parts(found[1])), number)
        known.setdefault(table, number)
    return known


def _parts(keys: str) -> list[str]:
    return [part for key in _PART.findall(keys) for part in key.strip("\"'").split(".")]
