"""Every notebook is stored as a reader should find it.

Whether it still says what its code says is checked by nbval (`pytest --nbval notebooks`), but for pictures and HTML;
what was trained on the machine, and so depends on it, is tagged `nbval-ignore-output`. `python notebooks/refresh.py
NOTEBOOK` makes a notebook clean again.
"""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from nbformat import NotebookNode

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAX_BYTES = 100_000

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@cache
def read(path: Path) -> "NotebookNode":
    import nbformat  # takes three seconds, which only the process of these tests needs to wait

    return nbformat.read(path, as_version=4)


def code_cells(path: Path) -> "list[NotebookNode]":
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def prose(path: Path) -> str:
    return "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")


def is_compared(cell: "NotebookNode") -> bool:
    return "nbval-ignore-output" not in cell.metadata.get("tags", [])


def texts(cells: "list[NotebookNode]") -> str:
    outputs = [output for cell in cells for output in cell.outputs]
    return "\n".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs)


@pytest.mark.full
def test_another_number_than_the_stored_one_is_noticed(tmp_path):
    import nbformat

    cell = nbformat.v4.new_code_cell("print(0.54)", execution_count=1)
    nbval = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider"]
    for stored, code in (("0.54\n", 0), ("0.53\n", 1)):
        cell.outputs = [nbformat.v4.new_output("stream", text=stored)]
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "little.ipynb")
        assert subprocess.run([*nbval, tmp_path / "little.ipynb"], capture_output=True, check=False).returncode == code


@each_notebook
def test_every_cell_was_executed_in_its_order_and_without_error(path):
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert [output for cell in cells for output in cell.outputs if output.output_type == "error"] == []


@each_notebook
def test_a_notebook_is_stored_clean_and_small(path):
    notebook = read(path)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert [cell.id for cell in notebook.cells if not set(cell.metadata) <= {"tags"}] == []
    forms = {form for cell in code_cells(path) for output in cell.outputs for form in output.get("data", {})}
    assert forms <= {"text/plain", "text/html"}  # the book draws the figures
    assert path.stat().st_size < MAX_BYTES


@each_notebook
def test_numbers_in_bold_stand_in_an_output_that_is_compared(path):
    numbers = re.findall(r"\*\*(-?\d+(?:\.\d+)?)\*\*", prose(path))
    compared = texts([cell for cell in code_cells(path) if is_compared(cell)])
    shown = {float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", compared)}
    assert [number for number in numbers if float(number) not in shown] == []


@each_notebook
def test_links_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#]+)", prose(path))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_the_first_notebook_leads_to_all_others():
    first, *others = NOTEBOOKS
    assert [path.name for path in others if f"({path.name})" not in prose(first)] == []
