"""Comparing the translations of systems: scores, sentences won and lost, words and n-grams."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import Need
from nmtlab.analysis.access.texts import Text, by_title, texts
from nmtlab.analysis.comparison.compared import Compared, Given
from nmtlab.analysis.comparison.files import labels_of, segment_scores
from nmtlab.analysis.comparison.judging import Sheet
from nmtlab.analysis.comparison.outputs import output_statistics
from nmtlab.analysis.comparison.recipes import RECIPES, differing_settings
from nmtlab.analysis.comparison.sentence_scores import (
    CHRF,
    Scale,
    comparison_finding,
    gains_figure,
    scales,
    scores_figure,
    sentence_scores,
)
from nmtlab.analysis.comparison.stored import sampled_translations, seeds_of, stored_comparison
from nmtlab.analysis.comparison.words import (
    changed_lines,
    line_buckets,
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
from nmtlab.dashboards.parts.compared import (
    SCORES,
    UNDERLINED,
    as_tokens,
    buckets,
    ngrams,
    numbers,
    numbers_by,
    sentences,
    tally,
)
from nmtlab.dashboards.parts.judging import JudgingSheet
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, offer, row, show_if
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.figures.theme import with_subtitle
from nmtlab.figures.words import number
from nmtlab.grids.results.score_differences import score_differences, scores_by
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
_ELSEWHERE = (
    "Scores by another metric or a person: a table with tabs between its columns, one for each run, by its name, and a "
    "line for each sentence. Labels: a file with one for each sentence."
)
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
        self.scale = widgets.Dropdown(description="by", options=[CHRF.metric])
        self.numbers = Table(SCORES, height="16em")
        self.outputs = Table("What the translations look like", height="12em")
        self.recipes = Table(RECIPES, height="20em")
        self.wins, self.gains, self.finding, self.words = Note(), Chart(), Answer(), Chart()
        self.about_words, self.by_lines = Note(), Table("Scores of the sentences in each bucket", height="20em")
        self.scores_file = widgets.FileUpload(accept=".tsv,.json", description="Scores")
        self.labels_file = widgets.FileUpload(description="Labels")
        self.lower = widgets.Checkbox(description="Lower scores are better", indent=False)
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
        for chooser, read in ((self.scores_file, self._read_scores), (self.labels_file, self._read_labels)):
            chooser.observe(lambda change, read=read: self._uploaded(change["new"], read), "value")
        self.lower.observe(lambda _: self._uploaded(self.scores_file.value, self._read_scores), "value")
        state = {
            "runs": self.runs.table, "text": self.text, "scale": self.scale, "system": self.other, "than": self.than,
            "by": self.by, "bucket": self.bucket, "ngram": self.ngrams, "line": self.lines,
            "selected": self.selection,
        }  # fmt: skip
        texts, pair = {"runs", "text"}, {"runs", "text", "scale", "system", "than"}
        lines = pair | {"by", "bucket", "ngram"}
        sections = [
            Section(("runs",), (), self._offer_texts),
            Section(texts, (self.hint,), self._read),
            Section(texts | {"scale"}, (), self._score),
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
                 Section(pair | {"by"}, (self.finding, self.words, self.about_words), self._show_words),
                 Section(pair | {"by"}, (self.by_lines,), self._show_by_lines)),
            Fold("scores", "How large are the differences in BLEU and chrF, and how certain?",
                 Section(texts | {"scale"}, (self.numbers,), self._show_numbers)),
            Fold("gains", "Are there a few large wins, or many small ones?",
                 Section(pair, (self.wins, self.gains), self._show_gains)),
            Fold("ngrams", "Which n-grams does one system overuse?", self.ngrams),
            Fold("outputs", "What do the translations look like?",
                 Section(texts, (self.outputs,), self._show_outputs)),
            Fold("settings", "In which settings do the systems differ?",
                 Section(texts, (self.recipes,), self._show_settings)),
            Fold("elsewhere", "What do scores or labels from elsewhere say?",
                 Note(_ELSEWHERE), row(self.scores_file, self.lower), self.labels_file),
            Fold("judge", "Judge blindly", Section(pair, (self.judging,), self._offer_sheet)),
        ]  # fmt: skip
        super().__init__(
            PAGE, state, sections, body, [self.runs, self.other, self.than, self.text, self.scale], self.runs.refresh
        )

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
        self._matches = word_matches(compared)
        self.scores_file.value = self.labels_file.value = ()
        self._offer_scales(compared)
        names = list(compared.systems)
        offer(self.than, names)
        offer(self.other, names, otherwise=names[-1])
        offer(self.by, list(buckets(compared, self._matches)))
        where = f"{len(compared.source):,} sentences of {text.name}; click a point to see its sentence."
        self.hint.say(f"{where} {left_out(chosen, able)}")
        self._compared = compared

    def _score(self) -> None:
        if self._compared:
            self._scores = sentence_scores(self._compared, self._scale)

    @property
    def _scale(self) -> Scale:
        return scales(self._compared)[self.scale.value] if self._compared else CHRF

    @property
    def _gains(self) -> pd.Series:
        return self._scale.gains(self._scores, self.other.value, self.than.value)

    def _uploaded(self, files: Sequence[Any], read: Callable[[Compared, BinaryIO, str], Compared]) -> None:
        """Show what a file from the reader's machine says of the sentences."""
        if self._compared and files:
            with self.guarded():
                self._compared = read(self._compared, BytesIO(files[0]["content"]), Path(files[0]["name"]).name)
                self._offer_scales(self._compared)
                offer(self.by, list(buckets(self._compared, self._matches)))
                self._changed("scale", "by")

    def _offer_scales(self, compared: Compared) -> None:
        names = list(scales(compared))
        offer(self.scale, names)
        show_if(len(names) > 1, self.scale)

    def _read_scores(self, compared: Compared, file: BinaryIO, where: str) -> Compared:
        runs = [run.name for group in self._runs.values() for run in group]
        found = segment_scores(where.split(".")[0], file, where, runs, len(compared.source))
        of = {name: [found.of[run.name][0] for run in group] for name, group in self._runs.items()}
        given = Given(found.name, of, "lower" if self.lower.value else "higher")
        return replace(compared, given=[*(one for one in compared.given if one.name != given.name), given])

    def _read_labels(self, compared: Compared, file: BinaryIO, where: str) -> Compared:
        return replace(compared, labels=labels_of(file, where, len(compared.source)))

    def _answer(self) -> None:
        compared, system, than = self._compared, self.other.value, self.than.value
        if compared is None:
            return
        pair = replace(compared, systems={name: compared.systems[name] for name in (than, system)})
        differences = score_differences(pair, ["BLEU" if self._scale is CHRF else self._scale.metric])
        self.answer.say(comparison_finding(self._scores, differences, system, than, self._scale))
        figure = scores_figure(self._scores, system, than, self._scale)
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
            self.wins.say(f"{tally(self._scores, system, than, self._scale)} Select a point to see its sentence.")
            figure = gains_figure(self._gains, system, than, self._scale)
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

    def _show_by_lines(self) -> None:
        if self._compared and (of_lines := line_buckets(self._compared).get(self.by.value)) is not None:
            pair = {name: self._compared.systems[name] for name in (self.than.value, self.other.value)}
            self.by_lines.show(numbers_by(scores_by(replace(self._compared, systems=pair), of_lines)))

    def _show_lines(self) -> None:
        compared, system, than = self._compared, self.other.value, self.than.value
        if compared is None:
            self.lines.clear()
            return
        found = sentences(compared, self._gains, system, than, self._chosen_lines(compared), self._scale)
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
        gain = number(self._gains[line], self._scale.decimals, sign=True)
        self.about_line.say(f"Line {line}, difference {gain}; {UNDERLINED}")
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
