"""Comparing the translations of systems: scores, sentences won and lost, words and n-grams."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import Need
from nmtlab.analysis.access.texts import Text, by_title, texts
from nmtlab.analysis.comparison.compared import Compared
from nmtlab.analysis.comparison.judging import Sheet
from nmtlab.analysis.comparison.outputs import output_statistics
from nmtlab.analysis.comparison.recipes import RECIPES, differing_settings
from nmtlab.analysis.comparison.sentence_scores import (
    comparison_finding,
    gains_figure,
    scores_figure,
    sentence_scores,
)
from nmtlab.analysis.comparison.stored import sampled_translations, seeds_of, stored_comparison
from nmtlab.analysis.comparison.words import (
    changed_lines,
    lines_with,
    word_accuracy,
    word_accuracy_figure,
    word_accuracy_finding,
    word_matches,
)
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.links import in_address
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Selection
from nmtlab.dashboards.frame.systems import described_runs, left_out, of_one_pair
from nmtlab.dashboards.parts.compared import UNDERLINED, as_tokens, buckets, ngrams, numbers, sentences, tally
from nmtlab.dashboards.parts.judging import JudgingSheet
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, offer, row
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.figures.theme import with_subtitle
from nmtlab.figures.words import number
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
    translated = any(sampled_translations(run, text) is not None for run in runs)
    return {**in_address(runs, sentence), "open": "sentences"} if translated else None


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

FIRST = tuple(f"small-tr-en.{system}.s{seed}" for system in ("tied", "fixnorm-lex") for seed in (1, 2, 3))
_ALL = "all"
_UNKNOWN = "The training text is not here, so words cannot be ordered by their training frequency."
_RIGHT = "A word is right if the reference has it too, wherever it stands; of repeated words as many as both have."


class ComparePage(Page):
    """The stored translations of a text by several systems; those of a pair side by side."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._texts: dict[str, Text] = {}
        self._compared: Compared | None = None
        self._runs: dict[str, list[Run]] = {}
        self._matches = self._scores = pd.DataFrame()
        none = "No run has stored translations yet: translate a text with 'nmtlab translate' or 'compare'."
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none=none)
        self.other = widgets.Dropdown(description="System", options=[])
        self.than = widgets.Dropdown(description="against", options=[])
        self.text = widgets.Dropdown(description="on", options=[])
        self.by = widgets.Dropdown(description="Words by", options=[])
        self.bucket = widgets.Dropdown(description="Only", options=[_ALL], layout={"width": "16em"})
        self.answer, self.chart, self.hint = Answer(), Chart(), Note()
        self.numbers = Table("Scores, with 95 % intervals of the differences to the first system", height="16em")
        self.outputs = Table("What the translations look like", height="12em")
        self.recipes = Table(RECIPES, height="20em")
        self.wins, self.gains, self.finding, self.words = Note(), Chart(), Answer(), Chart()
        self.about_words = Note()
        self.ngrams = Table("N-grams one system overuses: select one to see its lines", "one", "22em")
        self.lines = Table("Sentences: select one to see the words that differ", pick="one", height="26em")
        self.about_line, self.judging = Note(), JudgingSheet(self.guarded)
        self.selection = Selection(PAGE, (), (self.lines, self.ngrams))
        self.words.on_click(self._bar_clicked)
        self.ngrams.observe(lambda change: self._open_lines(change["new"]), "value")
        for chart in (self.chart, self.gains):
            chart.on_click(self._line_clicked)
        about = "Forget the chosen words and the chosen n-gram"
        clear = button("All sentences", self._forget, self.guarded, tooltip=about)
        state = {
            "runs": self.runs.table, "text": self.text, "system": self.other, "than": self.than, "by": self.by,
            "bucket": self.bucket, "ngram": self.ngrams, "line": self.lines,
            "selected": self.selection,
        }  # fmt: skip
        texts, pair = {"runs", "text"}, {"runs", "text", "system", "than"}
        lines = pair | {"by", "bucket", "ngram"}
        sections = [
            Section(("runs",), (), self._offer_texts),
            Section(texts, (self.hint,), self._read),
            Section(pair, (self.answer, self.chart), self._answer),
            Section(texts | {"by"}, (), self._put_in_buckets),
            Section(pair, (self.ngrams,), self._show_ngrams),
            Section(lines, (), self._show_lines),  # in a closed fold, too: an address may ask for one
            Section(lines | {"line"}, (self.about_line, self.selection), self._show_line),
        ]
        self.of_lines = Fold(
            "sentences", "Which sentences are won and lost, and by which words?",
            row(self.bucket, clear), self.lines, self.about_line, self.selection,
        )  # fmt: skip
        body = [
            self.answer, self.chart, self.hint, self.of_lines,
            Fold("words", "Which words are right?", self.by,
                 Section(pair | {"by"}, (self.finding, self.words, self.about_words), self._show_words)),
            Fold("scores", "How large are the differences in BLEU and chrF, and how certain?",
                 Section(texts, (self.numbers,), self._show_numbers)),
            Fold("gains", "Are there a few large wins, or many small ones?",
                 Section(pair, (self.wins, self.gains), self._show_gains)),
            Fold("ngrams", "Which n-grams does one system overuse?", self.ngrams),
            Fold("outputs", "What do the translations look like?",
                 Section(texts, (self.outputs,), self._show_outputs)),
            Fold("settings", "In which settings do the systems differ?",
                 Section(texts, (self.recipes,), self._show_settings)),
            Fold("judge", "Judge blindly", Section(pair, (self.judging,), self._offer_sheet)),
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs, self.other, self.than, self.text], self.runs.refresh)

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
        self._runs = seeds_of(able)
        self._scores, self._matches = sentence_scores(compared), word_matches(compared)
        names = list(compared.systems)
        offer(self.than, names)
        offer(self.other, names, otherwise=names[-1])
        offer(self.by, list(buckets(compared, self._matches)))
        where = f"{len(compared.source):,} sentences of {text.name}; click a point to see its sentence."
        self.hint.say(f"{where} {left_out(chosen, able)}")
        self._compared = compared

    def _answer(self) -> None:
        compared, system, than = self._compared, self.other.value, self.than.value
        if compared is None:
            return
        pair = replace(compared, systems={name: compared.systems[name] for name in (than, system)})
        differences = score_differences(pair)
        bleu = differences[differences["metric"] == "BLEU"]
        self.answer.say(comparison_finding(self._scores, bleu, system, than))
        figure = scores_figure(self._scores, system, than)
        self.chart.show(with_subtitle(figure, self._subtitle(system, than)))

    def _subtitle(self, *systems: str) -> str:
        runs = [run for name in dict.fromkeys(systems) for run in self._runs[name]]
        return described_runs(runs, f"{len(self._scores):,} sentences of {self._texts[self.text.value].split}")

    def _show_numbers(self) -> None:
        if self._compared:
            self.numbers.show(numbers(score_differences(self._compared)))

    def _show_outputs(self) -> None:
        if self._compared:
            self.outputs.show(rounded(output_statistics(self._compared), 3))

    def _show_settings(self) -> None:
        if self._compared:
            found = differing_settings([runs[0].labelled(name) for name, runs in self._runs.items()])
            self.recipes.show(found, why="They differ in no setting.")

    def _show_gains(self) -> None:
        system, than = self.other.value, self.than.value
        if self._compared:
            self.wins.say(f"{tally(self._scores, system, than)} Select a point to see its sentence.")
            figure = gains_figure(self._scores[system] - self._scores[than], system, than)
            self.gains.show(with_subtitle(figure, self._subtitle(system, than)))

    def _show_ngrams(self) -> None:
        if self._compared:
            why = "Neither system has an n-gram more often than the other."
            self.ngrams.show(ngrams(self._compared, self.other.value, self.than.value), why=why)

    def _offer_sheet(self) -> None:
        compared, system, than = self._compared, self.other.value, self.than.value
        if compared and system != than:
            folder = self._runs[system][0].notes.folder / "judgements"
            self.judging.offer(Sheet(folder, compared, system, than))

    def _put_in_buckets(self) -> None:
        """Put the words of all systems into buckets, and offer those that have words."""
        if self._compared:
            self._matches = buckets(self._compared, self._matches)[self.by.value]()
            present = self._matches["bucket"].cat.remove_unused_categories().cat.categories
            offer(self.bucket, [_ALL, *present])

    def _show_words(self) -> None:
        by, pair = self.by.value, [self.than.value, self.other.value]
        if self._compared:
            accuracy = word_accuracy(self._matches[self._matches["system"].isin(pair)])
            self.finding.say(word_accuracy_finding(accuracy, by))
            self.words.show(
                with_subtitle(word_accuracy_figure(accuracy, by, " and ".join(pair)), self._subtitle(*pair))
            )
            seen = self._compared.frequency
            self.about_words.say(" ".join(filter(None, [seen.about if seen else _UNKNOWN, _RIGHT])))

    def _show_lines(self) -> None:
        compared, system, than = self._compared, self.other.value, self.than.value
        if compared is None:
            self.lines.clear()
            return
        found = sentences(compared, self._scores, system, than, self._chosen_lines(compared))
        self.lines.show(found, why="The two systems have the same words in every sentence.")
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
        self.about_line.say(f"Line {line}, difference {number(gain, 1, sign=True)}; {UNDERLINED}")
        where = Sentence(compared.source[line - 1], self.text.value, line, self._texts[self.text.value])
        self.selection.offer(self.runs.chosen, where, as_tokens(compared, line, (than, system)))

    def _open_lines(self, chosen: object) -> None:
        if chosen is not None:
            self.of_lines.opened = True

    def _bar_clicked(self, point: dict[str, Any]) -> None:
        self.ngrams.unpick()
        self.bucket.value, self.of_lines.opened = point["customdata"][0], True

    def _line_clicked(self, point: dict[str, Any]) -> None:
        self._forget()
        self.lines.choose([point["customdata"]])
        self.of_lines.opened = True

    def _forget(self) -> None:
        self.ngrams.unpick()
        self.bucket.value = _ALL


def compare_page(workspace: Workspace | None = None) -> ComparePage:
    """Return the page."""
    return ComparePage(workspace or Workspace.find())


def _has(run: Run, text: Text) -> bool:
    return sampled_translations(run, text) is not None
