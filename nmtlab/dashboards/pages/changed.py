"""What changed in a run that went on from another: before and after."""

from collections.abc import Iterator, Sequence

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import CONTINUED, DECODING, END, continued_from, unmet
from nmtlab.analysis.access.texts import Text, corpus_of
from nmtlab.analysis.access.translations import stored_translations, translations
from nmtlab.analysis.comparison.compared import Compared
from nmtlab.analysis.comparison.files import text_of_split
from nmtlab.analysis.comparison.stored import compared_lines
from nmtlab.analysis.comparison.words import (
    by_frequency,
    word_accuracy,
    word_accuracy_figure,
    word_accuracy_finding,
    word_matches,
)
from nmtlab.analysis.dynamics.divergence import DIVERGENCE, divergence_figure, divergence_finding, mean_divergence
from nmtlab.analysis.dynamics.weight_change import WEIGHT_CHANGE
from nmtlab.analysis.languages.moved_vectors import MOVED_VECTORS
from nmtlab.analysis.lexical.embedding_norms import NORMS_BY_FREQUENCY
from nmtlab.analysis.lexical.unseen_words import UNSEEN_WORDS
from nmtlab.analysis.lexical.word_changes import FEW, WORD_CHANGES
from nmtlab.analysis.search.calibration import CALIBRATION
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, error_rates
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import has_quick_gradients
from nmtlab.dashboards.frame.views import ViewSection, view_of
from nmtlab.dashboards.parts.calibration import errors_in_words
from nmtlab.dashboards.parts.compared import numbers
from nmtlab.dashboards.widgets.controls import button, row
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.errors import CorpusError, RunError
from nmtlab.figures.theme import with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import number
from nmtlab.grids.results.score_differences import score_differences
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

PAGE = About(
    place=75,
    group="Why",
    title="What changed?",
    question="What did a model gain and forget as it was trained further, and which parts of it changed?",
    name="changed",
    needs=(*DECODING, CONTINUED),
    most_runs=1,
)

_NONE = "No run here went on from another: train one with 'nmtlab train CORPUS --from RUN'."
_NO_TEXT = "Neither the text that the run went on with nor its parent's is here."
_NO_TRAINING_TEXT = "The training text is not here: its words cannot be counted."
_SEARCHED = 20
_METRICS = ("BLEU", "chrF")


class ChangedPage(Page):
    """A run that went on from another, beside that one: scores on both texts, weights, vectors, words, searches."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._both: Sequence[Run] = ()
        self._texts: Sequence[Text] = ()
        self._new: Text | None = None  # that which the run went on with
        self.runs = RunChooser(workspace, PAGE.needs, many=False, title="Runs that went on from another", none=_NONE)
        self.hint, self.answer, self.work = Note(), Answer(), Work(self.guarded)
        self.scores = Table("Scores before and after, with 95 % intervals of the differences over sentences")
        self.modules = ViewSection(lambda: self._of_child(WEIGHT_CHANGE), ("runs",), "By module", 3, _in_percent)
        self.side = widgets.ToggleButtons(description="Vectors", options=["source", "target"])
        self.moved = ViewSection(
            lambda: self._of_child(MOVED_VECTORS, side=self.side.value), ("runs", "side"), "Vectors that moved most", 2
        )
        self.words = ViewSection(
            lambda: self._on_new(WORD_CHANGES, self._both[1:]),
            ("runs",),
            "Words that gained and lost most over the text",
        )
        self.divergence = ViewSection(
            self._divergence, ("runs",), "KL divergence from the parent, in nats a token", 3, shown=_by_text
        )
        self.unseen = ViewSection(self._unseen, ("runs",), "Shares of unseen words", 3)
        self.calibration = ViewSection(
            lambda: self._on_new(CALIBRATION, self._both), ("runs",), "Calibration errors", shown=errors_in_words
        )
        self.norms = ViewSection(self._norms, ("runs",), "Rank correlation of norms with frequency")
        self.accuracy = ViewSection(self._accuracy, ("runs",), "F1 of words by how often they are in the new text", 3)
        self.search = button(
            f"Search {_SEARCHED} sentences exactly", self._search, self.guarded, layout={"width": "20em"}
        )
        self.found, self.searching = Table("Search errors and empty global bests, as shares"), Work(self.guarded)
        state = {"runs": self.runs.table, "side": self.side}
        sections = [
            Section(("runs",), (self.hint,), self._find),
            Section(("runs",), (self.answer, self.scores, self.work), self._score),
            self.modules,
            self.words,
            Section(("runs",), (self.found, self.searching), self._show_searched),
        ]
        body = [
            self.answer, self.work, self.hint, self.modules.answer, self.words.answer, self.modules.chart,
            Fold("scores", "What was gained on the new text, and what was forgotten of the old one?", self.scores),
            Fold("modules", "Which modules changed most, in numbers?", self.modules.table),
            Fold("words", "Which words became likelier, and where did attention move?",
                 self.words.chart, self.words.table),
            Fold("divergence", "How far did its predictions move, on each text?", self.divergence),
            Fold("unseen", "Which words of the new text had its parent never seen?", self.unseen),
            Fold("vectors", "Whose vectors and neighbours moved most?", self.side, self.moved),
            Fold("norms", "Do norms still follow frequency?", self.norms),
            Fold("frequency", "Which words are right, by how often they are in the new text?", self.accuracy),
            Fold("calibration", "Are its probabilities as right as before?", self.calibration),
            Fold("search", "Is the most probable translation missed, or empty, more often than before?",
                 row(self.search, self.searching), self.found),
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs], self.runs.refresh)

    def _find(self) -> None:
        """Find the parent of the chosen run, and the texts of both; say what is not here."""
        self._both, self._texts, self._new = (), (), None
        if (child := self.runs.first) is None:
            return
        try:
            self._both = [continued_from(child), child]
        except RunError as error:
            self.hint.say(str(error))
            return
        parent, direction = self._both[0], child.direction
        if not parent.translates(*direction):
            self.hint.say(f"{parent.name} does not translate {' to '.join(direction)}: no text shows both.")
            return
        old, self._new = map(self._text_of, self._both)
        self._texts = list({text.corpus.folder: text for text in (self._new, old) if text}.values())
        self.hint.say("" if self._texts else _NO_TEXT)

    def _text_of(self, run: Run) -> Text | None:
        """Return the test part of a run's text, or else the sentences packed with it; None if neither is here."""
        direction = self._both[1].direction
        try:
            corpus = corpus_of(run.directed(*direction), self._workspace)
        except (CorpusError, RunError):
            corpus = None  # an imported model's text is unknown
        if corpus and "test" in corpus.splits:
            return Text(corpus, "test", False)
        packed = run.sentences
        return Text(packed, "dev", True) if packed and packed.direction == direction else None

    def _of_child(self, analysis: Analysis, **arguments: object) -> View | None:
        return view_of(analysis, self._both[1:], "", **arguments)

    def _score(self) -> None:
        """Show the scores of stored translations, and make those that are not stored yet."""
        if not self._both:
            self.answer.say("" if self.runs.first else _NONE)
            return
        missing = [
            (run, text) for text in self._texts for run in self._both
            if stored_translations(run, text.corpus, text.split) is None
        ]  # fmt: skip
        self._show_scores()
        if missing and has_quick_gradients(self._both[1]):
            self.work.start("translating both texts", len(missing), self._translated(missing))

    def _translated(self, missing: Sequence[tuple[Run, Text]]) -> Iterator[None]:
        for run, text in missing:
            translations(run, text.corpus, text.split)
            self._show_scores()
            yield
        self.accuracy.show()

    def _show_scores(self) -> None:
        found = {text.name: self._differences(text) for text in self._texts}
        known = [scores.assign(text=name) for name, scores in found.items() if scores is not None]
        said = [_difference(scores) for scores in known]
        self.answer.say("; ".join(said) + "." if said else "Not scored yet.")
        if known:
            tables = [numbers(one).assign(text=one["text"]) for one in known]
            table = pd.concat(tables, ignore_index=True)
            self.scores.show(table[["text", *table.columns.drop("text")]])

    def _differences(self, text: Text) -> pd.DataFrame | None:
        """Return the scores of parent and child on a text; None unless both have translated it."""
        compared = self._compared(text)
        return None if compared is None else score_differences(compared, _METRICS)

    def _compared(self, text: Text) -> Compared | None:
        """Return the translations of a text by parent and child, called by their names; None unless both have any."""
        stored = {run.name: stored_translations(run, text.corpus, text.split) for run in self._both}
        lines = {name: made for name, made in stored.items() if made is not None}
        if len(lines) < len(self._both):
            return None
        return compared_lines(lines, {}, text_of_split(text.corpus, text.split), text.corpus)

    def _on_new(self, analysis: Analysis, runs: Sequence[Run]) -> View | None:
        """Return what an analysis finds of some runs on a sample of the new text, if that is here."""
        if (new := self._new) is None:
            return None
        of = f"{FEW} sentences of {new.name}, at most"
        return view_of(analysis, runs, of, corpus=new.corpus, split=new.split, sample=FEW)

    def _divergence(self) -> View | None:
        if not self._texts or not DIVERGENCE.fits(child := self._both[1]):
            return None
        found = [
            DIVERGENCE.of(child, parent=self._both[0], corpus=text.corpus, split=text.split, sample=FEW).assign(
                run=text.name
            )
            for text in self._texts
        ]
        table = pd.concat(found, ignore_index=True)
        figure = with_subtitle(divergence_figure(table), f"{child.label}, at most {FEW} sentences of each text")
        return View(mean_divergence(table), figure, finding=divergence_finding(table))

    def _unseen(self) -> View | None:
        if (new := self._new) is None or new.packed:
            self.unseen.answer.say(_NO_TRAINING_TEXT * bool(new))
            return None
        try:
            return view_of(UNSEEN_WORDS, self._both[1:], new.name, corpus=new.corpus)
        except RunError as error:
            self.unseen.answer.say(str(error))
            return None

    def _norms(self) -> View | None:
        return view_of(NORMS_BY_FREQUENCY, self._both)

    def _accuracy(self) -> View | None:
        new = self._new
        compared = None if new is None else self._compared(new)
        if new is None or compared is None or not compared.counts:
            return None
        axis, found = "training frequency", word_accuracy(by_frequency(word_matches(compared), compared.counts))
        return View(found, word_accuracy_figure(found, axis, new.name), finding=word_accuracy_finding(found, axis))

    def _search(self) -> None:
        """Search a sample of the new text exactly with both."""
        self.tell("")
        if (new := self._new) is None:
            raise CorpusError("the text that the run went on with is not here", "open a workspace that has it")
        ending = [run for run in self._both if unmet(run, (END,)) is None]
        self.searching.start("searching exactly", _SEARCHED * len(ending), self._searched(ending, new))

    def _searched(self, runs: Sequence[Run], text: Text) -> Iterator[int]:
        for run in runs:
            yield from SEARCH_ERRORS.steps(run, corpus=text.corpus, split=text.split, sample=_SEARCHED)
        self._show_searched()

    def _show_searched(self) -> None:
        new = self._new
        asked = {"corpus": new.corpus, "split": new.split, "sample": _SEARCHED} if new else {}
        answers = {run.label: SEARCH_ERRORS.stored(run, **asked) for run in self._both if new}
        rates = {label: error_rates(found) for label, found in answers.items() if found is not None}
        if rates:
            table = pd.DataFrame(rates).T.round(3).rename_axis("run").reset_index()
            self.found.show(table.rename(columns=lambda name: name.replace("_", " ")))


def changed_page(workspace: Workspace | None = None) -> ChangedPage:
    """Return the page."""
    return ChangedPage(workspace or Workspace.find())


def _difference(scores: pd.DataFrame) -> str:
    """Return what was gained on a text, from rows of `score_differences` with a column `text`."""
    _, child = scores[scores["metric"] == "BLEU"].itertuples()
    if child.difference == 0:
        return f"as many BLEU as before on {child.text}"
    ends = " to ".join(number(end, 1, sign=True) for end in (child.low, child.high))
    return f"{number(child.difference, 1, sign=True)} BLEU on {child.text} (95 %: {ends})"


def _by_text(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns={"run": "text", "divergence": "mean", "same": "same most probable token"})


def _in_percent(table: pd.DataFrame) -> pd.DataFrame:
    shown = table.assign(relative=100 * table["relative"])
    return shown.rename(columns={"relative": "change (% of the norm)", "effective_rank": "effective rank"})
