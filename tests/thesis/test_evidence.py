"""No program but `nmtlab evidence` writes to the evidence."""

import ast
from pathlib import Path

import pytest

import nmtlab

ROOT = Path(nmtlab.__file__).parent
WRITER = "nmtlab.thesis.evidence"


def imported(path: Path) -> set[str]:
    """Return the modules and the names in modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_only_the_command_imports_the_module_that_writes_to_the_evidence():
    using = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if WRITER in imported(path)}
    assert using == {"cli/evidence.py"}


@pytest.mark.full  # near the limit of the quick tier on a slow machine
def test_only_that_module_stores_vocabularies_apart_from_their_runs():
    name = "nmtlab.runs.vocabularies.store_apart"
    using = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if name in imported(path)}
    assert using == {"thesis/evidence.py"}
