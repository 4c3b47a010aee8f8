"""Figures of the notebooks in the book: notebooks are run as the book is built, and what they show is kept beside it.

The repository stores the notebooks without pictures. A notebook that has been run before is taken from what is kept, as
long as its code, nmtlab and the results that come with it are the same.
"""

import hashlib
import json
import os
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import nbformat
import plotly
import plotly.io
from nbclient import NotebookClient
from sphinx.application import Sphinx

import nmtlab
from nmtlab.workspace import RESULTS

FIGURE = "application/vnd.plotly.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"
SCRIPT = Path(plotly.__file__).parent / "package_data/plotly.min.js"
SECONDS = 900  # for one cell: the first may train the runs of the demo


def show_figures(app: Sphinx, document: str, content: list[str]) -> None:
    """Put the outputs of a fresh run, with interactive figures, in place of the stored ones of a notebook."""
    path = Path(app.env.doc2path(document))
    if path.suffix != ".ipynb" or not any(fnmatch(path.stem, one) for one in app.config.executed_notebooks):
        return
    notebook = nbformat.reads(content[0], as_version=4)
    for cell, outputs in zip(notebook.cells, _outputs(notebook, path, Path(app.outdir).parent), strict=True):
        if cell.cell_type == "code":
            cell.outputs = [_shown(output) for output in outputs if WIDGET not in output.get("data", {})]
    content[0] = nbformat.writes(notebook)


def _outputs(notebook: nbformat.NotebookNode, path: Path, folder: Path) -> list[list[nbformat.NotebookNode]]:
    """Return the outputs of each cell, from a run that is kept in a folder, or from a new one."""
    code = "\0".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    digest = hashlib.sha256(f"{code}\0{sources()}".encode()).hexdigest()[:16]
    kept = folder / "notebooks" / f"{path.stem}.{digest}.ipynb"
    if not kept.exists():
        sys.stderr.write(f"running {path.name}\n")
        executed = nbformat.from_dict(notebook)
        folders = {"metadata": {"path": path.parent}}
        client = NotebookClient(executed, timeout=SECONDS, iopub_timeout=SECONDS, resources=folders)
        client.execute(env={**os.environ, "PLOTLY_RENDERER": "plotly_mimetype"})
        kept.parent.mkdir(parents=True, exist_ok=True)
        for older in kept.parent.glob(f"{path.stem}.*"):
            older.unlink()
        nbformat.write(executed, kept)
    return [cell.get("outputs", []) for cell in nbformat.read(kept, as_version=4).cells]


def sources(*more: Path) -> str:
    """Return a digest of nmtlab, its results and the files of more folders."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in (Path(nmtlab.__file__).parent, RESULTS, *more) for path in folder.rglob("*")):
        if path.suffix in (".py", ".toml", ".csv"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _shown(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if FIGURE in output.get("data", {}):
        output.data = {"text/html": _html(output.data[FIGURE])}
    return output


def _html(figure: dict[str, Any]) -> str:
    drawn = plotly.io.from_json(json.dumps(figure), skip_invalid=True)
    drawn.update_layout(title_font_size=14)  # a page is narrower than a dashboard
    html = plotly.io.to_html(drawn, full_html=False, include_plotlyjs=False, config={"responsive": True})
    return f'<script src="../_static/{SCRIPT.name}"></script>{html}'


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the setting `executed_notebooks`, patterns of the names of notebooks to run, and what runs them."""
    app.add_config_value("executed_notebooks", ["*"], "env", list)
    app.add_config_value(
        "sources", sources(Path(__file__).parent), "env", str
    )  # when they change, all pages are read again
    app.connect("source-read", show_figures)
    app.connect("config-inited", lambda app, config: config.html_static_path.append(str(SCRIPT)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
