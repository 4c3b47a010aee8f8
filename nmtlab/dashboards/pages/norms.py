"""Norms and frequency (thesis Figure 3.2)."""

from dataclasses import replace
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import NEURAL, NORMS
from nmtlab.analysis.access.opened import output_type_of
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.analysis.lexical.embedding_norms import NORMS_BY_FREQUENCY
from nmtlab.analysis.lexical.pieces import MERGES, SEGMENTATIONS
from nmtlab.analysis.lexical.rare_words import confusions, name_accuracy, name_translations
from nmtlab.analysis.lexical.vocabulary_cost import VOCABULARY_COST
from nmtlab.analysis.states.neighbours import neighbours
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Selection
from nmtlab.dashboards.frame.systems import described_runs, mentioned, system_of
from nmtlab.dashboards.frame.views import ViewSection, answers
from nmtlab.dashboards.parts.projection import VectorProjection
from nmtlab.dashboards.parts.system_menu import SystemMenu
from nmtlab.dashboards.parts.text_menu import TextMenu
from nmtlab.dashboards.widgets.controls import button, columns, row
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.figures.marks import Token, shows_word
from nmtlab.figures.theme import readable, with_subtitle
from nmtlab.figures.view import View
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

PAGE = About(
    place=20,
    group="Why",
    title="Norms and frequency",
    question="Does the norm of a word's vector follow its frequency? (thesis Figure 3.2)",
    name="norms",
    needs=(NEURAL, NORMS),
    tokens={("target", False): "How long is its vector for its frequency?"},
    illustrates=(NORMS_BY_FREQUENCY, "norm-frequency"),
)

FIRST = ("small-qaa-en.tied.s1", "small-qaa-en.fixnorm.s1")
_NO_COUNTS = "the counts of its types are unknown; import it again with 'nmtlab runs import ... --corpus CORPUS'."


class NormsPage(Page):
    """Norms of word vectors by frequency, nearest neighbours of a word, vectors in the plane, and confused names."""

    def __init__(self, workspace: Workspace) -> None:
        none = "No runs yet: train one on the page Train."
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none=none)
        self.norms = ViewSection(self._norms, ("runs",), "Rank correlation with frequency", digits=2)
        self.uncounted = Note()
        self.system = SystemMenu(self.runs)
        self.text = TextMenu(workspace)
        self.word = widgets.Text(description="Word", continuous_update=False, placeholder="or click a point")
        self.neighbours = Table("Nearest words", pick="one")
        self.cut, self.pieces = Answer(), Table("How the word is cut", height="20em")
        self.cost = answers(VOCABULARY_COST, self.runs, "Parameters by the number of types")
        self.projection = VectorProjection(self.guarded)
        self.find_names = button("Find confused names", self._find_names, self.guarded)
        self.names = Table("Proper names in the references, by training frequency: shares of outcomes")
        self.confused = Table("Names translated as another name of their class")
        charts = (self.norms.chart, self.projection.chart)
        for chart in charts:
            chart.on_click(self._clicked)
        self.selection = Selection(PAGE, charts, (self.neighbours, self.names, self.confused))
        self.selection.follow_rows(self.neighbours)
        state = {
            "runs": self.runs.table, "system": self.system, "text": self.text, "word": self.word,
            "vectors": self.projection.vectors, "projection": self.projection.method, "selected": self.selection,
        }  # fmt: skip
        sections = [
            Section(("runs",), (), self.system.fill),
            Section(("runs", "system"), (), self._offer_texts),
            Section(("word",), (), self._select_word),
            Section(("runs",), (self.uncounted,), self._name_uncounted),
            self.norms,
            Section(("runs",), (self.selection,), lambda: self.selection.offer(self.runs.chosen, Sentence(), [])),
            Section(("runs", "vectors", "projection", "text"), (self.projection,), self._project),
            Section(("selected",), (), self._follow),
            Section(("runs", "system", "text"), (self.names, self.confused)),
            Section(("runs", "word", "system"), (self.neighbours,), self._show_neighbours),
            Section(("runs", "word", "system"), (self.cut, self.pieces), self._show_pieces),
        ]
        body = [
            self.norms.answer, self.norms.chart, self.uncounted,
            Fold("near", "Which words are nearest to a word?", self.system, self.selection, self.neighbours),
            Fold("plane", "How do the vectors lie in the plane?", self.text, self.projection),
            Fold("names", "Names: which are confused?",
                 row(self.system, self.text, self.find_names), columns(self.names, self.confused)),
            Fold("pieces", "How is the word cut into pieces?", self.system, self.cut, self.pieces),
            Fold("cost", "What does a larger vocabulary cost in parameters?", self.cost),
            Fold("numbers", "Rank correlations as numbers", self.norms.table),
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs, self.word], self.runs.refresh)

    def _offer_texts(self) -> None:
        self.text.fill(self.system.of_its_pair)

    def _name_uncounted(self) -> None:
        if uncounted := [run for run in self.runs.chosen if not run.pipeline.counts_known]:
            self.uncounted.say(
                f"{mentioned(uncounted)}: neither norms by frequency nor word vectors in the plane, since {_NO_COUNTS}"
            )

    def _norms(self) -> View | None:
        counted = [run for run in self.runs.chosen if run.pipeline.counts_known]
        if not counted:
            return None
        found = NORMS_BY_FREQUENCY.view(counted, also=self.word.value.strip())
        return replace(found, figure=with_subtitle(found.figure, described_runs(counted)))

    def _project(self) -> None:
        runs = self.system.of_its_pair if self.projection.of_states else self.system.able
        self.projection.draw([run for run in runs if run.pipeline.counts_known], self.text.text)

    def _clicked(self, point: dict[str, Any]) -> None:
        """Look at the system of a word that is clicked."""
        self.system.value = dict(self.system.options).get(point["meta"], self.system.value)

    def _select_word(self) -> None:
        word, run = self.word.value.strip(), self.system.run
        if word and run and _is_word(run, word):
            self.selection.select(Token("target", None, word))

    def _follow(self) -> None:
        """Choose the word that was selected, and draw it where only every n-th one is drawn."""
        token, run = self.selection.token, self.system.run
        if token and run and token.side == "target" and _is_word(run, token.word):
            self.word.value = token.word
            self.projection.draw_also(token.word)
            if not shows_word(self.norms.chart.figure, token.word):
                self.norms.show()

    def _show_neighbours(self) -> None:
        word, run = self.word.value.strip(), self.system.run
        if run is None:
            return
        found = f"Nearest words to {readable([word])[0]} in {run.label}"
        self.neighbours.title = found if word else "Nearest words: type or click one"
        frame = neighbours(system_of(run), word).round(2) if word else pd.DataFrame()
        self.neighbours.show(frame, pieces=("word",) if word else (), why="Type a word, or click a point above.")

    def _show_pieces(self) -> None:
        word, run = self.word.value.strip(), self.system.run
        shown = next((one for one in (SEGMENTATIONS, MERGES) if run and one.fits(run)), None)
        if not word or run is None or shown is None:
            why = "Type a word." if shown else "The system has no subwords of byte-pair encoding or a unigram model."
            self.pieces.show(pd.DataFrame(), why=why)
            return
        found = shown.of(run, word=word)
        self.cut.say(shown.finding(found) if shown is SEGMENTATIONS else "")
        self.pieces.title = f"{readable([word])[0]}: {shown.question}"
        self.pieces.show(found.drop(columns="ways", errors="ignore").round(3))

    def _find_names(self) -> None:
        self.tell("")
        text, run = self.text.text, self.system.run
        if text is None or run is None:
            raise NmtlabError(
                "no text of these runs is available", "select a run with its corpus here or with packed sentences"
            )
        if stored_translations(run, text.corpus, text.split) is None:
            raise NmtlabError(
                f"run {run.name!r}: its translations of {text.name} are not stored",
                f"make them with 'nmtlab evaluate {run.name} --corpus {text.corpus.name} --split {text.split}'",
            )
        outcomes = name_translations(run.directed(*text.corpus.direction), text.corpus, text.split)
        self.names.title = f"{run.label}: proper names of the references by training frequency, shares of outcomes"
        self.names.show(name_accuracy(outcomes).round(2))
        self.confused.show(confusions(outcomes).drop(columns="more_frequent"), why="No name is confused with another.")


def _is_word(run: Run, word: str) -> bool:
    """Return whether a system can produce a word of its vocabulary."""
    try:
        output_type_of(system_of(run), word)
    except NmtlabError:
        return False
    return True


def norms_page(workspace: Workspace | None = None) -> NormsPage:
    """Return the page."""
    return NormsPage(workspace or Workspace.find())
