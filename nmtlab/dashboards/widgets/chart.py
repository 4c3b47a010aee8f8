"""A plotly figure in a page.

`plotly.graph_objects.FigureWidget` sends plotly's whole script with every figure and loses changes made between its
creation and its display. A `Chart` sends the whole figure each time, without the marks of the selected token, which
change more often; and the script is sent once per page.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import plotly
import plotly.graph_objects as go
import traitlets

from nmtlab.dashboards.widgets.export import as_pdf, file_name
from nmtlab.errors import NmtlabError
from nmtlab.figures.marks import Token, outlines, token_at
from nmtlab.figures.scheme import DARK
from nmtlab.figures.view import summary

_HERE = Path(__file__).parent
# Shadows the module systems that plotly's script looks for, so that it registers globally.
_UNSEEN = "const module = undefined, exports = undefined, define = undefined;\n"


SERVED = "NMTLAB_PLOTLY_SERVED"
"""Environment variable, set if the page itself loads plotly's script, as Voila's template does."""

SCHEME = f"const DARK = {json.dumps(DARK)};\n" + (_HERE / "scheme.js").read_text(encoding="utf-8")
"""Script that draws figures in the colours of a light or dark page."""

PLOTLY = Path(plotly.__file__).parent / "package_data/plotly.min.js"


class PlotlyScript(anywidget.AnyWidget):
    """Plotly's script, once per page with charts, unless the page loads it itself."""

    _esm = _UNSEEN + PLOTLY.read_text(encoding="utf-8") + "\n" + (_HERE / "plotly.js").read_text(encoding="utf-8")


class Chart(anywidget.AnyWidget):
    """A widget that shows a plotly figure."""

    _esm = SCHEME + (_HERE / "chart.js").read_text(encoding="utf-8")
    spec = traitlets.Unicode('{"data": [], "layout": {}}').tag(sync=True)
    marks = traitlets.Unicode("[]").tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self.figure = go.Figure()
        self.fresh = False
        self._token: Token | None = None
        self._shapes: tuple[go.layout.Shape, ...] = ()
        self.on_msg(lambda _, content, __: self._export(content["pdf"]) if "pdf" in content else None)

    def show(self, figure: go.Figure) -> None:
        """Show a figure, replacing the last one."""
        self.figure, self._shapes = figure, figure.layout.shapes
        with self.hold_sync():
            self.spec = figure.to_json()
            self._mark()
        self.layout.display = ""
        self.fresh = True

    def mark(self, token: Token | None) -> None:
        """Mark a token, instead of the last one, wherever this figure and those to come show it."""
        if token != self._token:
            self._token = token
            self._mark()

    def clear(self) -> None:
        """Show nothing."""
        if self.figure.data:
            self.show(go.Figure())
        self.layout.display = "none"

    def on_click(self, answer: Callable[[dict[str, Any]], None]) -> None:
        """Call `answer` with `customdata`, `x` and `y` of each clicked point and `meta` of its trace."""
        self.on_msg(lambda _, content, __: answer(content) if "customdata" in content else None)

    def on_token(self, answer: Callable[[Token], None]) -> None:
        """Call `answer` with each clicked token."""
        self.on_msg(lambda _, content, __: answer(token) if (token := token_at(self.figure, content)) else None)

    def _mark(self) -> None:
        marks = outlines(self.figure, self._token) if self._token else []
        self.figure.layout.shapes = (*self._shapes, *marks)
        marked = f" Marked: {self._token.bare}." if marks and self._token else ""
        self.label = summary(self.figure) + marked
        self.marks = json.dumps(marks)

    def _export(self, shown: dict[str, Any]) -> None:
        """Have the browser download the figure as PDF as it stands there, or say why there is none."""
        try:
            content = as_pdf(self.figure, shown)
        except NmtlabError as error:
            self.send({"failed": str(error)})
        else:
            self.send({"file": file_name(self.figure.layout.title.text or "figure", "pdf")}, [content])
