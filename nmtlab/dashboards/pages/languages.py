"""Related languages: what a child has from its parent, and what a parent is worth (thesis 3.1)."""

from collections.abc import Iterator

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import NEURAL, Need, parent_of
from nmtlab.analysis.languages.cognates import COGNATE_NEIGHBOURS
from nmtlab.analysis.languages.movement import MOVEMENT
from nmtlab.analysis.languages.shared_words import TYPES_OF_PARENT, WORDS_OF_PARENT, kinds_finding
from nmtlab.analysis.states.neighbours import source_neighbours
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Selection
from nmtlab.dashboards.frame.systems import can_decode, system_of
from nmtlab.dashboards.frame.views import ViewSection, view_of
from nmtlab.dashboards.parts.relatives import OF_A_PARENT, Measured
from nmtlab.dashboards.widgets.controls import button, row, show_if
from nmtlab.dashboards.widgets.note import Note, html
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.figures.marks import Token
from nmtlab.figures.view import View
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.inheritance import Inheritance
from nmtlab.workspace import Workspace

_PARENT = Need("no parent here", "it has no parent that is here", "choose a run trained with --parent", MOVEMENT.fits)
PAGE = About(
    place=70,
    group="Why",
    title="Parent and child",
    question=(
        "What does a child take over from a parent in a related language, how far do its vectors move, and what is a "
        "relative worth? (thesis 3.1)"
    ),
    name="languages",
    needs=(NEURAL, _PARENT),
    most_runs=1,
    tokens=dict.fromkeys((("source", True), ("source", False)), "How far did its vector move from the parent's?"),
    illustrates=(TYPES_OF_PARENT,),
)

FIRST = ("child-gl-en.4000.transfer-bpe.related-parent.s1",)
_VECTORS = "how far the child's vectors move"
_NEIGHBOURS = 15
_MOST_WORDS = 500
_WORDS = (
    ("words that mean the same", "shared"),
    ("lookalikes with another meaning", "lookalike"),
    ("words not in the parent's text", "only here"),
    ("too rare to judge", "unclear"),
)
_COMPARE = "The words of both texts are not compared yet, which takes a minute or two."
_SEVERAL = "Runs of several directions are on the page <a href='many.ipynb'>Many languages</a>."


class LanguagesPage(Page):
    """What a child took over from its parent and how its vectors moved; over seeds, what a relative is worth."""

    def __init__(self, workspace: Workspace) -> None:
        none = "No run here has a parent: train one with 'nmtlab train CHILD --parent RUN'."
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, many=False, title="Children", none=none)
        wide = {"width": "100%"}
        self.figure = widgets.Dropdown(description="Figure", options=[_VECTORS, *OF_A_PARENT], layout=wide)
        self.measured = Measured(OF_A_PARENT, lambda: self.figure.value, ("figure",))
        self.movement = ViewSection(self._moved, ("runs", "figure"), "Median movement, by how often the type occurs")
        self.hint, self.taken = Note(), Table("What the child took over", height="12em")
        self.word = widgets.Text(
            description="Subword", continuous_update=False, placeholder="or click a point", layout=wide
        )
        self.neighbours = Table("Nearest source types", pick="one", height="22em")
        self.cognates = Table("Is the nearest word of the parent's language the translation?")
        self.kind = widgets.Dropdown(description="Show", options=_WORDS)
        self.find = button(
            "Compare the words of both texts", self._compare_words, self.guarded, layout={"width": "18em"}
        )
        self.words, self.said, self.work = Table("Words of the child's text", height="22em"), Note(), Work(self.guarded)
        self._workspace = workspace
        self.selection = Selection(PAGE, (self.movement.chart,), (self.words, self.neighbours))
        self.selection.follow_rows(self.neighbours, side="source")
        state = {
            "runs": self.runs.table, "figure": self.figure, "word": self.word, "kind": self.kind,
            "selected": self.selection,
        }  # fmt: skip
        sections = [
            Section(("word",), (), self._select_typed),  # before others change it: if a person did
            self.measured.section,
            self.movement,
            Section(("runs",), (self.hint, self.work), self._show_parent),
            Section(("runs", "figure"), (self.selection,), self._offer_types),
            Section(("runs",), (self.taken,), self._show_taken),
            Section(("runs",), (self.cognates,), self._show_cognates),
            Section(("runs", "kind"), (self.words, self.said), self._show_words),
            Section(("selected",), (), self._follow),
            Section(("runs", "word"), (self.neighbours,), self._show_neighbours),
        ]
        body = [
            self.measured, self.movement.answer, self.movement.chart, self.selection, self.hint,
            Fold("numbers", "The figure in numbers", self.movement.table, self.measured.section.table),
            Fold("taken", "What became of each part of the parent?", self.taken),
            Fold("near", "Which source types are nearest to a subword?", self.neighbours),
            Fold("cognates", "Does the child find the cognates of its words?", self.cognates),
            Fold(
                "words", "Which words does the parent's text have, and do they mean the same?",
                self.said, row(self.kind, self.find, self.work), self.words,
            ),
            html(_SEVERAL, "nmtlab-note"),
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs, self.figure, self.word], self.runs.refresh)

    @property
    def _child(self) -> Run | None:
        """The chosen run, if its parent is still here."""
        run = self.runs.first
        return run if run and _PARENT.met(run) else None

    @property
    def _inherited(self) -> Inheritance | None:
        facts = self._child.inheritance if self._child else None
        return Inheritance.of(facts) if facts else None

    def _moved(self) -> View | None:
        return view_of(MOVEMENT, self.runs.chosen) if self.figure.value == _VECTORS else None

    def _show_parent(self) -> None:
        """Say what the run has from its parent, if it has one."""
        if inherited := self._inherited:
            summary = inherited.summary()
            self.hint.say(f"{summary[0].upper()}{summary[1:]}.")

    def _offer_types(self) -> None:
        if len(self.movement.frame) and self._child:
            self.selection.offer([self._child], Sentence(), ())

    def _show_taken(self) -> None:
        if inherited := self._inherited:
            self.taken.show(_taken(inherited))

    def _select_typed(self) -> None:
        word = self.word.value.strip()
        self.selection.select(Token("source", None, word) if word else None)

    def _follow(self) -> None:
        token = self.selection.token
        if token and token.side == "source":
            self.word.value = token.word

    def _show_cognates(self) -> None:
        """Show a stored answer about an artificial language: of others, nobody knows the cognates."""
        if run := self._child:
            stored = COGNATE_NEIGHBOURS.any_stored(run)
            if stored is None:
                self.cognates.show(pd.DataFrame(), why="Known of artificial languages, and not measured of this run.")
            else:
                self.cognates.show(stored.round(3))

    def _show_words(self) -> None:
        if self._child is None:
            return
        lists = WORDS_OF_PARENT.any_stored(self._child)
        show_if(lists is None, self.find)
        self.said.say(_COMPARE if lists is None else kinds_finding(lists))
        if lists is not None:
            self.words.show(_of_kind(lists, self.kind.value))

    def _compare_words(self) -> None:
        for run in self.runs.chosen:
            self.work.start("aligning words ...", 1, self._compared(run))

    def _compared(self, run: Run) -> Iterator[None]:
        child, parent = (_corpus(one, self._workspace) for one in (run, parent_of(run)))
        WORDS_OF_PARENT.of(run, child=child, parent=parent)
        self._show_words()
        yield

    def _show_neighbours(self) -> None:
        run, word = self._child, self.word.value.strip()
        if run is None:
            return
        self.neighbours.title = f"Source types nearest to {word}" if word else "Nearest source types: type or click one"
        if not can_decode(run):
            self.neighbours.title = "Nearest source types: this run has no weights here"
            word = ""
        found = source_neighbours(system_of(run), word, _NEIGHBOURS) if word else pd.DataFrame()
        self.neighbours.show(found.round(3).rename(columns={"count": "times in the child's text"}))


def languages_page(workspace: Workspace | None = None) -> LanguagesPage:
    """Return the page."""
    return LanguagesPage(workspace or Workspace.find())


def _corpus(run: Run, workspace: Workspace) -> ParallelCorpus:
    named = run.recipe.corpus
    return ParallelCorpus.open(workspace.corpus_folder(named.name), named.source, named.target)


def _of_kind(lists: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the words of a kind: false friends by how much they differ, others by frequency."""
    some = lists[(lists["kind"] == kind) & ~lists["in_target"]]
    if kind == "lookalike":
        some = some.sort_values("agreement", kind="stable")
    names = {"count": "times here", "parent_count": "times in the parent's text", "parent_translation": "there"}
    columns = ["word", "count", "translation", "parent_count", "parent_translation", "agreement"]
    return some[columns].head(_MOST_WORDS).round(2).rename(columns=names).reset_index(drop=True)


def _taken(inheritance: Inheritance) -> pd.DataFrame:
    """Return what became of each part of the parent."""
    uses = {"tune": "copied, trained further", "freeze": "copied, frozen", "reset": "drawn anew"}
    rows: dict[str, dict[str, object]] = {}
    for one in inheritance.parameters:
        of_part = {"part": one.part.replace("_", " "), "parent's weights": uses[one.use]}
        kept = one.kept if one.types is not None and one.use != "reset" else None
        rows.setdefault(one.part, {**of_part, "types": one.types, "inherited types": kept})
    return pd.DataFrame(rows.values()).astype({"types": "Int64", "inherited types": "Int64"})
