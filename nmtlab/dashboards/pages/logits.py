"""Why a system prefers a word at a position: the terms of its logit (thesis 3.2.1, 3.2.3)."""

from collections.abc import Iterator

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import DECODING
from nmtlab.analysis.access.texts import Text
from nmtlab.analysis.attention.weights import pieces_of
from nmtlab.analysis.lexical.choices import choices_finding, choices_in_batches, error_table
from nmtlab.analysis.lexical.logits import (
    decompose,
    logit_figure,
    logit_finding,
    terms_table,
    waterfall_figure,
    with_radius,
)
from nmtlab.analysis.states.reach import REACH
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Line, Selection
from nmtlab.dashboards.frame.sentences import SentenceChooser
from nmtlab.dashboards.frame.systems import described_runs, system_of
from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.parts.state_neighbours import StateNeighbours
from nmtlab.dashboards.parts.system_menu import SystemMenu
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, row
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.errors import NmtlabError
from nmtlab.figures.marks import Token
from nmtlab.figures.theme import readable, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import quoted
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

PAGE = About(
    place=22,
    group="Why",
    title="Why this word?",
    question=(
        "Which term of its logit makes a word win where another one is right: length, angle, bias or lexicon? "
        "(thesis 3.2.1 and 3.2.3)"
    ),
    name="logits",
    needs=DECODING,
    tokens={
        ("target", True): "Which terms of its logit made it win or lose?",
        ("source", True): "Where was the encoder in nearly the same state?",
    },
    illustrates=("rare-recall",),
)

FIRST = ("small-tr-en.tied.s1",)
SENTENCE, POSITION = (f"{FIRST[0]} (packed dev)", 84), 2
"""Where the angle favours the right, rare word, and length alone makes a frequent one win."""

_CANDIDATES = 12
_BATCH_TOKENS = 256  # padded


class LogitsPage(Page):
    """The logits of the target word and its rival at any position, also with all vectors at another norm r."""

    def __init__(self, workspace: Workspace) -> None:
        none = "No run here has weights: train one on the page Train."
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none=none)
        self.system = SystemMenu(self.runs)
        self.sentences = SentenceChooser(workspace, lambda: self.system.of_its_pair, ("runs", "system"), first=SENTENCE)
        self.position = widgets.Dropdown(description="Word", options=[])
        self.fixed = widgets.Checkbox(description="rescale all vectors to norm r", indent=False)
        self.radius = widgets.FloatSlider(description="r", value=5, min=0.5, max=12, step=0.1)
        self.answer, self.waterfall, self.hint = Answer(), Chart(), Note()
        self.logits, self.terms = Chart(), Table("Terms of each candidate's logit", pick="one")
        self.find = button("Find the errors", self._find, self.guarded)
        self.finding, self.work = Answer(), Work(self.guarded)
        self.wrong = Table("Mispredicted rare words, and the largest effect: select one", pick="one", height="20em")
        self.near = StateNeighbours(workspace, self.guarded)
        self._target, self._pieces, self._decomposed = "", list[str](), pd.DataFrame()
        tables = (self.terms, self.sentences.table, self.wrong, self.near.found)
        self.selection = Selection(PAGE, (self.logits,), tables)
        self.selection.follow_rows(self.terms)
        self.wrong.observe(lambda _: self._go_to(), "value")
        state = {
            "runs": self.runs.table, "system": self.system, **self.sentences.state, "position": self.position,
            "fixed": self.fixed, "r": self.radius, "selected": self.selection,
        }  # fmt: skip
        pair = self.sentences.inputs
        place = pair | {"position", "fixed", "r"}
        sections = [
            Section(("position",), (), self._select_position),  # before others change it: if a person did
            Section(("runs",), (), self.system.fill),
            *self.sentences.sections,
            Section(("runs", "system", "text"), (self.work, self.finding, self.wrong)),
            Section(pair, (self.selection,), self._offer_sentence),
            Section(pair, (self.near,), self._offer_states),
            Section(("selected",), (), self._follow),
            Section(pair | {"position"}, (), self._decompose),
            Section(place, (self.answer, self.waterfall, self.hint), self._answer),
        ]
        body = [
            self.answer, self.waterfall, self.hint, self.selection,
            Fold("candidates", "Which other words could it be, and by which terms?",
                 Section(place, (self.logits, self.terms), self._show_candidates)),
            Fold("errors", "Rare-word errors caused by vector length",
                 row(self.find, self.work), self.finding, self.wrong),
            Fold("states", "Training contexts with the most similar state", self.near),
            Fold("reach", "How far does the encoder see?", ViewSection(self._reach, pair)),
        ]  # fmt: skip
        rail = [self.runs, self.system, self.sentences, self.position, self.fixed, self.radius]
        super().__init__(PAGE, state, sections, body, rail, self.runs.refresh)

    @property
    def _run(self) -> Run | None:
        """The chosen system in the direction of the chosen text."""
        return self.system.run and self.sentences.directed(self.system.run)

    def _reach(self) -> View | None:
        """Return what each state of the encoder has read in the sentence, of the systems of its pair of languages."""
        runs, source = self.sentences.runs, self.sentences.source
        if not runs or not source:
            return None
        view = REACH.view(runs, source=source)
        with_subtitle(view.figure, described_runs(runs, self.sentences.where.place))
        return view

    def _select_position(self) -> None:
        if place := self.position.value:
            self.selection.select(Token("target", place, self._pieces[place - 1]))

    def _follow(self) -> None:
        """Choose the token that was selected."""
        self.near.follow(self.selection.token)
        place = self.selection.place("target", self._pieces)
        if place is not None:
            self.position.value = place + 1

    def _offer_positions(self) -> None:
        run, source, numbered = self._run, self.sentences.source, []
        first = POSITION if (self.sentences.text.value, self.sentences.line) == SENTENCE else 1
        before = self.position.value or first
        self._target, self._pieces = "", []
        if run and source:
            self._target = self.sentences.reference or system_of(run).translate([source])[0].text
            self._pieces = [*run.pipeline.target.tokenizer.split(self._target), "</s>"]
            numbered = [(f"{place}  {piece}", place) for place, piece in enumerate(readable(self._pieces), start=1)]
        self.position.options = numbered
        if numbered:
            self.position.value = before if before <= len(numbered) else 1

    def _offer_sentence(self) -> None:
        """Offer the tokens of the sentence and its translation; the one at the position is selected if none is."""
        self._offer_positions()
        if (run := self._run) and self._target:
            pair = pieces_of(system_of(run), self.sentences.source, self._target)
            said = "reference" if self.sentences.reference else "target"
            lines = [Line("source", "source", pair.source_pieces), Line(said, "target", pair.target_pieces)]
            self.selection.offer(self.runs.chosen, self.sentences.where, lines)
            if self.selection.token is None:
                self._select_position()

    def _offer_states(self) -> None:
        if (run := self._run) and self._target:
            self.near.offer(run, self.sentences.source, self._target)
            self.near.follow(self.selection.token)

    def _decompose(self) -> None:
        self._decomposed, run, place = pd.DataFrame(), self._run, self.position.value
        if run and place:
            self._decomposed = decompose(
                system_of(run), self.sentences.source, self._target, place - 1, top=_CANDIDATES
            )

    @property
    def _candidates(self) -> pd.DataFrame:
        """The candidates at the position, with their vectors as they are or at norm r."""
        rescaled = self.fixed.value and len(self._decomposed)
        return with_radius(self._decomposed, self.radius.value) if rescaled else self._decomposed

    def _answer(self) -> None:
        frame, run = self._candidates, self._run
        if frame.empty or run is None:
            if self.runs.chosen:
                self.hint.say("Type a sentence.")
            return
        self.answer.say(logit_finding(frame))
        if len(frame) > 1:
            self.waterfall.show(with_subtitle(waterfall_figure(frame), self._subtitle(run)))
        best, wanted = frame.iloc[0]["word"], frame[frame["wanted"]].iloc[0]
        word = "Reference word" if self.sentences.reference else "Word of the system's translation"
        norm = f" of these with all vectors at norm {self.radius.value:g}" if self.fixed.value else ""
        rank = f"rank {wanted['rank']}{norm}" + ("" if wanted["rank"] == 1 else f"; rank 1: {quoted(best)}")
        self.hint.say(f"{word}: {quoted(wanted['word'])}, {rank}.")

    def _subtitle(self, run: Run) -> str:
        """Return of which system and sentence the figures are, and at which norm."""
        line, text = self.sentences.line, self.sentences.chosen_text
        sentence = f"line {line} of {text.split}" if line is not None and text else "a typed sentence"
        norm = f"; all vectors at norm {self.radius.value:g}" if self.fixed.value else ""
        return f"{run.label}: {described_runs([run], f'{sentence}, word {self.position.value}')}{norm}"

    def _show_candidates(self) -> None:
        if (run := self._run) and len(frame := self._candidates):
            self.logits.show(with_subtitle(logit_figure(frame), self._subtitle(run)))
            shown = terms_table(frame).round(4).replace({"target word": {True: "yes", False: ""}})
            self.terms.show(shown, pieces=("word",))

    def _text(self) -> tuple[Text, Run]:
        """Return the selected text and system."""
        text, run = self.sentences.chosen_text, self._run
        if text is None or run is None:
            raise NmtlabError(
                "no text of these runs is available", "select a run with its corpus here or with packed sentences"
            )
        return text, run

    def _find(self) -> None:
        text, run = self._text()
        self.work.start("scoring rare words", text.corpus.count(text.split), self._found(run, text))

    def _found(self, run: Run, text: Text) -> Iterator[None]:
        tables = []
        for batch, choices in choices_in_batches(system_of(run), text.corpus, text.split, batch_tokens=_BATCH_TOKENS):
            tables.append(choices)
            yield from [None] * len(batch)
        choices = pd.concat(tables).sort_values(["line", "position"], ignore_index=True)
        self.finding.say(choices_finding(choices))
        self.wrong.title = f"{run.label}, {text.name}: mispredicted rare words, and the largest effect: select one"
        self.wrong.show(
            error_table(choices), pieces=("right word", "preferred"), why="No rare word is mispredicted here."
        )

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


def logits_page(workspace: Workspace | None = None) -> LogitsPage:
    """Return the page."""
    return LogitsPage(workspace or Workspace.find())
