"""Correcting one sentence of a document, and seeing how the following ones change."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.findings import legible
from nmtlab.analysis.access.needs import ALONE, DECODING
from nmtlab.analysis.access.texts import Text, by_title, texts
from nmtlab.analysis.comparison.constrained import CONSTRAINED
from nmtlab.analysis.comparison.documents import ADAPTATION, adaptation_table, gain_figure
from nmtlab.analysis.comparison.sentence_scores import marked
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.examples import example
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.sentences import MAX_LETTERS
from nmtlab.dashboards.frame.systems import described_runs, system_of
from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.widgets.controls import button, offer, row
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import readable, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import number
from nmtlab.runs.answers import StoredAnswer
from nmtlab.runs.run import Run
from nmtlab.text.corpora.lines import is_blank, one_line
from nmtlab.text.segmentation.tokenizers import Words
from nmtlab.training.online import OnlineModel
from nmtlab.translation import Translator
from nmtlab.workspace import Workspace

PAGE = About(
    place=115,
    group="Sentences",
    title="Correct and go on",
    question="If you correct the translation of one sentence, how do those of the following sentences change?",
    name="correct",
    needs=(*DECODING, ALONE),
    most_runs=1,
    illustrates=(ADAPTATION, CONSTRAINED),
)

FIRST = ("small-tr-en.tied.s1", "small-tr-en.fixnorm-lex.s1")
_MAX_LINES = 20
_MAX_DOCUMENTS = 100
_RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_HOW = (
    "Select a sentence, correct its translation and press the button: a copy of the system makes a few steps of SGD on "
    "your correction and translates the following sentences again. The run itself stays as it is."
)


class Document(NamedTuple):
    """The sentences of a document, and their references, if it is from a text."""

    sources: list[str]
    references: list[str]


class Changed(Note):
    """Translations that a correction has changed, before and after."""

    def show(self, changes: Mapping[int, tuple[str, str]], language: str) -> None:
        """Show the translations before and after of some lines, the words marked that the other one does not have."""
        split = Words(language).split
        rows = []
        for line, texts_of_line in changes.items():
            before, after = map(split, texts_of_line)
            for name, words, others in ((f"{line} before", before, after), ("after", after, before)):
                rows.append(f"<tr><th>{name}</th><td dir='auto'>{_marked(words, others)}</td></tr>")
        caption = "Marked: words that the translation before, or after, does not have"
        self.value = f"<table class='nmtlab-marked'><caption>{caption}</caption>{''.join(rows)}</table>"
        self.layout.display, self.fresh = "", True


class CorrectPage(Page):
    """A document and its translations; those after a corrected sentence are made anew by the adapted model."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._documents: dict[str, Document] = {}
        self._shown, self._corrected = Document([], []), dict[int, str]()
        self._begun: tuple[object, ...] | None = None
        self._translations: list[str] = []
        self._model: OnlineModel | None = None
        none = "No run with weights yet: train one on the page Train."
        wide = {"width": "100%"}
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, many=False, none=none)
        self.document = widgets.Dropdown(description="Document", options=[], layout=wide)
        self.typed = widgets.Textarea(
            placeholder="Or paste a document, one sentence per line, and click outside the box",
            continuous_update=False,
            rows=5,
            layout=wide,
        )
        self.rate = widgets.Dropdown(description="Rate", options=_RATES, value=0.03, layout=wide)
        self.epochs = widgets.IntSlider(description="Steps", value=5, min=1, max=20)
        self.correction = widgets.Textarea(
            placeholder="The right translation of the selected sentence", rows=2, layout=wide
        )
        self.answer, self.changed, self.hint = Answer(), Changed(), Note()
        self.table = Table("Translations: select the one to correct", pick="one", height="24em")
        go_on = button("Correct and go on", self._correct, self.guarded, button_style="primary")
        self.take = button("Take the reference", self._take, self.guarded)
        reset = button("Reset", self._forget, self.guarded, tooltip="Forget all corrections")
        state = {
            "runs": self.runs.table, "document": self.document, "text": self.typed, "rate": self.rate,
            "epochs": self.epochs, "line": self.table,
        }  # fmt: skip
        text = ("runs", "document", "text")
        whole = ViewSection(self._stored, ("runs",), "BLEU of whole texts")
        sections = [
            Section(("runs",), (), self._offer),
            Section(text, (self.answer, self.changed, self.hint, self.table), self._begin),
            Section((*text, "line"), (), self._select),
        ]
        body = [
            self.answer, self.table, self.correction, row(go_on, self.take, reset), self.changed, self.hint,
            Fold("whole", "What do corrections teach over whole texts? (nmtlab adapt)", whole),
        ]  # fmt: skip
        rail = [self.runs, self.document, self.typed, self.rate, self.epochs]
        super().__init__(PAGE, state, sections, body, rail, self.runs.refresh)

    def _offer(self) -> None:
        """Offer the documents of the run's texts."""
        run = self.runs.first
        found = by_title(texts(run, self._workspace)) if run else {}
        self._documents = {title: one for name, text in found.items() for title, one in _documents(name, text).items()}
        offer(self.document, tuple(self._documents))

    def _chosen(self, run: Run) -> Document:
        """Return the document that is typed, or else chosen, or else an example."""
        typed = [line[:MAX_LETTERS] for line in self.typed.value.splitlines() if not is_blank(line)]
        if typed:
            return Document(typed[:_MAX_LINES], [])
        if self.document.value:
            return self._documents[self.document.value]
        return Document(list(filter(None, [example(run, self._workspace)])), [])

    def _begin(self) -> None:
        """Begin with the chosen document and run, or go on if they are the ones that are shown."""
        run = self.runs.first
        shown = self._chosen(run) if run else Document([], [])
        begun = (run.checkpoints.digest, run.direction, shown) if run else None
        if begun is None or begun != self._begun:
            self._begun, self._shown = begun, shown
            self._forget()

    def _forget(self) -> None:
        """Forget all corrections: translate the document with the run's model."""
        self._corrected, self._translations, self._model = {}, [], None
        self.changed.clear()
        if not self.runs.first or not self._shown.sources:
            self.answer.say("Type the sentences of a document." if self.runs.first else "Select a run with weights.")
            return
        self._translations = _translated(system_of(self.runs.first), self._shown.sources)
        self.answer.say(f"{len(self._translations)} sentences, not adapted yet. {_HOW}")
        self.hint.say(f"At most {_MAX_LINES} sentences are translated." if self._is_cut else "")
        self._list()
        if not self.table.chosen:
            self.table.choose([1])

    @property
    def _is_cut(self) -> bool:
        return len(self._shown.sources) > _MAX_LINES

    def _list(self) -> None:
        lines = range(1, len(self._translations) + 1)
        table = {
            "line": lines,
            "source": self._shown.sources,
            "translation": [legible(text) for text in self._translations],
            "corrected": ["yes" if line in self._corrected else "" for line in lines],
        }
        self.table.show(pd.DataFrame(table, index=list(lines)))

    def _select(self) -> None:
        """Write the translation of the selected sentence into the box."""
        line = self.table.value
        self.correction.value = self._translations[line - 1] if line and self._translations else ""
        self.take.disabled = not self._shown.references

    def _take(self) -> None:
        if self.table.value and self._shown.references:
            self.correction.value = self._shown.references[self.table.value - 1]

    def _correct(self) -> None:
        """Learn the correction of the selected sentence, and translate those after it again."""
        self.tell("")
        line, correction, run = self.table.value, one_line(self.correction.value), self.runs.first
        if not run or not line:
            raise NmtlabError("no sentence is selected", "select the one to correct")
        if is_blank(correction):
            raise NmtlabError("the correction is blank", "write the right translation into the box")
        model = self._model = self._model or OnlineModel(system_of(run), run.recipe)
        pair = [(self._shown.sources[line - 1], correction)]
        before = model.log_probs(pair).item()
        model.learn(pair, self.rate.value, self.epochs.value)
        after = model.log_probs(pair).item()
        old, new = self._translations[line:], _translated(model.translator, self._shown.sources[line:])
        self._corrected[line] = correction
        kept = [self._corrected.get(place, text) for place, text in enumerate(new, start=line + 1)]
        self._translations[line - 1 :] = [correction, *kept]
        both = enumerate(zip(old, kept, strict=True), start=line + 1)
        changes = {place: texts_of_line for place, texts_of_line in both if len(set(texts_of_line)) > 1}
        self.changed.show(changes, run.direction[1]) if changes else self.changed.clear()
        self.answer.say(_said(line, len(new), len(changes), before, after))
        self._list()
        self.table.choose([min(line + 1, len(self._translations))])

    def _stored(self) -> View | None:
        """Show all stored adaptations of the run to whole texts, by their settings."""
        answers = ADAPTATION.answers(self.runs.first) if self.runs.first else []
        if not answers:
            return None
        found = pd.concat([one.frame().assign(run=_settings(one)) for one in answers])
        figure = with_subtitle(gain_figure(found), described_runs(self.runs.chosen))
        return View(adaptation_table(found), figure, finding=ADAPTATION.finding(found))


def correct_page(workspace: Workspace | None = None) -> CorrectPage:
    """Return the page."""
    return CorrectPage(workspace or Workspace.find())


def _translated(system: Translator, sources: Sequence[str]) -> list[str]:
    return [one.text for one in system.translate(sources)] if sources else []


def _documents(name: str, text: Text) -> dict[str, Document]:
    """Return the beginnings of the documents of a text by a title for each; of one without documents, its beginning."""
    ids = text.corpus.documents(text.split) if text.corpus.has_documents(text.split) else []
    found: dict[str, Document] = {}
    for place, (source, reference) in enumerate(text.corpus.pairs(text.split)):
        title = f"{name}: {ids[place]}" if ids else f"{name}, the first {_MAX_LINES} sentences"
        if title not in found and len(found) == (_MAX_DOCUMENTS if ids else 1):
            continue
        one = found.setdefault(title, Document([], []))
        if len(one.sources) < _MAX_LINES:
            one.sources.append(source)
            one.references.append(reference)
    return found


def _settings(answer: StoredAnswer) -> str:
    """Return the text and the settings of a stored adaptation, in words."""
    arguments = answer.question.arguments
    entries = arguments["dictionary"]
    words = f", dictionary of {len(entries)}" if isinstance(entries, list) and entries else ""
    of_words = f" at {arguments['dictionary_learning_rate']:g}, {arguments['dictionary_epochs']} steps" if words else ""
    text = f"{arguments['corpus']['languages']} {arguments['split']}, {len(answer.frame()):,} sentences"
    return f"{text}: rate {arguments['learning_rate']:g}, {arguments['epochs']} steps{words}{of_words}"


def _said(line: int, following: int, changes: int, before: float, after: float) -> str:
    """Say how many of the following translations a correction has changed, and how probable it has become."""
    followed = f"{changes} of the {following} following sentences changed" if following else "no sentence follows"
    chances = f"log p of the correction went from {number(before, 1)} to {number(after, 1)}"
    return f"Line {line} is corrected: {followed}; {chances}."


def _marked(words: Sequence[str], others: Sequence[str]) -> str:
    """Return words as markup, those marked that the others do not have."""
    shown = map(escape, readable(words))
    both = zip(shown, marked(words, others), strict=True)
    return " ".join(word if one.shared else f"<mark>{word}</mark>" for word, one in both) or escape(legible(""))
