"""Comparing the translations of systems: scores, sentences won and lost, words and n-grams."""

from collections.abc import Collection, Sequence
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import Need
from nmtlab.analysis.access.texts import Text, by_title, texts
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.analysis.comparison.compared import Compared
from nmtlab.analysis.comparison.judging import Sheet
from nmtlab.analysis.comparison.outputs import output_statistics
from nmtlab.analysis.comparison.recipes import RECIPES, differing_settings
from nmtlab.analysis.comparison.sentence_scores import gains_figure, sentence_scores
from nmtlab.analysis.comparison.stored import seeds_of, stored_comparison
from nmtlab.analysis.comparison.words import (
    changed_lines,
    lines_with,
    word_accuracy,
    word_accuracy_figure,
    word_matches,
)
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.links import in_address
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Selection
from nmtlab.dashboards.frame.systems import left_out, of_one_pair
from nmtlab.dashboards.parts.compared import UNDERLINED, as_tokens, buckets, ngrams, numbers, sentences, tally
from nmtlab.dashboards.parts.judging import JudgingSheet
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, columns, offer, row
from nmtlab.dashboards.widgets.note import Note, heading
from nmtlab.dashboards.widgets.table import Table
from nmtlab.grids.results.score_differences import score_differences
from nmtlab.grids.results.summary import rounded
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

_TRANSLATIONS = Need(
    "no stored translations",
    "it has no stored translations",
    "make them with 'nmtlab evaluate'",
    lambda run: bool(run.notes.translations()),
)


def _in_address(runs: Sequence[Run], sentence: Sentence) -> dict[str, str] | None:
    """Return where a sentence is in the page's address; None if none of the runs has translated it."""
    text = sentence.text
    if text is None or sentence.line is None:
        return None
    translated = any(stored_translations(run, text.corpus, text.split) is not None for run in runs)
    return in_address(runs, sentence) if translated else None


PAGE = About(
    place=100,
    group="Sentences",
    title="Compare",
    question=(
        "Which system translates a text better, which sentences and words does it win or lose, and what do "
        "its errors look like?"
    ),
    name="compare",
    needs=(_TRANSLATIONS,),
    tokens={("target", True): "Which systems get it right?"},
    address=_in_address,
    illustrates=("test-bleu", "tokenized-test-bleu", "detokenized-test-bleu", "pivot-bleu"),
)

FIRST = ("small-tr-en.tied.s1", "small-tr-en.fixnorm-lex.s1")
_ALL = "all"


class ComparePage(Page):
    """The stored translations of a text by several systems; those of a pair side by side."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._texts: dict[str, Text] = {}
        self._compared: Compared | None = None
        self._firsts: dict[str, Run] = {}
        self._matches = self._scores = pd.DataFrame()
        none = "No run has stored translations yet: translate a text with 'nmtlab translate' or 'compare'."
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none=none)
        self.text = widgets.Dropdown(description="Text", options=[], layout={"width": "26em"})
        self.other = widgets.Dropdown(description="System", options=[], layout={"width": "30em"})
        self.than = widgets.Dropdown(description="against", options=[], layout={"width": "30em"})
        self.by = widgets.Dropdown(description="Words by", options=[])
        self.bucket = widgets.Dropdown(description="Only", options=[_ALL], layout={"width": "16em"})
        self.hint, self.wins = Note(), Note()
        self.numbers = Table("Scores, with 95 % intervals of the differences to the first system", height="16em")
        self.outputs = Table("What the translations look like", height="12em")
        self.recipes = Table(RECIPES, height="20em")
        self.gains, self.words = Chart(), Chart()
        self.ngrams = Table("N-grams that one generates more often: select one to see its lines", "one", "22em")
        self.lines = Table("Sentences: select one to see the words that differ", pick="one", height="26em")
        self.about_line, self.judging = Note(), JudgingSheet(self.guarded)
        self.selection = Selection(PAGE, (), (self.lines, self.ngrams))
        self.words.on_click(self._bar_clicked)
        self.gains.on_click(self._line_clicked)
        about = "Forget the chosen words and the chosen n-gram"
        clear = button("All sentences", self._forget, self.guarded, tooltip=about)
        state = {
            "runs": self.runs.table, "text": self.text, "system": self.other, "than": self.than, "by": self.by,
            "bucket": self.bucket, "ngram": self.ngrams, "line": self.lines,
            "selected": self.selection,
        }  # fmt: skip
        pair = {"runs", "text", "system", "than"}
        lines = pair | {"by", "bucket", "ngram"}
        sections = [
            Section(("runs",), (), self._offer_texts),
            Section(("runs", "text"), (self.hint, self.numbers, self.outputs, self.recipes), self._read),
            Section(pair, (self.gains, self.wins, self.ngrams, self.judging), self._show_pair),
            Section(pair | {"by"}, (self.words,), self._show_words),
            Section(lines, (self.lines,), self._show_lines),
            Section(lines | {"line"}, (self.about_line, self.selection), self._show_line),
        ]
        body = [
            self.hint, self.numbers, self.outputs,
            self.recipes, heading("Sentences and words"), self.wins, columns(self.gains, self.words),
            row(self.by, self.bucket, clear), self.lines, self.about_line, self.selection, self.ngrams,
            heading("Judge blindly"), self.judging,
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs, self.text, self.than, self.other], self.runs.refresh)

    def _offer_texts(self) -> None:
        """Offer the texts of which the first run's language pair has stored translations."""
        self._texts, chosen = {}, self.runs.chosen
        if chosen:
            able = of_one_pair(chosen)
            self._texts = by_title(text for run in able for text in texts(run, self._workspace) if _has(run, text))
            offer(self.text, tuple(self._texts))

    def _read(self) -> None:
        """Read the translations of the text, and compare all systems."""
        self._compared, chosen, text = None, self.runs.chosen, self._texts.get(self.text.value or "")
        if text is None:
            if chosen:
                self.hint.say("The texts that these runs have translated are not here.")
            return
        able = [run for run in of_one_pair(chosen, text.corpus.direction) if _has(run, text)]
        compared = stored_comparison(able, text)
        self._firsts = {name: group[0] for name, group in seeds_of(able).items()}
        self._scores, self._matches = sentence_scores(compared), word_matches(compared)
        self.numbers.show(numbers(score_differences(compared)))
        self.outputs.show(rounded(output_statistics(compared), 3))
        self.recipes.show(differing_settings([run.labelled(name) for name, run in self._firsts.items()]))
        names = list(compared.systems)
        offer(self.than, names)
        offer(self.other, names, otherwise=names[-1])
        offer(self.by, list(buckets(compared, self._matches)))
        self.hint.say(_about(compared, text, left_out(chosen, able)))
        self._compared = compared

    def _show_pair(self) -> None:
        compared, system, than = self._compared, self.other.value, self.than.value
        if compared is None:
            return
        self.gains.show(gains_figure(self._scores[system] - self._scores[than], system, than))
        self.wins.say(f"{tally(self._scores, system, than)} Select a bar or a line below to see its sentences.")
        self.ngrams.show(ngrams(compared, system, than))
        if system != than:
            folder = self._firsts[system].notes.folder / "judgements"
            self.judging.offer(Sheet(folder, compared, system, than))

    def _show_words(self) -> None:
        compared, by = self._compared, self.by.value
        if compared is None:
            return
        self._matches = buckets(compared, self._matches)[by]()
        pair = self._matches[self._matches["system"].isin([self.than.value, self.other.value])]
        accuracy = word_accuracy(pair)
        self.words.show(word_accuracy_figure(accuracy, by, self.text.value or ""))
        offer(self.bucket, [_ALL, *dict.fromkeys(accuracy["bucket"])])

    def _show_lines(self) -> None:
        compared, system, than = self._compared, self.other.value, self.than.value
        if compared is None:
            return
        self.lines.show(sentences(compared, self._scores, system, than, self._chosen_lines(compared)))
        if not self.lines.chosen:
            self.lines.choose(list(self.lines.frame.index[:1]))

    def _chosen_lines(self, compared: Compared) -> Collection[int]:
        """Return the lines with the chosen n-gram, or with words of the chosen bucket that one system alone has."""
        if self.ngrams.value is not None:
            ngram = self.ngrams.frame.loc[self.ngrams.value, "n-gram"]
            sides = [compared.words[name][0] for name in (self.than.value, self.other.value)]
            return {line for words in sides for line in lines_with(words, ngram)}
        if self.bucket.value == _ALL:
            return self._scores.index
        return changed_lines(self._matches, self.other.value, self.than.value, self.bucket.value)

    def _show_line(self) -> None:
        """Show the words of the selected line."""
        compared, line, system, than = self._compared, self.lines.value, self.other.value, self.than.value
        if compared is None or line is None:
            return
        gain = self._scores.loc[line, system] - self._scores.loc[line, than]
        self.about_line.say(f"Line {line}, difference {gain:+.1f}; {UNDERLINED}")
        where = Sentence(compared.source[line - 1], self.text.value, line, self._texts[self.text.value])
        self.selection.offer(self.runs.chosen, where, as_tokens(compared, line, (than, system)))

    def _bar_clicked(self, point: dict[str, Any]) -> None:
        self.ngrams.unpick()
        self.bucket.value = point["customdata"][0]

    def _line_clicked(self, point: dict[str, Any]) -> None:
        self.lines.choose([point["customdata"]])

    def _forget(self) -> None:
        self.ngrams.unpick()
        self.bucket.value = _ALL


def compare_page(workspace: Workspace | None = None) -> ComparePage:
    """Return the page."""
    return ComparePage(workspace or Workspace.find())


def _has(run: Run, text: Text) -> bool:
    return stored_translations(run, text.corpus, text.split) is not None


def _about(compared: Compared, text: Text, omitted: str) -> str:
    parts = [f"{len(compared.source):,} sentences of {text.name}.", omitted]
    unknown = "The training text is not here, so words cannot be ordered by their training frequency."
    parts.append(compared.frequency.about if compared.frequency else unknown)
    parts.append(
        "A word is right if the reference has it too, wherever it stands; of repeated words as many as both have."
    )
    return " ".join(part for part in parts if part)
