"""Many languages in one run (thesis 4.2): its directions, how alike its languages are, and whether they fight."""

from collections.abc import Iterator, Mapping
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import NEURAL, SELF_ATTENTION, SEVERAL_DIRECTIONS, unmet
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
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import can_decode
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, columns, offer, row, show_if
from nmtlab.dashboards.widgets.note import Note, heading, html
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Guarded, Work
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

_STORED = ParallelText("stored with the run", "", ())
_MOST_DIRECTIONS = 6
"""Maximum number of directions whose gradients are compared."""
_NO_TEXT = "No text here has several of its directions line by line: make one with 'nmtlab corpus join'."


class ManyLanguages(widgets.VBox):
    """All directions of a run, the sentences of one of them, its languages by layer, and its gradients.

    `state` holds the widgets that an address stores, besides that of `runs`, and `sections` show the run.

    Args:
        workspace: workspace with the texts.
        runs: the chooser of the run; one that was not trained in several directions is not shown.
    """

    def __init__(self, workspace: Workspace, runs: RunChooser, guarded: Guarded) -> None:
        self._workspace, self._runs = workspace, runs
        self._texts: dict[str, ParallelText] = {}
        self.text = widgets.Dropdown(description="Text", options=[], layout={"width": "26em"})
        self.direction = widgets.Dropdown(description="Direction", options=[])
        self.sentences = Table("Sentences: select one", pick="one", height="20em")
        self.matrix, self.layers, self.probes, self.cosines = Chart(), Chart(), Chart(), Chart()
        self.parameters = Table("Parameters: stored, used by the first direction, and trained")
        self.note, self.link, self.work = Note(), html(), Work(guarded)
        self.measure = button("Translate and compare", self._start, guarded, layout={"width": "18em"})
        self.matrix.on_click(self._clicked)
        self.state = {"text": self.text, "direction": self.direction, "line": self.sentences}
        drawn = (self.note, self.matrix, self.layers, self.probes, self.cosines, self.work)
        self.sections = [
            Section(("runs",), (self.parameters,), self._offer),
            Section(("runs", "text"), drawn, self._draw),
            Section(("runs", "text", "direction"), (self.sentences,), self._show_sentences),
            Section(("runs", *self.state), (), self._show_link),
        ]
        super().__init__(
            [
                heading("Many languages: which directions does it translate, and how do its languages share it?"),
                row(self.text, self.measure, self.work), self.note,
                columns(self.matrix, widgets.VBox([self.direction, self.sentences, self.link])),
                self.layers, columns(self.probes, self.parameters), self.cosines,
            ]
        )  # fmt: skip

    @property
    def _run(self) -> Run | None:
        """The chosen run in its default direction, if it has several."""
        run = self._runs.first
        return run if run and unmet(run, (NEURAL, SEVERAL_DIRECTIONS)) is None else None

    @property
    def _text(self) -> ParallelText | None:
        return self._texts.get(self.text.value or "")

    def _offer(self) -> None:
        """Offer the texts in several directions of the run; without any, the answers stored with it."""
        self._texts, run = {}, self._run
        show_if(run, self)
        found = parallel_texts(run, self._workspace) if run else []
        if run and not found and any(one.answers(run) for one in _ANALYSES):
            found = [_STORED]
        self._texts = {text.name: text for text in found}
        offer(self.text, tuple((name, name) for name in self._texts))
        if run:
            self.parameters.show(parameter_counts(run))

    def _draw(self) -> None:
        run, text = self._run, self._text
        show_if(text, self.text)
        if run is None or text is None:
            show_if(False, self.direction, self.measure)
            if run:
                self.note.say(_NO_TEXT)
            return
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
        offer(self.direction, [(" to ".join(way), "-".join(way)) for way in ways])
        show_if(ways, self.direction)
        missing = [name for one, name in _ANALYSES.items() if one in found and found[one] is None]
        show_if(missing and text is not _STORED and can_decode(run), self.measure)
        few = len(run.directions) > _MOST_DIRECTIONS
        limit = f"Gradients are those of the first {_MOST_DIRECTIONS} directions. " if few else ""
        self.note.say(limit + (f"Not measured on this text: {', '.join(missing)}." if missing else ""))

    @property
    def _chosen(self) -> ParallelCorpus | None:
        """The corpus of the chosen direction, if the text has one."""
        corpora = self._text.corpora if self._text else ()
        return next((one for one in corpora if "-".join(one.direction) == self.direction.value), None)

    def _show_sentences(self) -> None:
        """Show the sentences of the chosen direction with the run's stored translations."""
        run, text, corpus = self._run, self._text, self._chosen
        if run and text and corpus:
            table = sentences([run], Text(corpus, text.split, False))
            self.sentences.title = f"Sentences, {corpus.source} to {corpus.target}: select one"
            self.sentences.show(table.reset_index().set_index("line", drop=False))

    def _show_link(self) -> None:
        run, corpus, line = self._run, self._chosen, self.sentences.value
        self.link.value = ""
        if run and corpus and line is not None:
            source = str(self.sentences.frame.loc[line, "source"])
            self.link.value = link_to_translate(run, corpus.direction, source)

    def _clicked(self, point: dict[str, Any]) -> None:
        way = f"{point['y']}-{point['x']}"
        if way in [value for _, value in self.direction.options]:
            self.direction.value = way

    def _start(self) -> None:
        run, text = self._run, self._text
        if run and text:
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
        self._draw()
        self._show_sentences()


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
