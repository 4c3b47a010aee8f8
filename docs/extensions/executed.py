"""Figures of the notebooks in the book: notebooks are run as the book is built, and what they show is kept
beside the book.

The repository stores the notebooks without pictures. A notebook that has been run before is taken from the cache, as
long as its code, nmtlab and the results that come with it are the same.
"""

import hashlib
import json
import os
import sys
from fnmatch import fnmatch
from pathlib import Path

import nbformat
import plotly
import plotly.io
from nbclient import NotebookClient
from sphinx.application import Sphinx

import nmtlab
from nmtlab.experiments.results.stored import RESULTS

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
    kept = Path(app.outdir).parent / "notebooks" / f"{path.stem}.{_digest(notebook)}.json"
    if not kept.exists():
        sys.stderr.write(f"running {path.name}\n")
        outputs = _run(notebook, path.parent)
        kept.parent.mkdir(parents=True, exist_ok=True)
        for older in kept.parent.glob(f"{path.stem}.*.json"):
            older.unlink()
        kept.write_text(json.dumps(outputs), encoding="utf-8")
    source = json.loads(content[0])
    for cell, outputs in zip(source["cells"], json.loads(kept.read_text(encoding="utf-8")), strict=True):
        if cell["cell_type"] == "code":
            cell["outputs"] = outputs
    content[0] = json.dumps(source)


def _digest(notebook: nbformat.NotebookNode) -> str:
    """Return a digest of all that decides what a notebook shows."""
    digest = hashlib.sha256("\0".join(cell.source for cell in notebook.cells if cell.cell_type == "code").encode())
    for path in sorted([*Path(nmtlab.__file__).parent.rglob("*.py"), *RESULTS.rglob("*.csv")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _run(notebook: nbformat.NotebookNode, folder: Path) -> list[list[dict]]:
    """Return the outputs of each cell, with HTML in place of figures."""
    environment = {**os.environ, "PLOTLY_RENDERER": "plotly_mimetype"}
    client = NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": folder}})
    client.execute(env=environment)
    shown = []
    for cell in notebook.cells:
        outputs = [output for output in cell.get("outputs", []) if WIDGET not in output.get("data", {})]
        for output in outputs:
            if FIGURE in output.get("data", {}):
                output.data = {"text/html": _html(output.data[FIGURE])}
        shown.append(outputs)
    return shown


def _html(figure: dict) -> str:
    drawn = plotly.io.from_json(json.dumps(figure), skip_invalid=True)
    drawn.update_layout(title_font_size=14)  # a page is narrower than a dashboard
    html = plotly.io.to_html(drawn, full_html=False, include_plotlyjs=False, config={"responsive": True})
    return f'<script src="../_static/{SCRIPT.name}"></script>{html}'


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the setting `executed_notebooks`, patterns of the names of notebooks to run, and what runs them."""
    app.add_config_value("executed_notebooks", ["*"], "env", list)
    app.connect("source-read", show_figures)
    app.connect("config-inited", lambda app, config: config.html_static_path.append(str(SCRIPT)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
