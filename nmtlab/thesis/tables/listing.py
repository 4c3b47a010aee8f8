"""The published tables that can be run, and further tables that explain their results, found by scanning the room."""

import pkgutil
from importlib import import_module
from typing import get_args

import nmtlab.thesis.tables
from nmtlab.errors import NmtlabError
from nmtlab.grids.declared.declaration import Subject, Table


def _declared() -> list[Table]:
    """Return the tables that modules of this room declare, by subject and otherwise in the order of declaration."""
    room = nmtlab.thesis.tables
    names = (f"{room.__name__}.{found.name}" for found in pkgutil.iter_modules(room.__path__))
    found = [one for name in names if name != __name__ for one in vars(import_module(name)).values()]
    tables = {one.name: one for one in found if isinstance(one, Table)}
    return sorted(tables.values(), key=lambda table: get_args(Subject).index(table.subject))


TABLES = tuple(_declared())


def listed() -> str:
    """Return the names of all tables, a sentence for each subject."""
    names = {subject: [table.name for table in TABLES if table.subject == subject] for subject in get_args(Subject)}
    return " ".join(f"{subject.capitalize()}: {', '.join(some)}." for subject, some in names.items() if some)


def find_table(name: str) -> Table:
    """Return the table with a name.

    Raises:
        NmtlabError: no table has that name.
    """
    for table in TABLES:
        if table.name == name:
            return table
    raise NmtlabError(f"table {name!r}: unknown", f"choose one of {', '.join(table.name for table in TABLES)}")
