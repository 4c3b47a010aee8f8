"""Many languages in one model (thesis 4.2): what they gain, its directions, and how its languages share it."""

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
    directions_finding,
    parallel_texts,
    stored_direction_scores,
)
from nmtlab.analysis.languages.gradients import GRADIENT_COSINES
from nmtlab.analysis.languages.layers import LANGUAGE_BY_LAYER, SIMILARITY_BY_LAYER
from nmtlab.analysis.languages.parameters import parameter_counts
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.links import link_to_translate
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import can_decode, described_runs
from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.parts.relatives import OF_MANY_LANGUAGES, Measured
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, offer, row, show_if
from nmtlab.dashboards.widgets.note import Answer, Note, html
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.figures.theme import with_subtitle
from nmtlab.figures.view import View
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

PAGE = About(
    place=72,
    group="Why",
    title="Many languages",
    question=(
        "Do languages gain from sharing one model, how well does it translate in each direction, and do its languages "
        "help or fight each other? (thesis 4.2)"
    ),
    name="many",
    needs=(NEURAL, SEVERAL_DIRECTIONS),
    most_runs=1,
)

_OWN = "directions of the run"
_STORED = ParallelText("stored with the run", "", ())
_MOST_DIRECTIONS = 6
"""Maximum number of directions whose gradients are compared."""
_NO_TEXT = "No text here has several of its directions line by line: make one with 'nmtlab corpus join'."


class ManyPage(Page):
    """What directions gain over separate models; the directions of a run, its languages by layer, its gradients."""

    def __init__(self, workspace: Workspace) -> None:
        none = "No run here has several directions: train one with 'more_corpora' in its recipe."
        title = "Runs of several directions"
        self.runs = RunChooser(workspace, PAGE.needs, many=False, title=title, none=none)
        self._workspace = workspace
        self._texts: dict[str, ParallelText] = {}
        self._found: dict[Analysis, pd.DataFrame | None] = {}
        self._scores = pd.DataFrame()
        wide = {"width": "100%"}
        self.figure = widgets.Dropdown(
            description="Figure", options=[(_OWN, ""), *((one, one) for one in OF_MANY_LANGUAGES)], layout=wide
        )
        self.text = widgets.Dropdown(description="Text", options=[], layout=wide)
        self.measured = Measured(OF_MANY_LANGUAGES, self._over_seeds, ("runs", "text", "figure"))
        self.direction = widgets.Dropdown(description="Direction", options=[])
        self.sentences = Table("Sentences: select one", pick="one", height="20em")
        self.answer, self.matrix, self.scores = Answer(), Chart(), Table("Scores of all directions")
        self.parameters = Table("Parameters: stored, used by the first direction, and trained")
        self.hint, self.note, self.link, self.work = Note(), Note(), html(), Work(self.guarded)
        self.measure = button("Translate and compare", self._start, self.guarded)
        self.matrix.on_click(self._clicked)
        state = {
            "runs": self.runs.table, "figure": self.figure, "text": self.text, "direction": self.direction,
            "line": self.sentences,
        }  # fmt: skip
        sections = [
            Section(("runs",), (self.hint,), self._offer),
            Section(("runs", "text"), (self.work,), self._read),
            self.measured.section,
            Section(("runs", "text"), (self.note,), self._explain),
            Section(("runs", "text", "figure"), (self.answer, self.matrix, self.scores), self._draw),
            Section(("runs", "text", "direction"), (self.sentences,), self._show_sentences),
            Section(("runs", "text", "direction", "line"), (), self._show_link),
        ]
        self._one = Fold(
            "sentences", "What does it say in one direction?", row(self.direction), self.sentences, self.link
        )
        body = [
            self.measured, self.answer, self.matrix, self.work,
            Fold("numbers", "The figure in numbers", self.measured.section.table, self.scores),
            self._one,
            Fold("layers", "How alike are its languages, layer by layer?", self._of(SIMILARITY_BY_LAYER)),
            Fold("probes", "Can the source language be read off its states?", self._of(LANGUAGE_BY_LAYER)),
            Fold("gradients", "Do its directions fight for shared weights?", self._of(GRADIENT_COSINES)),
            Fold(
                "parameters", "How many parameters does it have, and does a direction use?",
                Section(("runs",), (self.parameters,), self._count),
            ),
        ]  # fmt: skip
        rail = [self.runs, self.hint, self.figure, self.text, self.measure, self.note]
        super().__init__(PAGE, state, sections, body, rail, self.runs.refresh)

    @property
    def _run(self) -> Run | None:
        """The chosen run in its default direction, if it still has several."""
        run = self.runs.first
        return run if run and unmet(run, PAGE.needs or ()) is None else None

    @property
    def _text(self) -> ParallelText | None:
        return self._texts.get(self.text.value or "")

    def _offer(self) -> None:
        """Offer the texts in several directions of the run; without any, the answers stored with it."""
        self._texts, run = {}, self._run
        found = parallel_texts(run, self._workspace) if run else []
        if run and not found and any(one.answers(run) for one in _ANALYSES):
            found = [_STORED]
        self._texts = {text.name: text for text in found}
        offer(self.text, tuple((name, name) for name in self._texts))
        show_if(self._texts, self.text)
        if run:
            self.hint.say(f"Trained in {len(run.directions)} directions: {_named(run)}.")

    def _read(self) -> None:
        """Read the stored answers on the text, and offer its directions."""
        run, text = self._run, self._text
        self._found, self._scores = {}, pd.DataFrame()
        if run and text:
            self._found = {
                one: _stored(run, one, text) for one in _ANALYSES if _corpora(run, one, text) or text is _STORED
            }
            scores = self._found[DIRECTION_SCORES]
            self._scores = stored_direction_scores(run, text.corpora, text.split) if scores is None else scores
        ways = [corpus.direction for corpus in text.corpora] if text else []
        offer(self.direction, [(" to ".join(way), "-".join(way)) for way in ways])
        show_if(ways, self.direction)
        show_if(run and self._missing and text is not _STORED and can_decode(run), self.measure)

    @property
    def _missing(self) -> list[str]:
        """What is not measured on the text."""
        return [name for one, name in _ANALYSES.items() if one in self._found and self._found[one] is None]

    def _explain(self) -> None:
        run = self._run
        if run and not self._text:
            self.note.say(_NO_TEXT)
        elif run:
            few = len(run.directions) > _MOST_DIRECTIONS
            limit = f"Gradients are those of the first {_MOST_DIRECTIONS} directions. " if few else ""
            self.note.say(limit + (f"Not measured on this text: {', '.join(self._missing)}." if self._missing else ""))

    def _over_seeds(self) -> str:
        """Return the name of the figure over seeds that is shown: without a choice, one if the run has no scores."""
        nothing = self._run and self._scores.empty
        return self.figure.value or (next(iter(OF_MANY_LANGUAGES)) if nothing else "")

    def _draw(self) -> None:
        run, text = self._run, self._text
        if run and text and len(self._scores) and not self.figure.value:
            self.answer.say(directions_finding(self._scores))
            self.matrix.show(with_subtitle(directions_figure(self._scores), described_runs([run], text.name)))
            self.scores.show(self._scores.round(1))

    def _of(self, analysis: Analysis) -> ViewSection:
        """Return a section with what is stored of an analysis on the text."""

        def view() -> View | None:
            frame, run, text = self._found.get(analysis), self._run, self._text
            if frame is None or run is None or text is None or analysis.figure is None:
                return None
            figure = with_subtitle(analysis.figure(frame), described_runs([run], text.name))
            return View(frame, figure, finding=analysis.finding(frame))

        return ViewSection(view, ("runs", "text"))

    def _count(self) -> None:
        if self._run:
            self.parameters.show(parameter_counts(self._run))

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
            self.direction.value, self._one.opened = way, True

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
        self.figure.value = ""
        self._changed("text")


def many_page(workspace: Workspace | None = None) -> ManyPage:
    """Return the page."""
    return ManyPage(workspace or Workspace.find())


def _named(run: Run) -> str:
    return ", ".join(f"{source} to {target}" for source, target in run.directions)


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
