"""All analyses, found by scanning the room."""

import pkgutil
from functools import cache
from importlib import import_module

import nmtlab.analysis
from nmtlab.analysis.access.analysis import Analysis


@cache
def declared_analyses() -> tuple[Analysis, ...]:
    """Return every analysis that a module of the room declares, sorted by key."""
    names = [found.name for found in pkgutil.walk_packages(nmtlab.analysis.__path__, "nmtlab.analysis.")]
    found = [value for name in names for value in vars(import_module(name)).values() if isinstance(value, Analysis)]
    return tuple(sorted(set(found), key=lambda one: one.key))
