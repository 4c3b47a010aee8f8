"""Every notebook says what its code says, and is stored as a reader should find it.

Outputs are compared by nbval, but pictures and HTML; what was trained on the machine, and so depends on it, is tagged
`nbval-ignore-output`. `python notebooks/refresh.py NOTEBOOK` makes a notebook clean again.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from nmtlab.demo import RECURRENT, TRANSFORMERS, demo_corpus, demo_recipe
from nmtlab.systems import train
from nmtlab.workspace import Workspace

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAX_BYTES = 300_000
SHORT = {"training.max_evaluations": 1}

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def prose(path: Path) -> str:
    return "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")


def is_compared(cell: nbformat.NotebookNode) -> bool:
    return "nbval-ignore-output" not in cell.metadata.get("tags", [])


def texts(cells: list[nbformat.NotebookNode]) -> str:
    outputs = [output for cell in cells for output in cell.outputs]
    return "\n".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs)


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory) -> dict[str, str]:
    """The environment of a workspace with the packed runs and short demo runs, of which no output is compared."""
    data = tmp_path_factory.mktemp("notebooks") / "data"
    (data / "evidence").mkdir(parents=True)
    for kind in ("runs", "vocabularies"):
        (data / "evidence" / kind).symlink_to(ROOT / "data/evidence" / kind)
    workspace = Workspace(data)
    for name in (*RECURRENT, *TRANSFORMERS):
        train(name, demo_recipe(name).with_changes(SHORT), demo_corpus(workspace), workspace)
    return {**os.environ, "NMTLAB_DATA": str(data)}


def nbval(path: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=300", "-p", "no:cacheprovider", "--color=no"]
    command = [sys.executable, "-m", "pytest", *words, str(path)]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


@each_notebook
def test_a_notebook_run_again_says_the_same(path, surroundings):
    done = nbval(path, surroundings)
    assert done.returncode == 0, done.stdout
    assert f"{len(code_cells(path))} passed" in done.stdout


def test_another_number_than_the_stored_one_is_noticed(tmp_path):
    shutil.copy(ROOT / "notebooks/conftest.py", tmp_path)
    cell = nbformat.v4.new_code_cell("print(0.54)", execution_count=1)
    for stored, code in (("0.54\n", 0), ("0.53\n", 1)):
        cell.outputs = [nbformat.v4.new_output("stream", text=stored)]
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "little.ipynb")
        assert nbval(tmp_path / "little.ipynb", dict(os.environ)).returncode == code


@each_notebook
def test_every_cell_was_executed_in_its_order_and_without_error(path):
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert [output for cell in cells for output in cell.outputs if output.output_type == "error"] == []


@each_notebook
def test_a_notebook_is_stored_clean_and_small(path):
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert [cell.id for cell in notebook.cells if not set(cell.metadata) <= {"tags"}] == []
    forms = {form for cell in code_cells(path) for output in cell.outputs for form in output.get("data", {})}
    assert forms <= {"text/plain", "text/html", "image/png"}  # neither figures nor widgets, which GitHub leaves blank
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
