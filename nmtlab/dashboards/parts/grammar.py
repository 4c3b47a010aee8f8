"""Which source words head which, in the chosen sentence and in its text, for runs that select heads."""

import pandas as pd

from nmtlab.analysis.access.needs import HEADS
from nmtlab.analysis.attention.grammar import HEAD_WEIGHTS, SOURCE_HEADS, heads_figure
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.sentences import SentenceChooser
from nmtlab.dashboards.frame.systems import described_runs
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.note import Answer
from nmtlab.dashboards.widgets.table import Table
from nmtlab.figures.theme import with_subtitle
from nmtlab.runs.run import Run
from nmtlab.text.corpora.heads import gold_heads, has_gold_heads
from nmtlab.text.corpora.links import Link


class Grammar:
    """A fold with a heatmap of the sentence, and what is right in the text if its heads are known."""

    def __init__(self, sentences: SentenceChooser) -> None:
        self._sentences = sentences
        self.answer, self.chart = Answer(), Chart()
        self.said, self.scores = Answer(), Table("Right heads in the text (%): with and without regard to direction")
        self.fold = Fold(
            "grammar",
            "Which source words head which, in a system that selects heads?",
            Section(sentences.inputs, (self.answer, self.chart), self._show_sentence),
            Section(("runs", "text"), (self.said, self.scores), self._show_text),
        )

    def _runs(self) -> list[Run]:
        return [run for run in self._sentences.runs if HEADS.met(run)]

    def _show_sentence(self) -> None:
        runs, source = self._runs(), self._sentences.source
        if not runs:
            self.answer.say("None of these runs selects heads: train one with model.grammar = 'tree'.")
        elif source:
            found = HEAD_WEIGHTS.among(runs, source=source)
            self.answer.say(HEAD_WEIGHTS.finding(found))
            figure = heads_figure(found, {run.label: self._gold(run, source) for run in runs})
            self.chart.show(with_subtitle(figure, described_runs(runs, self._sentences.where.place)))

    def _gold(self, run: Run, source: str) -> list[Link]:
        """Return the gold heads of the chosen line between the pieces of a run; none if they are not known."""
        text, line = self._sentences.chosen_text, self._sentences.line
        if text is None or line is None or not has_gold_heads(text.corpus, text.split):
            return []
        heads, places = gold_heads(text.corpus, text.split)[line - 1], run.pipeline.source_words(source)[1]
        if len(heads) != max(places, default=-1) + 1:
            return []  # the run splits words that the gold heads do not
        pieces = [(at, word) for at, word in enumerate(places) if word >= 0]
        return [(head, at) for at, word in pieces for head, other in pieces if heads[word] == other]

    def _show_text(self) -> None:
        runs, text = self._runs(), self._sentences.chosen_text
        if runs and text and has_gold_heads(text.corpus, text.split):
            view = SOURCE_HEADS.view(runs, corpus=text.corpus, split=text.split)
            self.said.say(view.finding)
            self.scores.show(view.frame.round(1))
        elif runs:
            self.scores.show(pd.DataFrame(), why="Gold heads come with artificial languages alone: nmtlab corpus make.")
