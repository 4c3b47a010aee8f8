"""Norms and frequency (thesis Figure 3.2), and their effect on lexical choice (3.2.1, 3.2.3)."""

from collections.abc import Iterator
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import NEURAL, NORMS
from nmtlab.analysis.access.opened import output_type_of
from nmtlab.analysis.access.texts import Text
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.analysis.attention.weights import pieces_of
from nmtlab.analysis.lexical.choices import choices_finding, choices_in_batches, error_table
from nmtlab.analysis.lexical.embedding_norms import NORMS_BY_FREQUENCY
from nmtlab.analysis.lexical.logits import decompose, logit_figure, terms_table, with_radius
from nmtlab.analysis.lexical.rare_words import confusions, name_accuracy, name_translations
from nmtlab.analysis.states.neighbours import neighbours
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Line, Selection
from nmtlab.dashboards.frame.sentences import SentenceChooser
from nmtlab.dashboards.frame.systems import can_decode, mentioned, of_one_pair, system_of
from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.parts.projection import VectorProjection
from nmtlab.dashboards.parts.state_neighbours import StateNeighbours
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, columns, offer, row
from nmtlab.dashboards.widgets.note import Note, heading
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.errors import NmtlabError
from nmtlab.figures.marks import Token, shows_word
from nmtlab.figures.theme import isolated
from nmtlab.figures.view import View
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

PAGE = About(
    place=20,
    group="Why",
    title="Norms and frequency",
    question=(
        "Does the norm of a word's vector follow its frequency, and does it make frequent words win where a "
        "rare one is right? (thesis Figure 3.2 and 3.2.1)"
    ),
    name="norms",
    needs=(NEURAL, NORMS),
    tokens={
        ("target", True): "Which terms of its logit made it win or lose?",
        ("target", False): "How long is its vector for its frequency?",
        ("source", True): "Where was the encoder in nearly the same state?",
    },
    illustrates=(NORMS_BY_FREQUENCY, "norm-frequency", "rare-recall"),
)

FIRST = ("small-qaa-en.tied.s1", "small-qaa-en.fixnorm.s1", "small-tr-en.tied.s1")
_NO_WEIGHTS = "None of these runs has weights here: select a run with weights to see its logits."
_CANDIDATES = 12
_BATCH_TOKENS = 256  # padded
_NO_COUNTS = "the counts of its types are unknown; import it again with 'nmtlab runs import ... --corpus CORPUS'."


class NormsPage(Page):
    """Norms of word vectors, nearest neighbours of a word, and the logits of each position, also at another norm r."""

    def __init__(self, workspace: Workspace) -> None:
        none = "No runs yet: train one on the page Train."
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none=none)
        self.norms = ViewSection(self._norms, ("runs",), "Rank correlation with frequency", digits=3)
        self.uncounted = Note()
        self.projection = VectorProjection(self.guarded)
        self.word = widgets.Text(description="Word", continuous_update=False, placeholder="or click a point")
        self.neighbours = Table("Nearest words", pick="one")
        self.system = widgets.Dropdown(description="System", options=[], layout={"width": "26em"})
        self.sentences = SentenceChooser(workspace, self._fitting, ("runs", "system"))
        self.position = widgets.Dropdown(description="Word", options=[], layout={"width": "26em"})
        self.fixed = widgets.Checkbox(description="all vectors at norm r", indent=False)
        self.radius = widgets.FloatSlider(description="r", value=5, min=0.5, max=12, step=0.1)
        wide = {"width": "18em"}
        self.find = button("Find mispredicted rare words", self._find, self.guarded, layout=wide)
        self.find_names = button("Find confused names", self._find_names, self.guarded, layout=wide)
        self.names = Table("Proper names in the references, by training frequency: shares of outcomes")
        self.confused = Table("Names translated as another name of their class")
        self.wrong = Table("Mispredicted rare words, and the deciding term: select one", pick="one", height="15em")
        self.work = Work(self.guarded)
        self.logits, self.hint = Chart(), Note()
        self.terms = Table("Terms of each candidate's logit", pick="one")
        self.near = StateNeighbours(workspace, self.guarded)
        self._target, self._pieces, self._decomposed = "", list[str](), pd.DataFrame()
        charts = (self.norms.chart, self.projection.chart, self.logits)
        for chart in charts:
            chart.on_click(self._clicked)
        tables = (
            self.neighbours, self.terms, self.sentences.table, self.wrong, self.names, self.confused, self.near.found,
        )  # fmt: skip
        self.selection = Selection(PAGE, charts, tables)
        for table in (self.neighbours, self.terms):
            self.selection.follow_rows(table)
        self.wrong.observe(lambda _: self._go_to(), "value")
        state = {
            "runs": self.runs.table, "vectors": self.projection.vectors, "projection": self.projection.method,
            "word": self.word, "system": self.system,
            **self.sentences.state, "position": self.position, "fixed": self.fixed, "r": self.radius,
            "selected": self.selection,
        }  # fmt: skip
        pair = self.sentences.inputs
        sections = [
            Section(("position",), (), self._select_position),  # before others change it: if a person did
            Section(("word",), (), self._select_word),
            Section(("runs",), (), self._offer_systems),
            *self.sentences.sections,
            Section(("runs",), (self.uncounted,), self._name_uncounted),
            self.norms,
            Section(("runs", "vectors", "projection", "text"), (self.projection,), self._project),
            Section(("runs", "system", "text"), (self.work, self.wrong, self.names, self.confused)),
            Section(pair, (self.near, self.selection), self._offer_sentence),
            Section(("selected",), (), self._follow),
            Section(pair | {"position"}, (), self._decompose),
            Section(pair | {"position", "fixed", "r"}, (self.logits, self.terms, self.hint), self._show_logits),
            Section(("runs", "word", "system"), (self.neighbours,), self._show_neighbours),
        ]
        body = [
            self.uncounted, self.norms.chart,
            columns(self.norms.table, widgets.VBox([self.word, self.neighbours])),
            self.projection,
            heading("Why this word? The logits at any position, decomposed"),
            columns(
                self.sentences, widgets.VBox([self.system, self.position, row(self.fixed, self.radius), self.hint])
            ),
            self.selection, self.logits, self.terms, self.near,
            heading("For which mispredicted rare words did the norm decide?"),
            row(self.find, self.find_names, self.work), self.wrong, columns(self.names, self.confused),
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs], self.runs.refresh)

    @property
    def _decodable(self) -> list[Run]:
        return [run for run in self.runs.chosen if can_decode(run)]

    def _offer_systems(self) -> None:
        offer(self.system, [(run.label, run.name) for run in self._decodable])

    @property
    def _system(self) -> Run | None:
        return next((run for run in self.runs.chosen if run.name == self.system.value), None)

    @property
    def _run(self) -> Run | None:
        """The chosen system in the direction of the chosen text."""
        return self._system and self.sentences.directed(self._system)

    def _fitting(self) -> list[Run]:
        """Return the runs of the language pair of the chosen system."""
        return of_one_pair(self._decodable, self._system.direction) if self._system else []

    def _name_uncounted(self) -> None:
        if uncounted := [run for run in self.runs.chosen if not run.pipeline.counts_known]:
            self.uncounted.say(
                f"{mentioned(uncounted)}: neither norms by frequency nor word vectors in the plane, since {_NO_COUNTS}"
            )

    def _norms(self) -> View | None:
        counted = [run for run in self.runs.chosen if run.pipeline.counts_known]
        return NORMS_BY_FREQUENCY.view(counted, also=self.word.value.strip()) if counted else None

    def _project(self) -> None:
        runs = self._fitting() if self.projection.of_states else self._decodable
        self.projection.draw([run for run in runs if run.pipeline.counts_known], self.sentences.chosen_text)

    def _clicked(self, point: dict[str, Any]) -> None:
        """Look at the system of a word that is clicked."""
        self.system.value = dict(self.system.options).get(point["meta"], self.system.value)

    def _select_position(self) -> None:
        if place := self.position.value:
            self.selection.select(Token("target", place, self._pieces[place - 1]))

    def _select_word(self) -> None:
        word, run = self.word.value.strip(), self._run
        if run and _is_word(run, word):
            self.selection.select(Token("target", None, word))

    def _follow(self) -> None:
        """Choose the token or word that was selected."""
        token, run = self.selection.token, self._run
        if token is None or run is None:
            return
        self.near.follow(token)
        place = self.selection.place("target", self._pieces)
        if place is not None:
            self.position.value = place + 1
        if token.side == "target" and _is_word(run, token.word):
            self.word.value = token.word
            self._draw_also(token.word)

    def _draw_also(self, word: str) -> None:
        """Draw a word, too, where only every n-th one is drawn."""
        self.projection.draw_also(word)
        if not shows_word(self.norms.chart.figure, word):
            self.norms.show()

    def _show_neighbours(self) -> None:
        word, run = self.word.value.strip(), self._run
        if run is None:
            return
        found = f"Nearest words to {word} in {run.label}"
        self.neighbours.title = found if word else "Nearest words: type or click one"
        self.neighbours.show(neighbours(system_of(run), word).round(3) if word else pd.DataFrame())

    def _offer_positions(self) -> None:
        before, run, source = self.position.value, self._run, self.sentences.source
        self._target, self._pieces, numbered = "", [], []
        if run and source:
            self._target = self.sentences.reference or system_of(run).translate([source])[0].text
            self._pieces = [*run.pipeline.target.tokenizer.split(self._target), "</s>"]
            numbered = [(f"{position}  {piece}", position) for position, piece in enumerate(self._pieces, start=1)]
        self.position.options = numbered
        if numbered:
            self.position.value = before if before is not None and before <= len(numbered) else 1

    def _offer_sentence(self) -> None:
        """Offer the tokens of the sentence and its translation."""
        self._offer_positions()
        if (run := self._run) and self._target:
            pair = pieces_of(system_of(run), self.sentences.source, self._target)
            lines = [Line("source", "source", pair.source_pieces), Line("target", "target", pair.target_pieces)]
            self.near.offer(run, self.sentences.source, self._target)
            self.selection.offer(self.runs.chosen, self.sentences.where, lines)

    def _text(self) -> tuple[Text, Run]:
        """Return the selected text and system."""
        text, run = self.sentences.chosen_text, self._run
        if text is None or run is None:
            raise NmtlabError(
                "no text of these runs is available", "select a run with its corpus here or with packed sentences"
            )
        return text, run

    def _find_names(self) -> None:
        self.tell("")
        text, run = self._text()
        if stored_translations(run, text.corpus, text.split) is None:
            raise NmtlabError(
                f"run {run.name!r}: its translations of {text.name} are not stored",
                f"make them with 'nmtlab evaluate {run.name} --corpus {text.corpus.name} --split {text.split}'",
            )
        outcomes = name_translations(run, text.corpus, text.split)
        self.names.title = f"{run.label}: proper names of the references by training frequency, shares of outcomes"
        self.names.show(name_accuracy(outcomes).round(3))
        self.confused.show(confusions(outcomes).drop(columns="more_frequent"))

    def _find(self) -> None:
        text, run = self._text()
        self.work.start("scoring rare words", text.corpus.count(text.split), self._found(run, text))

    def _found(self, run: Run, text: Text) -> Iterator[None]:
        tables = []
        for batch, choices in choices_in_batches(system_of(run), text.corpus, text.split, batch_tokens=_BATCH_TOKENS):
            tables.append(choices)
            yield from [None] * len(batch)
        choices = pd.concat(tables).sort_values(["line", "position"], ignore_index=True)
        self.wrong.title = f"{run.label}: mispredicted rare words. {choices_finding(choices)}"
        self.wrong.show(error_table(choices))

    def _go_to(self) -> None:
        """Show the sentence and position of the selected word."""
        if self.wrong.value is None or self._run is None:
            return
        choice = self.wrong.frame.loc[self.wrong.value]
        with self.guarded(), self._together():
            self.sentences.typed.value = ""
            self.sentences.table.choose([choice["line"]])
            self._offer_positions()
            self.position.value = int(choice["position"])
        self.selection.select(Token("target", int(choice["position"]), choice["right word"]))

    def _decompose(self) -> None:
        self._decomposed, run, place = pd.DataFrame(), self._run, self.position.value
        if run and place:
            self._decomposed = decompose(
                system_of(run), self.sentences.source, self._target, place - 1, top=_CANDIDATES
            )

    def _show_logits(self) -> None:
        frame = self._decomposed
        if frame.empty:
            if self.runs.chosen:
                self.hint.say("Type a sentence." if self._run else _NO_WEIGHTS)
            return
        shown = with_radius(frame, self.radius.value) if self.fixed.value else frame
        self.logits.show(logit_figure(shown))
        self.terms.show(terms_table(shown).round(4))
        best, wanted = shown.iloc[0]["word"], shown[shown["wanted"]].iloc[0]
        word = "Reference word" if self.sentences.reference else "Word of the system's translation"
        norm = f" of these with all vectors at norm {self.radius.value:g}" if self.fixed.value else ""
        rank = f"rank {wanted['rank']}{norm}" + ("" if wanted["rank"] == 1 else f"; rank 1: “{isolated(best)}”")
        pair = f"{self.sentences.shown_source}  →  {isolated(self._target)}"
        self.hint.say(f"{pair}  —  {word}: “{isolated(wanted['word'])}”, {rank}.")


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
