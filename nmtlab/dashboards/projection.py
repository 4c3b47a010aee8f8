"""Output vectors of words in the plane, two or three systems side by side."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.measure import measure
from nmtlab.analysis.states.projection import Method, has_umap, word_projection
from nmtlab.dashboards.chart import Chart
from nmtlab.dashboards.columns import row
from nmtlab.dashboards.page import Note
from nmtlab.dashboards.work import Work
from nmtlab.plots import projection_figure
from nmtlab.plots.marks import shows_word
from nmtlab.runs.run import Run

_MAX_SYSTEMS = 3
_LOOK = 0.02  # seconds between two looks at the thread


class WordProjection(widgets.VBox):
    """The choice of a projection, and the output vectors of some systems in it; `method` is the choice.

    Args:
        guarded: context manager of the page that reports errors.
    """

    def __init__(self, guarded: Callable[[], AbstractContextManager[None]]) -> None:
        options: list[tuple[str, Method]] = [("PCA", "pca"), ("UMAP", "umap")] if has_umap() else [("PCA", "pca")]
        self.method = widgets.Dropdown(description="Projection", options=options)
        self.chart, self.work, self.note = Chart(), Work(guarded), Note()
        self.fresh = False
        self._points, self._also = pd.DataFrame(), ""
        super().__init__([row(self.method, self.note), self.work, self.chart])
        self.clear()

    def draw(self, runs: Sequence[Run]) -> None:
        """Draw the output vectors of the first runs with weights; nothing if there are none."""
        if not runs:
            return
        drawn = list(runs)[:_MAX_SYSTEMS]
        notes = [] if has_umap() else ["For UMAP, install it: pip install 'nmtlab[projection]'."]
        notes += [f"The first {_MAX_SYSTEMS} of {len(runs)} systems."] if len(runs) > _MAX_SYSTEMS else []
        self.note.say(" ".join(notes))
        self.clear()
        self.layout.display, self.fresh = "", True
        self.work.start(f"{self.method.label} of word vectors", len(drawn), self._drawn(drawn, self.method.value))

    def draw_also(self, word: str) -> None:
        """Draw a word, too, if it is not among those that are drawn."""
        self._also = word
        if len(self._points) and not shows_word(self.chart.figure, word):
            self._show()

    def clear(self) -> None:
        """Draw nothing."""
        self.work.stop()
        self._points = pd.DataFrame()
        self.chart.clear()
        self.layout.display = "none"

    def _drawn(self, runs: Sequence[Run], method: Method) -> Iterator[None]:
        """Project one system after the other, in a thread: UMAP takes long, and takes it in one piece."""
        tables, thread = [], ThreadPoolExecutor(1)
        try:
            for run in runs:
                asked = thread.submit(measure, run, word_projection, method=method)
                while not asked.done():
                    time.sleep(_LOOK)
                    yield
                tables.append(asked.result().assign(panel=run.label))
        finally:
            thread.shutdown(wait=False, cancel_futures=True)  # if stopped, the page does not wait for it
        self._points = pd.concat(tables)
        self._show()

    def _show(self) -> None:
        title = "Output vectors of words, by frequency in training"
        self.chart.show(projection_figure(self._points, title, also=self._also))
