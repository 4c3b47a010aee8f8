"""A plotly figure in a page.

`plotly.graph_objects.FigureWidget` sends all of plotly's script for every figure, and what is changed between its
making and its showing is lost: a `Chart` is told the whole figure each time, and the script comes once a page.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import plotly
import plotly.graph_objects as go
import traitlets

_HERE = Path(__file__).parent
# Hidden from the script's first lines, which otherwise would give themselves to one of these and not to the page.
_UNSEEN = "const module = undefined, exports = undefined, define = undefined;\n"


SERVED = "NMTLAB_PLOTLY_SERVED"
"""Set where the page itself brings plotly's script, as Voila's template does."""

PLOTLY = Path(plotly.__file__).parent / "package_data/plotly.min.js"


class PlotlyScript(anywidget.AnyWidget):
    """Plotly's script, once in a page that has charts, where the page has it not."""

    _esm = _UNSEEN + PLOTLY.read_text(encoding="utf-8") + "\n" + (_HERE / "plotly.js").read_text(encoding="utf-8")


class Chart(anywidget.AnyWidget):
    """A place for a figure."""

    _esm = _HERE / "chart.js"
    spec = traitlets.Unicode(go.Figure().to_json()).tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self.figure = go.Figure()
        self.fresh = False

    def show(self, figure: go.Figure) -> None:
        """Show a figure in place of the last one."""
        self.figure = figure
        self.spec = figure.to_json()
        self.layout.display = ""
        self.fresh = True

    def clear(self) -> None:
        """Show nothing."""
        self.show(go.Figure())
        self.layout.display = "none"

    def on_click(self, answer: Callable[[dict[str, Any]], None]) -> None:
        """Call `answer` with `customdata`, `x` and `y` of a point that is clicked and its trace's `meta`."""
        self.on_msg(lambda _, content, __: answer(content))
