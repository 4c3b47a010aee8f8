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
    by_frequency,
    by_kind,
    by_length,
    changed_lines,
    lines_with,
    word_accuracy,
    word_accuracy_figure,
    word_matches,
)
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.links import in_address
from nmtlab.dashboards.frame.page import Note, Page, heading
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.selection import Selection
from nmtlab.dashboards.frame.systems import left_out, of_one_pair
from nmtlab.dashboards.parts.compared import UNDERLINED, as_tokens, ngrams, numbers, sentences, tally
from nmtlab.dashboards.parts.judging import JudgingSheet
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.columns import columns, row
from nmtlab.dashboards.widgets.table import Table
from nmtlab.experiments.results.score_differences import score_differences
from nmtlab.experiments.results.summary import rounded
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
    place=2,
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
FREQUENCY, KIND, LENGTH = "training frequency", "kind of word", "length of the sentence"
_ALL = "all"


class ComparePage(Page):
    """The stored translations of a text by several systems; those of a pair side by side."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._texts: dict[str, Text] = {}
        self._compared: Compared | None = None
        self._firsts: dict[str, Run] = {}
        self._matches = self._scores = pd.DataFrame()
        self.runs = RunChooser(workspace, needs=PAGE.needs, first=FIRST)
        self.text = widgets.Dropdown(description="Text", options=[], layout={"width": "26em"})
        self.other = widgets.Dropdown(description="System", options=[], layout={"width": "30em"})
        self.than = widgets.Dropdown(description="against", options=[], layout={"width": "30em"})
        self.by = widgets.Dropdown(description="Words by", options=[FREQUENCY, KIND, LENGTH])
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
        clear = widgets.Button(description="All sentences", tooltip="Forget the chosen words and the chosen n-gram")
        clear.on_click(lambda _: self._forget())
        state = {
            "runs": self.runs.table, "text": self.text, "system": self.other, "than": self.than, "by": self.by,
            "bucket": self.bucket, "ngram": self.ngrams, "line": self.lines,
            "selected": self.selection,
        }  # fmt: skip
        whole, pair = ("runs", "text"), ("runs", "text", "system", "than")
        parts = {
            **dict.fromkeys((self.hint, self.numbers, self.outputs, self.recipes), whole),
            **dict.fromkeys((self.gains, self.wins, self.ngrams, self.judging), pair),
            self.words: (*pair, "by"),
            self.lines: (*pair, "by", "bucket", "ngram"),
            **dict.fromkeys((self.about_line, self.selection), (*pair, "by", "bucket", "ngram", "line")),
        }
        body = [
            self.runs, row(self.text, self.than, self.other), self.hint, self.numbers, self.outputs,
            self.recipes, heading("Sentences and words"), self.wins, columns(self.gains, self.words),
            row(self.by, self.bucket, clear), self.lines, self.about_line, self.selection, self.ngrams,
            heading("Judge blindly"), self.judging,
        ]  # fmt: skip
        super().__init__(PAGE, state, self._answer, body, self.runs.refresh, parts)

    def _answer(self, changed: set[str]) -> None:
        if changed == {"selected"}:
            return
        chosen = self.runs.chosen
        if not chosen:
            none = "No run has stored translations yet: translate a text with 'nmtlab translate' or 'compare'."
            self.hint.say(self.runs.none_chosen(none))
            return
        if "runs" in changed:
            self._offer_texts(chosen)
        if changed & {"runs", "text"}:
            self._read(chosen)
        if self._compared is None:
            return
        if changed & {"runs", "text", "system", "than"}:
            self._show_pair(self._compared)
        if changed & {"runs", "text", "system", "than", "by"}:
            self._show_words(self._compared)
        if changed - {"line"}:
            self._show_lines(self._compared)
        self._show_marked(self._compared)

    def _offer_texts(self, runs: Sequence[Run]) -> None:
        """Offer the texts of which the first run's language pair has stored translations."""
        found = by_title(text for run in of_one_pair(runs) for text in texts(run, self._workspace) if _has(run, text))
        self._texts, before = found, self.text.value
        self.text.options = tuple(found)
        self.text.value = before if before in found else next(iter(found), None)

    def _read(self, chosen: Sequence[Run]) -> None:
        text = self._texts.get(self.text.value or "")
        if text is None:
            self._compared = None
            self.hint.say("The texts that these runs have translated are not here.")
            return
        able = [run for run in of_one_pair(chosen, text.corpus.direction) if _has(run, text)]
        self._compared = compared = stored_comparison(able, text)
        self._firsts = {name: group[0] for name, group in seeds_of(able).items()}
        self._scores, self._matches = sentence_scores(compared), word_matches(compared)
        self.numbers.show(numbers(score_differences(compared)))
        self.outputs.show(rounded(output_statistics(compared), 3))
        self.recipes.show(differing_settings([run.labelled(name) for name, run in self._firsts.items()]))
        names = list(compared.systems)
        _offer(self.than, names, names[0])
        _offer(self.other, names, names[-1])
        self.by.options = [FREQUENCY, KIND, LENGTH] if compared.counts else [KIND, LENGTH]
        self.hint.say(_about(compared, text, left_out(chosen, able)))

    def _show_pair(self, compared: Compared) -> None:
        system, than = self.other.value, self.than.value
        self.gains.show(gains_figure(self._scores[system] - self._scores[than], system, than))
        self.wins.say(f"{tally(self._scores, system, than)} Select a bar or a line below to see its sentences.")
        self.ngrams.show(ngrams(compared, system, than))
        if system != than:
            folder = self._firsts[system].notes.folder / "judgements"
            self.judging.offer(Sheet(folder, compared, system, than))

    def _show_words(self, compared: Compared) -> None:
        by = self.by.value
        buckets = {
            FREQUENCY: lambda: by_frequency(self._matches, compared.counts),
            KIND: lambda: by_kind(self._matches, compared.source_words, compared.names),
            LENGTH: lambda: by_length(self._matches, compared.reference_words),
        }
        self._matches = buckets[by]()
        pair = self._matches[self._matches["system"].isin([self.than.value, self.other.value])]
        accuracy = word_accuracy(pair)
        self.words.show(word_accuracy_figure(accuracy, by, self.text.value or ""))
        _offer(self.bucket, [_ALL, *dict.fromkeys(accuracy["bucket"])], _ALL)

    def _show_lines(self, compared: Compared) -> None:
        system, than = self.other.value, self.than.value
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

    def _show_marked(self, compared: Compared) -> None:
        """Show the words of the selected line."""
        line, system, than = self.lines.value, self.other.value, self.than.value
        if line is None:
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


def _offer(dropdown: widgets.Dropdown, names: Sequence[str], otherwise: str) -> None:
    """Offer names; the selected one stays selected if it is still offered."""
    before = dropdown.value
    dropdown.options = names
    dropdown.value = before if before in names else otherwise


def _about(compared: Compared, text: Text, omitted: str) -> str:
    parts = [f"{len(compared.source):,} sentences of {text.name}.", omitted]
    if not compared.counts:
        parts.append("The training text is not here, so words cannot be ordered by their training frequency.")
    parts.append(
        "A word is right if the reference has it too, wherever it stands; of repeated words as many as both have."
    )
    return " ".join(part for part in parts if part)
