"""Related languages: what a child has from its parent (thesis 3.1), and many languages in one model (4.2)."""

from collections.abc import Iterator

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import NEURAL, SEVERAL_DIRECTIONS, Need, parent_of
from nmtlab.analysis.languages.cognates import COGNATE_NEIGHBOURS
from nmtlab.analysis.languages.movement import MOVEMENT
from nmtlab.analysis.languages.shared_words import TYPES_OF_PARENT, WORDS_OF_PARENT, word_kinds
from nmtlab.analysis.states.neighbours import source_neighbours
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Selection
from nmtlab.dashboards.frame.systems import can_decode, system_of
from nmtlab.dashboards.frame.views import answers
from nmtlab.dashboards.parts.many_languages import ManyLanguages
from nmtlab.dashboards.parts.relatives import Measured
from nmtlab.dashboards.widgets.controls import button, columns, row, show_if
from nmtlab.dashboards.widgets.note import Note, heading
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.figures.marks import Token
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.inheritance import Inheritance
from nmtlab.workspace import Workspace

_PARENT = Need("no parent here", "it has no parent that is here", "choose a run trained with --parent", MOVEMENT.fits)
_RELATIVES = Need(
    "neither a parent nor several directions",
    "it has neither a parent nor several directions",
    "choose a run trained with --parent, or in several directions",
    lambda run: SEVERAL_DIRECTIONS.met(run) or MOVEMENT.fits(run),
)
PAGE = About(
    place=70,
    group="Why",
    title="Related languages",
    question=(
        "What does a parent in a related language give its child: which vectors are shared, how far do they "
        "move, and what is a relative worth? (thesis 3.1) How do many languages share one model? (thesis 4.2)"
    ),
    name="languages",
    needs=(NEURAL, _RELATIVES),
    most_runs=1,
    tokens=dict.fromkeys((("source", True), ("source", False)), "How far did its vector move from the parent's?"),
    token_needs=(NEURAL, _PARENT),
    illustrates=(TYPES_OF_PARENT,),
)

FIRST = ("child-gl-en.4000.transfer-bpe.related-parent.s1",)
_NEIGHBOURS = 15
_MOST_WORDS = 500
_WORDS = (
    ("words that mean the same", "shared"),
    ("lookalikes with another meaning", "lookalike"),
    ("words only here", "only here"),
    ("too rare to judge", "unclear"),
)


class LanguagesPage(Page):
    """What a child took over from its parent and how its vectors moved; what many languages share in one run."""

    def __init__(self, workspace: Workspace) -> None:
        title = "Children, and runs of several directions"
        none = (
            "No run here has a parent or several directions: train one with 'nmtlab train CHILD --parent RUN', or with "
            "'more_corpora' in its recipe."
        )
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, many=False, title=title, none=none)
        self.hint, self.taken = Note(), Table("What the child took over", height="12em")
        self.movement = answers(MOVEMENT, self.runs, "Median movement, by how often the type occurs")
        self.word = widgets.Text(description="Subword", continuous_update=False, placeholder="or click a point")
        self.neighbours = Table("Nearest source types", pick="one", height="22em")
        self.cognates = Table("Is the nearest word of the parent's language the translation?")
        self.kind = widgets.Dropdown(description="Show", options=_WORDS)
        wide = {"width": "18em"}
        self.find = button("Compare the words of both texts", self._compare_words, self.guarded, layout=wide)
        self.words, self.work = Table("Words of the child's text", height="22em"), Work(self.guarded)
        self.measured, self.many = Measured(), ManyLanguages(workspace, self.runs, self.guarded)
        self._workspace = workspace
        self.selection = Selection(PAGE, (self.movement.chart,), (self.words, self.neighbours))
        self.selection.follow_rows(self.neighbours, side="source")
        state = {
            "runs": self.runs.table, "word": self.word, "kind": self.kind, **self.measured.state,
            **self.many.state, "selected": self.selection,
        }  # fmt: skip
        sections = [
            Section(("word",), (), self._select_typed),  # before others change it: if a person did
            self.measured.section, *self.many.sections,
            Section(("runs",), (self.hint, self.taken, self.selection, self.work), self._show_run),
            self.movement,
            Section(("runs",), (self.cognates,), self._show_cognates),
            Section(("runs", "kind"), (self.words,), self._show_words),
            Section(("selected",), (), self._follow),
            Section(("runs", "word"), (self.neighbours,), self._show_neighbours),
        ]  # fmt: skip
        self.child = widgets.VBox(
            [
                self.taken, heading("How far do the vectors move while the child learns?"),
                self.movement.chart, self.selection,
                columns(self.movement.table, widgets.VBox([self.word, self.neighbours])), self.cognates,
                heading("Which words does the parent's text have, and do they mean the same?"),
                row(self.kind, self.find, self.work), self.words,
            ]
        )  # fmt: skip
        body = [
            self.hint, self.many, self.child, heading("What was measured over seeds"), self.measured,
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs], self.runs.refresh)

    @property
    def _child(self) -> Run | None:
        """The chosen run, if it has a parent."""
        run = self.runs.first
        return run if run and _PARENT.met(run) else None

    def _show_run(self) -> None:
        """Show what the run has from its parent, if it has one."""
        run, child = self.runs.first, self._child
        show_if(child or not run, self.child)
        if child:
            inheritance = Inheritance.of(child.inheritance)
            summary = inheritance.summary()
            self.hint.say(f"{summary[0].upper()}{summary[1:]}.")
            self.taken.show(_taken(inheritance))
            self.selection.offer([child], Sentence(), ())
        elif run:
            self.hint.say(f"Trained in {len(run.directions)} directions: {_named(run)}.")

    def _select_typed(self) -> None:
        word = self.word.value.strip()
        self.selection.select(Token("source", None, word) if word else None)

    def _follow(self) -> None:
        token = self.selection.token
        if token and token.side == "source":
            self.word.value = token.word

    def _show_cognates(self) -> None:
        """Show a stored answer about an artificial language: of others, nobody knows the cognates."""
        if (run := self._child) and (stored := COGNATE_NEIGHBOURS.any_stored(run)) is not None:
            self.cognates.show(stored.round(3))

    def _show_words(self) -> None:
        if self._child is None:
            return
        lists = WORDS_OF_PARENT.any_stored(self._child)
        show_if(lists is None, self.find)
        if lists is None:
            self.words.title = "Words of the child's text: not compared yet, which takes a minute or two"
            self.words.show(pd.DataFrame())
            return
        self.words.title = f"Words of the child's text: {_kinds(lists)}"
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


def _named(run: Run) -> str:
    return ", ".join(f"{source} to {target}" for source, target in run.directions)


def _kinds(lists: pd.DataFrame) -> str:
    counts = word_kinds(lists).set_index(["words", "kind"])["type_share"]["not in the target text"]
    return ", ".join(f"{kind} {share:.0%}" for kind, share in counts.items()) + " of the types that are not English"


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
    rows = {}
    for one in inheritance.parameters:
        of_part = {"part": one.part.replace("_", " "), "parent's weights": uses[one.use]}
        kept = one.kept if one.types is not None and one.use != "reset" else None
        rows.setdefault(one.part, {**of_part, "types": one.types, "types from the parent": kept})
    return pd.DataFrame(rows.values()).astype({"types": "Int64", "types from the parent": "Int64"})
