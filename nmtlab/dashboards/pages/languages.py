"""Related languages: what a child has from its parent (thesis 3.1), and many languages in one model (4.2)."""

from collections.abc import Iterator

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import NEURAL, SEVERAL_DIRECTIONS, Need, parent_of, unmet
from nmtlab.analysis.languages.cognates import COGNATE_NEIGHBOURS
from nmtlab.analysis.languages.movement import MOVEMENT
from nmtlab.analysis.languages.shared_words import TYPES_OF_PARENT, WORDS_OF_PARENT, word_kinds
from nmtlab.analysis.states.neighbours import source_neighbours
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.page import Note, Page, heading
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.selection import Selection
from nmtlab.dashboards.frame.systems import can_decode, system_of
from nmtlab.dashboards.parts.many_languages import ManyLanguages
from nmtlab.dashboards.parts.relatives import Measured
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.columns import columns, row
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
    place=8,
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
        self.runs = RunChooser(workspace, needs=PAGE.needs, first=FIRST, many=False, title=title)
        self.hint, self.taken = Note(), Table("What the child took over", height="12em")
        self.moved, self.medians = Chart(), Table("Median movement, by how often the type occurs")
        self.word = widgets.Text(description="Subword", continuous_update=False, placeholder="or click a point")
        self.neighbours = Table("Nearest source types", pick="one", height="22em")
        self.cognates = Table("Is the nearest word of the parent's language the translation?")
        self.kind = widgets.Dropdown(description="Show", options=_WORDS)
        self.find = widgets.Button(description="Compare the words of both texts", layout={"width": "18em"})
        self.words, self.work = Table("Words of the child's text", height="22em"), Work(self.guarded)
        self.measured, self.many = Measured(), ManyLanguages(workspace, self.guarded)
        self._workspace = workspace
        self.find.on_click(lambda _: self._compare_words())
        self.selection = Selection(PAGE, (self.moved,), (self.words, self.neighbours))
        self.selection.follow_rows(self.neighbours, side="source")
        state = {
            "runs": self.runs.table, "word": self.word, "kind": self.kind, "figure": self.measured.figure,
            **self.many.state, "selected": self.selection,
        }  # fmt: skip
        parts = {
            **dict.fromkeys((self.taken, self.moved, self.medians, self.cognates), ("runs",)),
            self.hint: ("runs", "word"),
            self.neighbours: ("runs", "word", "selected"),
            self.selection: ("runs",),
            self.words: ("runs", "kind"),
            self.work: ("runs",),
            **self.many.parts,
        }
        self.child = widgets.VBox(
            [
                self.taken, heading("How far do the vectors move while the child learns?"),
                self.moved, self.selection,
                columns(self.medians, widgets.VBox([self.word, self.neighbours])), self.cognates,
                heading("Which words does the parent's text have, and do they mean the same?"),
                row(self.kind, self.find, self.work), self.words,
            ]
        )  # fmt: skip
        body = [
            self.runs, self.hint, self.many, self.child, heading("What was measured over seeds"), self.measured,
        ]  # fmt: skip
        super().__init__(PAGE, state, self._answer, body, self.runs.refresh, parts)

    def _answer(self, changed: set[str]) -> None:
        if "figure" in changed:
            self.measured.show()
        run = next(iter(self.runs.chosen), None)
        self.many.show(run if run and unmet(run, (NEURAL, SEVERAL_DIRECTIONS)) is None else None, changed)
        is_child = run is not None and _PARENT.met(run)
        self.child.layout.display = "" if is_child or run is None else "none"
        if run is None:
            self.hint.say(
                "No run here has a parent or several directions: train one with 'nmtlab train CHILD --parent RUN', or "
                "with 'more_corpora' in its recipe."
            )
        elif is_child:
            self._show_child(run, changed)
        else:
            self.hint.say(f"Trained in {len(run.directions)} directions: {_named(run)}.")

    def _show_child(self, run: Run, changed: set[str]) -> None:
        inheritance = Inheritance.of(run.inheritance)
        summary = inheritance.summary()
        self.hint.say(f"{summary[0].upper()}{summary[1:]}.")
        if "runs" in changed:
            view = MOVEMENT.view(run)
            self.taken.show(_taken(inheritance))
            self.moved.show(view.figure)
            self.selection.offer([run], Sentence(), ())
            self.medians.show(view.frame.round(2))
            self._show_cognates(run)
        if changed & {"runs", "kind"}:
            self._show_words(run)
        self._follow(changed)
        if changed & {"runs", "word", "selected"}:
            self._show_neighbours(run)  # last, since it fails for unknown words

    def _follow(self, changed: set[str]) -> None:
        """Select the subword that was typed, or show the selected one."""
        token, word = self.selection.token, self.word.value.strip()
        if changed == {"word"}:
            self.selection.select(Token("source", None, word) if word else None)
        elif "selected" in changed and token and token.side == "source":
            self.word.value = token.word

    def _show_cognates(self, run: Run) -> None:
        """Show a stored answer about an artificial language: of others, nobody knows the cognates."""
        stored = COGNATE_NEIGHBOURS.any_stored(run)
        self.cognates.layout.display = "none" if stored is None else ""
        if stored is not None:
            self.cognates.show(stored.round(3))

    def _show_words(self, run: Run) -> None:
        lists = WORDS_OF_PARENT.any_stored(run)
        self.find.layout.display = "" if lists is None else "none"
        if lists is None:
            self.words.title = "Words of the child's text: not compared yet, which takes a minute or two"
            self.words.show(pd.DataFrame())
            return
        self.words.title = f"Words of the child's text: {_kinds(lists)}"
        self.words.show(_of_kind(lists, self.kind.value))

    def _compare_words(self) -> None:
        with self.guarded():
            for run in self.runs.chosen:
                self.work.start("aligning words ...", 1, self._compared(run))

    def _compared(self, run: Run) -> Iterator[None]:
        child, parent = (_corpus(one, self._workspace) for one in (run, parent_of(run)))
        WORDS_OF_PARENT.of(run, child=child, parent=parent)
        self._show_words(run)
        yield

    def _show_neighbours(self, run: Run) -> None:
        word = self.word.value.strip()
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
