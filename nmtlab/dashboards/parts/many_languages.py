"""Many languages in one run (thesis 4.2): its directions, how alike its languages are, and whether they fight."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import SELF_ATTENTION
from nmtlab.analysis.access.texts import Text, sentences
from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.languages.directions import (
    DIRECTION_SCORES,
    ParallelText,
    directions_figure,
    parallel_texts,
    stored_direction_scores,
)
from nmtlab.analysis.languages.gradients import GRADIENT_COSINES
from nmtlab.analysis.languages.layers import LANGUAGE_BY_LAYER, SIMILARITY_BY_LAYER
from nmtlab.analysis.languages.parameters import parameter_counts
from nmtlab.dashboards.frame.links import link_to_translate
from nmtlab.dashboards.frame.page import Note, Part, heading, html
from nmtlab.dashboards.frame.systems import can_decode
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.columns import columns, row
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

_STORED = ParallelText("stored with the run", "", ())
_MOST_DIRECTIONS = 6
"""Maximum number of directions whose gradients are compared."""
_NO_TEXT = "No text here has several of its directions line by line: make one with 'nmtlab corpus join'."


class ManyLanguages(widgets.VBox):
    """All directions of a run, the sentences of one of them, its languages by layer, and its gradients.

    `state` holds the widgets that an address stores, `parts` what is shown and the names of `state` it depends on,
    besides `runs`.

    Args:
        workspace: workspace with the texts.
        guarded: context manager of the page that reports errors.
    """

    def __init__(self, workspace: Workspace, guarded: Callable[[], AbstractContextManager[None]]) -> None:
        self._workspace, self._guarded = workspace, guarded
        self._texts: dict[str, ParallelText] = {}
        self._run: Run | None = None
        self.text = widgets.Dropdown(description="Text", options=[], layout={"width": "26em"})
        self.direction = widgets.Dropdown(description="Direction", options=[])
        self.sentences = Table("Sentences: select one", pick="one", height="20em")
        self.matrix, self.layers, self.probes, self.cosines = Chart(), Chart(), Chart(), Chart()
        self.parameters = Table("Parameters: stored, used by the first direction, and trained")
        self.note, self.link, self.work = Note(), html(), Work(guarded)
        self.measure = widgets.Button(description="Translate and compare", layout={"width": "18em"})
        self.measure.on_click(lambda _: self._start())
        self.matrix.on_click(self._clicked)
        self.state = {"text": self.text, "direction": self.direction, "line": self.sentences}
        of_text = ("runs", "text")
        self.parts: Mapping[Part, Collection[str]] = {
            **dict.fromkeys((self.note, self.matrix, self.layers, self.probes, self.cosines, self.work), of_text),
            self.parameters: ("runs",),
            self.sentences: (*of_text, "direction"),
        }
        super().__init__(
            [
                heading("Many languages: which directions does it translate, and how do its languages share it?"),
                row(self.text, self.measure, self.work), self.note,
                columns(self.matrix, widgets.VBox([self.direction, self.sentences, self.link])),
                self.layers, columns(self.probes, self.parameters), self.cosines,
            ]
        )  # fmt: skip

    def show(self, run: Run | None, changed: set[str]) -> None:
        """Show a run of several directions, or nothing.

        Args:
            run: the run, in its default direction.
            changed: changed names of the page's state, as given to its update.
        """
        self._run = run
        self.layout.display = "" if run else "none"
        if "runs" in changed:
            self._offer(run)
        text = self._texts.get(self.text.value or "")
        if run is None:
            return
        if "runs" in changed:
            self.parameters.show(parameter_counts(run))
        self.text.layout.display = "" if text else "none"
        if text is None:
            self.direction.layout.display = self.measure.layout.display = "none"
            self.link.value = ""
            self.note.say(_NO_TEXT)
            return
        if changed & {"runs", "text"}:
            self._draw(run, text)
        if changed & {"runs", "text", "direction"}:
            self._show_sentences(run, text)
        self._show_link(run, text)

    def _offer(self, run: Run | None) -> None:
        """Offer the texts in several directions of a run; without any, the answers stored with it."""
        found = parallel_texts(run, self._workspace) if run else []
        if run and not found and any(one.answers(run) for one in _ANALYSES):
            found = [_STORED]
        self._texts = {text.name: text for text in found}
        _set_options(self.text, {name: name for name in self._texts})

    def _draw(self, run: Run, text: ParallelText) -> None:
        found = {one: _stored(run, one, text) for one in _ANALYSES if _corpora(run, one, text) or text is _STORED}
        scores = found[DIRECTION_SCORES]
        shown = stored_direction_scores(run, text.corpora, text.split) if scores is None else scores
        if len(shown):
            self.matrix.show(directions_figure(shown, title=text.name))
        drawn = {SIMILARITY_BY_LAYER: self.layers, LANGUAGE_BY_LAYER: self.probes, GRADIENT_COSINES: self.cosines}
        for analysis, chart in drawn.items():
            if (frame := found.get(analysis)) is not None and analysis.figure:
                chart.show(analysis.figure(frame))
        ways = [corpus.direction for corpus in text.corpora]
        _set_options(self.direction, {" to ".join(way): "-".join(way) for way in ways})
        self.direction.layout.display = "" if ways else "none"
        missing = [name for one, name in _ANALYSES.items() if one in found and found[one] is None]
        self.measure.layout.display = "" if missing and text is not _STORED and can_decode(run) else "none"
        few = len(run.directions) > _MOST_DIRECTIONS
        limit = f"Gradients are those of the first {_MOST_DIRECTIONS} directions. " if few else ""
        self.note.say(limit + (f"Not measured on this text: {', '.join(missing)}." if missing else ""))

    def _chosen(self, text: ParallelText) -> ParallelCorpus | None:
        """Return the corpus of the chosen direction, if the text has one."""
        return next((one for one in text.corpora if "-".join(one.direction) == self.direction.value), None)

    def _show_sentences(self, run: Run, text: ParallelText) -> None:
        """Show the sentences of the chosen direction with the run's stored translations."""
        if corpus := self._chosen(text):
            table = sentences([run], Text(corpus, text.split, False))
            self.sentences.title = f"Sentences, {corpus.source} to {corpus.target}: select one"
            self.sentences.show(table.reset_index().set_index("line", drop=False))

    def _show_link(self, run: Run, text: ParallelText) -> None:
        corpus, line = self._chosen(text), self.sentences.value
        source = "" if corpus is None or line is None else str(self.sentences.frame.loc[line, "source"])
        self.link.value = link_to_translate(run, corpus.direction, source) if source else ""

    def _clicked(self, point: dict[str, Any]) -> None:
        way = f"{point['y']}-{point['x']}"
        if way in [value for _, value in self.direction.options]:
            self.direction.value = way

    def _start(self) -> None:
        run, text = self._run, self._texts.get(self.text.value or "")
        if run is not None and text is not None:
            with self._guarded():
                steps = len(text.corpora) + len(_ANALYSES)
                self.work.start("translating and comparing ...", steps, self._measured(run, text))

    def _measured(self, run: Run, text: ParallelText) -> Iterator[None]:
        for corpus in text.corpora:
            translations(run, corpus, text.split)
            yield
        for analysis in _ANALYSES:
            if corpora := _corpora(run, analysis, text):
                analysis.of(run, corpora=corpora, split=text.split)
            yield
        self._draw(run, text)
        self._show_sentences(run, text)


_ANALYSES: Mapping[Analysis, str] = {
    DIRECTION_SCORES: "all directions",
    SIMILARITY_BY_LAYER: "languages by layer",
    LANGUAGE_BY_LAYER: "the language in shared and private units",
    GRADIENT_COSINES: "gradients",
}


def _corpora(run: Run, analysis: Analysis, text: ParallelText) -> list[ParallelCorpus]:
    """Return the corpora of a text that an analysis needs; none if there are too few."""
    if analysis is DIRECTION_SCORES:
        return list(text.corpora)
    if not SELF_ATTENTION.met(run):
        return []
    if analysis in (SIMILARITY_BY_LAYER, LANGUAGE_BY_LAYER):
        found = text.into(run.direction[1])
    else:
        found = [corpus for corpus in text.corpora if corpus.direction in run.directions][:_MOST_DIRECTIONS]
    return found if len(found) > 1 else []


def _stored(run: Run, analysis: Analysis, text: ParallelText) -> pd.DataFrame | None:
    """Return the stored answer on a text; without a text, any."""
    if text is _STORED:
        return analysis.any_stored(run)
    return analysis.stored(run, corpora=_corpora(run, analysis, text), split=text.split)


def _set_options(chooser: widgets.Dropdown, options: Mapping[str, str]) -> None:
    """Offer values by their titles; a value that is still offered stays chosen."""
    wanted = tuple(options.items())
    if wanted != chooser.options:
        before = chooser.value
        chooser.options = wanted
        values: Sequence[str] = tuple(options.values())
        chooser.value = before if before in values else next(iter(values), None)
