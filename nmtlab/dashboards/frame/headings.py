"""The headings of all pages, read from their modules without importing them: the server imports no page."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

_ROOM = Path(__file__).parents[1] / "pages"


class Heading(NamedTuple):
    """A page's name, which is that of its module and its address, its group, title and question."""

    name: str
    group: str
    title: str
    question: str


@cache
def headings() -> tuple[Heading, ...]:
    """Return the headings of all pages in their order, the index first, without importing a page."""
    found = [_heading(path) for path in _ROOM.glob("[!_]*.py")]
    return tuple(heading for _, heading in sorted(found))


def _heading(path: Path) -> tuple[int, Heading]:
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        if ast.unparse(statement.targets[0]) == "PAGE":
            given = {one.arg: one.value for one in statement.value.keywords}
            place, *said = (ast.literal_eval(given[name]) for name in ("place", "group", "title", "question"))
            return place, Heading(path.stem, *said)
    raise TypeError(f"{path}: a page declares PAGE = About(...)")
