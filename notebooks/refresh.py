"""Run the notebooks again and store them clean: python notebooks/refresh.py [NOTEBOOK ...]

What is stored is what a reader of the bare file, and GitHub, can show: tables, and a picture in place of each figure,
which is interactive again when its cell is run. Times, widgets and the machine's Python are left out, so that a second
run changes nothing that has not changed. Chrome or Chromium has to be there to draw the pictures.
"""

import base64
import io
import json
import os
import sys
from pathlib import Path

import nbformat
import plotly.io
from nbclient import NotebookClient
from PIL import Image

_COLOURS = 40  # as many as a figure needs: less than a third of the size
FIGURE = "application/vnd.plotly.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def refresh(path: Path) -> None:
    """Execute a notebook in its folder and write it back."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": path.parent}}, record_timing=False).execute()
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {name: value for name, value in cell.metadata.items() if name == "tags"}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if WIDGET not in output.get("data", {})]
            for output in cell.outputs:
                if FIGURE in output.get("data", {}):
                    output.data["image/png"] = picture(output.data.pop(FIGURE))
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


def picture(figure: dict) -> str:
    """Return a figure as PNG in base64."""
    drawn = plotly.io.from_json(json.dumps(figure), skip_invalid=True).to_image("png", width=800)
    small = io.BytesIO()
    Image.open(io.BytesIO(drawn)).convert("RGB").quantize(_COLOURS).save(small, "png", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


if __name__ == "__main__":
    os.environ["PLOTLY_RENDERER"] = "plotly_mimetype"  # not plotly itself in each output
    for name in sys.argv[1:] or sorted(Path(__file__).parent.glob("*.ipynb")):
        refresh(Path(name))
        print(f"{name}: {Path(name).stat().st_size / 1000:,.0f} kB")
