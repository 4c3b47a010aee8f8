"""Output vectors of words, or states of a text, in the plane: two or three systems side by side."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.texts import Text
from nmtlab.analysis.states.projection import (
    STATE_PROJECTION,
    WORD_PROJECTION,
    Method,
    has_umap,
    projection_figure,
    state_figure,
)
from nmtlab.dashboards.frame.page import Note
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.columns import row
from nmtlab.dashboards.widgets.work import Work
from nmtlab.errors import how_to_install
from nmtlab.figures.marks import shows_word
from nmtlab.runs.run import Run

_MAX_SYSTEMS = 3
_LOOK = 0.02  # seconds between two looks at the thread
_SENTENCES = 100
WORDS = "words"
_VECTORS = [
    ("output vectors of words", WORDS), ("states of the encoder", "encoder"), ("states of the decoder", "decoder"),
]  # fmt: skip


class VectorProjection(widgets.VBox):
    """The choice of vectors and of a projection (`vectors`, `method`), and the vectors of some systems in it.

    Args:
        guarded: context manager of the page that reports errors.
    """

    def __init__(self, guarded: Callable[[], AbstractContextManager[None]]) -> None:
        options: list[tuple[str, Method]] = [("PCA", "pca"), ("UMAP", "umap")] if has_umap() else [("PCA", "pca")]
        self.vectors = widgets.Dropdown(description="Vectors", options=_VECTORS)
        self.method = widgets.Dropdown(description="Projection", options=options)
        self.chart, self.work, self.note = Chart(), Work(guarded), Note()
        self.fresh = False
        self._points, self._also, self._figure = pd.DataFrame(), "", projection_figure
        super().__init__([row(self.vectors, self.method, self.note), self.work, self.chart])
        self.clear()

    @property
    def of_states(self) -> bool:
        """Whether states are drawn, which depend on the text."""
        return self.vectors.value != WORDS

    def draw(self, runs: Sequence[Run], text: Text | None) -> None:
        """Draw vectors of the first runs with weights; nothing if there are none.

        Args:
            runs: of one pair of languages if states are drawn.
            text: from which a sample of sentences is drawn; without one there are no states.
        """
        if not runs:
            return
        self.clear()
        self.layout.display, self.fresh = "", True
        if self.of_states and text is None:
            self.note.say("States are those of the sentences of a text: choose one below.")
            return
        drawn = list(runs)[:_MAX_SYSTEMS]
        notes = [] if has_umap() else [f"For UMAP, install it: {how_to_install('umap-learn')}."]
        notes += [f"The first {_MAX_SYSTEMS} of {len(runs)} systems."] if len(runs) > _MAX_SYSTEMS else []
        self.note.say(" ".join(notes))
        self.work.start(f"{self.method.label} of {self.vectors.label}", len(drawn), self._drawn(drawn, text))

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

    def _drawn(self, runs: Sequence[Run], text: Text | None) -> Iterator[None]:
        """Project one system after the other, in a thread: UMAP takes long, and takes it in one piece."""
        tables, thread = [], ThreadPoolExecutor(1)
        where, method = self.vectors.value, self.method.value
        analysis, arguments = WORD_PROJECTION, {"method": method}
        figure = partial(projection_figure, title="Output vectors of words, by frequency in training")
        if text is not None and where != WORDS:
            of_text = {"corpus": text.corpus, "split": text.split, "where": where, "sample": _SENTENCES}
            analysis, arguments = STATE_PROJECTION, arguments | of_text
            figure = partial(state_figure, where=where, text=text.name)
        try:
            for run in runs:
                asked = thread.submit(analysis.of, run, **arguments)
                while not asked.done():
                    time.sleep(_LOOK)
                    yield
                tables.append(asked.result().assign(run=run.label))
        finally:
            thread.shutdown(wait=False, cancel_futures=True)  # if stopped, the page does not wait for it
        self._points, self._figure = pd.concat(tables), figure
        self._show()

    def _show(self) -> None:
        self.chart.show(self._figure(self._points, also=self._also))
