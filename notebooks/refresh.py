"""Run the notebooks again and store them clean: python notebooks/refresh.py [NOTEBOOK ...]

What is stored is what a reader of the bare file, and a test, can read: text and tables. Figures are drawn when a
notebook is run, or as the book is built. Times, widgets and the machine's Python are left out, so that a second run
changes nothing that has not changed.
"""

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

READ = ("text/plain", "text/html")
"""Forms of an output that are stored."""
WIDGET = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def refresh(path: Path) -> None:
    """Execute a notebook in its folder and write it back."""
    notebook = nbformat.read(path, as_version=4)
    patience = {"timeout": 600, "iopub_timeout": 600}  # on a slow machine, outputs come late
    folders = {"metadata": {"path": path.parent}}
    NotebookClient(notebook, **patience, resources=folders, record_timing=False).execute()
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {name: value for name, value in cell.metadata.items() if name == "tags"}
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(readable, cell.outputs) if output]
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


def readable(output: nbformat.NotebookNode) -> nbformat.NotebookNode | None:
    """Return an output without its figure; None if nothing is left of it, or if it is a widget."""
    if "data" in output:
        data = {form: text for form, text in output.data.items() if form in READ}
        if WIDGET in output.data or not data:
            return None
        output.data, output.metadata = data, {}
    return output


if __name__ == "__main__":
    os.environ["PLOTLY_RENDERER"] = "plotly_mimetype"  # not plotly itself in each output
    for name in sys.argv[1:] or sorted(Path(__file__).parent.glob("*.ipynb")):
        refresh(Path(name))
        print(f"{name}: {Path(name).stat().st_size / 1000:,.0f} kB")
