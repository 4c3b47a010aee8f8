"""Suggested translations of a run's rare words: how many are used, each of them, and what is copied in a sentence."""

import pandas as pd

from nmtlab.analysis.access.needs import COPIES
from nmtlab.analysis.access.texts import corpus_of
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.analysis.lexical.suggestions import GENERATED, SUGGESTIONS
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import described_runs
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.note import Answer
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import with_subtitle
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace


class Suggested:
    """A fold about the chosen run, and the table of its suggestions, one of which is selected."""

    def __init__(self, workspace: Workspace, runs: RunChooser) -> None:
        self._workspace, self._runs = workspace, runs
        self.answer, self.chart = Answer(), Chart()
        self.shares = Table("By the frequency of the source word in training: shares of the suggestions")
        self.words = Table("Suggestions in the test text: select one", pick="one", height="20em")
        self.said, self.strip = Answer(), Chart()
        self.fold = Fold(
            "suggestions",
            "Are suggested translations of rare words used, and what is copied?",
            Section(("runs",), (self.answer, self.chart, self.shares, self.words), self._show),
            Section(("runs", "suggestion"), (self.said, self.strip), self._show_generated),
        )

    def _show(self) -> None:
        """Show how many suggestions are used, and each of them."""
        run = self._runs.first
        corpus = self._corpus(run) if run else None
        if run is None or corpus is None:
            return
        found = SUGGESTIONS.of(run, corpus=corpus)
        if found.empty:
            self.answer.say("No rare word of the test text has a suggestion.")
            return
        view = SUGGESTIONS.view(run, corpus=corpus)
        self.answer.say(view.finding)
        self.chart.show(with_subtitle(view.figure, described_runs([run], f"test of {corpus.name}")))
        self.shares.show(view.frame.drop(columns="run").round(2))
        texts = list(corpus.lines("test", corpus.source)), stored_translations(run, corpus, "test") or []
        for name, lines in zip(("source", "translation"), texts, strict=True):
            found[name] = [lines[line - 1] for line in found["line"]]
        places = zip(found["line"], found["word"], strict=True)
        found.index = pd.Index([f"{row}: line {line}, {word}" for row, (line, word) in enumerate(places, start=1)])
        self.words.show(found)

    def _corpus(self, run: Run) -> ParallelCorpus | None:
        """Return the corpus of a run if its suggestions can be shown; say why they cannot."""
        if not (run.recipe.text.annotate or run.recipe.model.copies):
            self.answer.say(
                "The run neither reads suggestions nor copies: train one with the recipe annotate-copy-bpe."
            )
            return None
        try:
            corpus = corpus_of(run, self._workspace)
            known = stored_translations(run, corpus, "test")
        except NmtlabError:
            known = None
        if known is None:
            self.answer.say(f"Its test text has not been translated here: nmtlab evaluate {run.name}")
            return None
        return corpus

    def _show_generated(self) -> None:
        """Show what is generated, and what copied, of the translation in the selected row."""
        run, key = self._runs.first, self.words.value
        if run is None or key not in self.words.frame.index or not COPIES.met(run):
            return
        row = self.words.frame.loc[key]
        view = GENERATED.view(run, source=row["source"], target=row["translation"])
        self.said.say(view.finding)
        self.strip.show(view.figure)
