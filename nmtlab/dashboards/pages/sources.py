"""Which of several sources each word of a translation comes from."""

from collections.abc import Sequence
from itertools import islice

import ipywidgets as widgets
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.access.needs import ATTENDS, NEURAL, WEIGHTS, unmet
from nmtlab.analysis.access.texts import read_by
from nmtlab.analysis.access.translations import more_sources
from nmtlab.analysis.attention.edits import EDITS, edits_figure, edits_finding, edits_summary
from nmtlab.analysis.attention.focus import (
    BEFORE,
    FOCUS,
    PUBLISHED,
    SEVERAL,
    THRESHOLD,
    UNTRANSLATED,
    focus_figure,
    focus_finding,
    focus_shares,
    sentence_figure,
    sentence_focus,
    sources_of,
    words_by_mass,
    words_figure,
)
from nmtlab.analysis.attention.weights import attention, attention_figure
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.sentences import MAX_LETTERS
from nmtlab.dashboards.frame.systems import described_runs, system_of
from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.parts.text_menu import TextMenu
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.note import Answer, Note, html
from nmtlab.figures.theme import isolated, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import listed
from nmtlab.runs.run import Run
from nmtlab.text.corpora.context import apart, joined
from nmtlab.text.corpora.lines import is_blank
from nmtlab.workspace import Workspace

PAGE = About(
    place=35,
    group="Why",
    title="Several sources",
    question="Which source does each word of a translation come from?",
    name="sources",
    needs=(NEURAL, ATTENDS, SEVERAL, WEIGHTS),
    most_runs=1,
    illustrates=(FOCUS, EDITS),
)

_SAMPLE = 100
"""Sentences of a whole text."""
_NONE = (
    "No run here attends to several sources: make triplets with 'nmtlab corpus triplets', or join corpora, "
    "and train with --also-source and --set model.combine=joint or mixture; or train on documents with "
    "--set text.context=1."
)
_WEIGHED = ". In a mixture of experts, the share of a source is the weight that the gate gives its expert."
_PUBLISHED = (
    "In post-editing of English to German (WMT 2017), Jauregi Unanue et al. (2018) count, of the tokens, "
    f"{listed([f'{percent(share)} {source}' for source, share in PUBLISHED.items()])} at a threshold of {THRESHOLD:g}."
)


class SourcesPage(Page):
    """The attention to several sources in a sentence, and the shares of tokens from each source in a text.

    The second source may be the sentence before.
    """

    def __init__(self, workspace: Workspace) -> None:
        wide = {"width": "100%"}
        self.runs = RunChooser(workspace, PAGE.needs, many=False, none=_NONE)
        self.text = TextMenu(workspace)
        self.line = widgets.IntSlider(description="Line", value=1, min=1, max=1)
        self.typed = widgets.Textarea(
            placeholder="Or type a sentence, one line for each source, and click outside the box; a blank line is a "
            "missing source. Of a run with text.context, the second line is the sentence before",
            continuous_update=False, rows=3, layout=wide,
        )  # fmt: skip
        self.threshold = widgets.FloatSlider(description="Threshold", value=THRESHOLD, min=0.5, max=0.95, step=0.05)
        self.answer, self.chart, self.maps, self.hint = Answer(), Chart(), Chart(), Note()
        self._weights = pd.DataFrame()
        state = {
            "runs": self.runs.table, "text": self.text, "line": self.line, "sentence": self.typed, "t": self.threshold,
        }  # fmt: skip
        sentence = ("runs", "text", "line", "sentence")
        counted, lacks = ("runs", "text", "t"), self._lacking
        self.whole = ViewSection(self._whole, counted, "Tokens by their source", digits=3, missing=lacks)
        sections = [
            Section(("runs",), (), self._offer),
            Section(("runs", "text"), (), self._limit),
            Section(sentence, (self.maps, self.hint), self._read),
            Section((*sentence, "t"), (self.answer, self.chart), self._draw),
        ]
        by_mass, of_text = "Tokens by their attention to the last source", ("runs", "text")
        self.words = ViewSection(self._words, of_text, by_mass, missing=lacks)
        self.edited = ViewSection(self._edited, of_text, "Edits and attention", missing=lacks)
        body = [
            self.answer, self.chart, self.maps, self.hint, html(_PUBLISHED, "nmtlab-note"),
            Fold("whole", f"Which source do the tokens of a text's first {_SAMPLE} sentences come from?", self.whole),
            Fold("edited", "Post-editing: do poor translations turn attention to the source?", self.edited),
            Fold("words", f"Which tokens of these {_SAMPLE} sentences attend most to the last source?", self.words),
        ]  # fmt: skip
        rail = [self.runs, self.text, self.line, self.typed, self.threshold]
        super().__init__(PAGE, state, sections, body, rail, self.runs.refresh)

    def _offer(self) -> None:
        self.text.fill(self.runs.chosen)

    def _limit(self) -> None:
        """Offer the lines of the chosen text; of a run that reads in context, begin at one that has a context."""
        text, run = self.text.text, self.runs.first
        self.line.max = text.corpus.count(text.split) if text else 1
        if text and run and run.recipe.text.context and self.line.value == 1:
            read = read_by([run], text).lines(text.split, text.corpus.source)
            self.line.value = next((number for number, line in enumerate(read, start=1) if apart(line)[0]), 1)

    def _sentence(self, run: Run) -> Sequence[str]:
        """Return the sentence of each source: typed, or else of the chosen line; none if there is neither."""
        if not is_blank(self.typed.value):
            typed = [line.strip()[:MAX_LETTERS] for line in self.typed.value.splitlines()]
            return typed[: len(sources_of(run))]
        if (text := self.text.text) is None:
            return []
        if run.recipe.text.context:
            read = run.as_read(text.corpus).lines(text.split, text.corpus.source)
            return apart(next(islice(read, self.line.value - 1, None)))[::-1]
        sides = [text.corpus.lines(text.split, text.corpus.source), *more_sources(run, text.corpus, text.split)]
        return [next(islice(side, self.line.value - 1, None)) for side in sides]

    def _read(self) -> None:
        """Read the attention of the run as it translates the sentence, and draw it."""
        self._weights, run = pd.DataFrame(), self.runs.first
        sentences = self._sentence(run) if run else []
        needed = sentences[:1] if run and run.recipe.text.context else sentences
        if run is None or all(map(is_blank, needed)):
            self.hint.say("This line has no source." if sentences else "Type a sentence." if run else "")
            return
        first, *more = sentences
        if run.recipe.text.context and more:
            first, more = joined(more[0], first), []
        self._weights = attention(system_of(run), first, more=more).assign(run=run.label)
        self.maps.show(with_subtitle(attention_figure(self._weights), self._about(run)))
        named = zip(sources_of(run), sentences, strict=False)
        weighed = _WEIGHED if run.recipe.model.mixes_experts else ""
        said = (f"{name}: {isolated(text) or ('none' if name == BEFORE else '(missing)')}" for name, text in named)
        self.hint.say("; ".join(said) + weighed)

    def _about(self, run: Run) -> str:
        typed = not is_blank(self.typed.value)
        return described_runs([run], "a typed sentence" if typed else f"line {self.line.value} of {self.text.value}")

    def _draw(self) -> None:
        """Draw the mass on each source, and say how many tokens come from it."""
        if (run := self.runs.first) is None or self._weights.empty:
            return
        if need := unmet(run, FOCUS.needs):
            self.answer.say(_said(run, need.problem, need.remedy))
        else:
            found = sentence_focus(self._weights, run).assign(run=run.label)
            self.answer.say(focus_finding(found, self.threshold.value))
            self.chart.show(with_subtitle(sentence_figure(found, self.threshold.value), self._about(run)))

    def _whole(self) -> View | None:
        """Return the shares of the tokens of a text from each source."""
        run, t = self.runs.first, self.threshold.value
        if run is None or (found := self._found(run)) is None:
            return None
        figure = with_subtitle(focus_figure(found, t), described_runs([run], str(self.text.value)))
        return View(focus_shares(found, t), figure, finding=focus_finding(found, t))

    def _words(self) -> View | None:
        """Return the tokens of a text with most attention to the last source."""
        if (run := self.runs.first) is None or (found := self._found(run)) is None:
            return None
        return View(
            words_by_mass(found), with_subtitle(words_figure(found), described_runs([run], str(self.text.value)))
        )

    def _found(self, run: Run) -> pd.DataFrame | None:
        """Return the attention to each source in the first sentences of the text; None without any."""
        if (text := self.text.text) is None or unmet(run, FOCUS.needs):
            return None
        found = FOCUS.of(run, corpus=text.corpus, split=text.split, limit=_SAMPLE).assign(run=run.label)
        return None if found.empty else found

    def _lacking(self) -> str:
        """Say why there is nothing to count of a text."""
        if (run := self.runs.first) is None or self.text.text is None:
            return ""
        need = unmet(run, FOCUS.needs)
        return _said(run, *((need.problem, need.remedy) if need else UNTRANSLATED))

    def _edited(self) -> View | None:
        """Return the attention to the source against the edit rate of the machine translation, by sentence."""
        run, text = self.runs.first, self.text.text
        if run is None or text is None:
            return None
        if need := unmet(run, (*FOCUS.needs, *EDITS.needs)):
            return View(pd.DataFrame(), go.Figure(), finding=_said(run, need.problem, need.remedy))
        found = EDITS.of(run, corpus=text.corpus, split=text.split, limit=_SAMPLE).assign(run=run.label)
        if found.empty:
            return None
        figure = with_subtitle(edits_figure(found), described_runs([run], str(self.text.value)))
        return View(edits_summary(found), figure, finding=edits_finding(found))


def _said(run: Run, problem: str, remedy: str) -> str:
    return f"{run.label}: {problem}; {remedy}."


def sources_page(workspace: Workspace | None = None) -> SourcesPage:
    """Return the page."""
    return SourcesPage(workspace or Workspace.find())
