"""Translating typed text with several systems."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import DECODING
from nmtlab.analysis.access.texts import Text, by_title, texts
from nmtlab.analysis.attention.weights import attention, attention_figure
from nmtlab.analysis.lexical.tokens import token_figure, token_probabilities
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.examples import example
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Line, Selection, lines_of
from nmtlab.dashboards.frame.sentences import MAX_LETTERS
from nmtlab.dashboards.frame.systems import left_out, mentioned, of_one_pair, of_one_source, system_of
from nmtlab.dashboards.parts.intervention import InterventionControls
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import columns, offer, show_if
from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import Direction
from nmtlab.text.corpora.lines import is_blank
from nmtlab.translation import Translator
from nmtlab.workspace import Workspace


def _in_address(runs: Sequence[Run], sentence: Sentence) -> dict[str, str]:
    if not sentence.source:
        return {}
    several = sentence.direction and any(len(run.directions) > 1 for run in runs)
    way = dict(zip(("from", "into"), sentence.direction, strict=True)) if several else {}
    origin = {"origin": f"{sentence.line} {sentence.title}"} if sentence.line else {}
    return way | {"text": sentence.source} | origin


PAGE = About(
    place=110,
    group="Sentences",
    title="Translate",
    question="How do the systems translate your sentence, and how confident are they in each token?",
    name="translate",
    needs=DECODING,
    tokens={("target", True): "How sure is each system of it?", ("source", True): "How do the systems translate it?"},
    address=_in_address,
)

FIRST = ("small-tr-en.tied.s1", "small-tr-en.fixnorm-lex.s1")
_MAX_LINES = 100
_DEFAULT = ("default", "")
"""The choice of the language of each run's first corpus that fits the other choice."""


class TranslatePage(Page):
    """The n-best list of each system; token probabilities and attention of the selected translation."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        none = "No run with weights yet: train one on the page Train."
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none=none)
        self.typed = widgets.Textarea(
            placeholder="Type or paste text, one sentence per line, and click outside the box to translate",
            continuous_update=False,
            rows=5,
            layout={"width": "100%"},
        )
        self.source = widgets.Dropdown(description="From", options=[_DEFAULT], layout={"width": "14em"})
        self.target = widgets.Dropdown(description="Into", options=[_DEFAULT], layout={"width": "14em"})
        self.beam = widgets.IntSlider(description="Beam", value=5, min=1, max=500, continuous_update=False)
        self.best = widgets.IntSlider(description="n-best", value=3, min=1, max=10, continuous_update=False)
        self.begun = widgets.Text(
            description="Prefix", placeholder="start of the translations, then Enter", continuous_update=False
        )
        self.found = Table("Translations: select one to inspect it", pick="one", height="20em")
        self.tokens, self.attention, self.hint = Chart(), Chart(), Note()
        self.work, self.intervention = Work(self.guarded), InterventionControls(self.guarded)
        self.origin = widgets.Text()
        self.selection = Selection(PAGE, (self.tokens, self.attention), (self.found,))
        state = {
            "runs": self.runs.table, "from": self.source, "into": self.target, "text": self.typed, "beam": self.beam,
            "best": self.best, "begin": self.begun, "pick": self.found, "origin": self.origin,
            "selected": self.selection,
        }  # fmt: skip
        requested = state.keys() - {"pick", "origin", "selected"}
        details = (self.tokens, self.attention, self.hint, self.intervention, self.selection)
        sections = [
            Section(("runs",), (), self._offer_languages),
            Section(requested, (self.found, self.work), self._start),
            Section(requested | {"pick", "origin"}, details, self._inspect),
            Section(state, (), lambda: self.intervention.follow(self.selection.token)),
        ]
        body = [
            self.work, self.hint, self.found, self.selection, columns(self.tokens, self.attention), self.intervention,
        ]  # fmt: skip
        rail = [self.runs, self.typed, self.source, self.target, self.beam, self.best, self.begun]
        super().__init__(PAGE, state, sections, body, rail, self.runs.refresh)

    def _start(self) -> None:
        if lines := self._lines():
            self.work.start("translating", sum(len(able) for _, able in lines), self._translate(lines))

    def _offer_languages(self) -> None:
        """Offer the languages of the runs, if any of them has several directions."""
        several = any(len(run.directions) > 1 for run in self.runs.chosen)
        ways = [way for run in self.runs.chosen for way in run.directions] if several else []
        for place, control in enumerate((self.source, self.target)):
            codes = dict.fromkeys(way[place] for way in ways)
            offer(control, [_DEFAULT, *((code, code) for code in codes)])
            show_if(several, control)

    def _directed(self) -> list[Run]:
        """Return the runs that translate in the chosen direction, opened in it."""
        found = []
        for run in self.runs.chosen:
            with suppress(RunError):
                found.append(run.directed(self.source.value, self.target.value))
        return found

    def _lines(self) -> list[tuple[str, list[Run]]]:
        """Return each line with the runs that translate from its language.

        Typed text is taken to be in the source language of the first run; without any, each language gets an example.
        """
        runs = self._directed()
        if not is_blank(self.typed.value):
            typed = [line[:MAX_LETTERS] for line in self.typed.value.splitlines() if not is_blank(line)][:_MAX_LINES]
            return [(line, of_one_source(runs)) for line in typed] if runs else []
        by_language: dict[str, list[Run]] = {}
        for run in runs:
            by_language.setdefault(run.direction[0], []).append(run)
        examples = [(example(able[0], self._workspace), able) for able in by_language.values()]
        return [(line, able) for line, able in examples if line]

    def _translate(self, lines: list[tuple[str, list[Run]]]) -> Iterator[None]:
        rows: list[dict[str, object]] = []
        for number, (line, runs) in enumerate(lines, start=1):
            for run in runs:
                rows += self._of(run, number, line)
                self.found.show(_by_place(rows))
                if not self.found.chosen:
                    self.found.choose(self.found.frame.index[:1])
                yield

    def _of(self, run: Run, number: int, line: str) -> list[dict[str, object]]:
        system = system_of(run)
        search = system.settings.model_copy(update={"beam_size": self.beam.value})
        best = min(self.best.value, self.beam.value)
        translator = Translator(system.model, system.pipeline, search)
        begun = self.begun.value.strip()
        (found,) = translator.translate([line], n_best=best, prefixes=[begun] if begun else None)
        return [
            {
                "line": number,
                "place": place,
                "key": f"{run.name}/{number}/{place}",
                "run": run.label,
                "translation": text,
                "log p": round(hypothesis.log_prob, 2),
                "tokens": len(hypothesis.tokens),
                "score": round(hypothesis.score, 3),
            }
            for place, (text, hypothesis) in enumerate(zip(found.texts, found.hypotheses, strict=True), start=1)
        ]

    def _inspect(self) -> None:
        runs, lines = self.runs.chosen, self._lines()
        if not lines:
            if runs:
                self.hint.say("Type a sentence to translate.")
            return
        note = left_out(runs, [run for run in runs if any(run.name == one.name for _, able in lines for one in able)])
        if is_blank(self.typed.value):
            note += " Example sentences, one for each source language, since the box is empty."
        self.hint.say(note.strip())
        if self.found.value is None:
            return
        picked = self.found.frame.loc[self.found.value]
        source, able = lines[picked["line"] - 1]
        run, target = next(run for run in able if run.label == picked["run"]), picked["translation"]
        system = system_of(run)
        self.tokens.show(token_figure(token_probabilities(system, source, target)))
        weights = attention(system, source, target).assign(run=run.label)
        self.attention.show(attention_figure(weights))
        where = self._where(source, runs, run.direction)
        self.selection.offer(runs, where, [*lines_of(weights), *_reference(where, system)])
        self.intervention.offer(system, source, target, weights)
        self.hint.say(f"{note} Details of {mentioned([run])} for: {source}".strip())

    def _where(self, source: str, runs: list[Run], direction: Direction) -> Sentence:
        """Return where a sentence is: typed, or still the line of a text that it was on the page before this one."""
        line, _, title = self.origin.value.partition(" ")
        offered = by_title(text for run in of_one_pair(runs, direction) for text in texts(run, self._workspace))
        text = offered.get(title)
        if text is None or not line.isdecimal() or _pair(text, int(line))[0] != source:
            return Sentence(source, direction=direction)
        return Sentence(source, title, int(line), text, direction)


def translate_page(workspace: Workspace | None = None) -> TranslatePage:
    """Return the page."""
    return TranslatePage(workspace or Workspace.find())


def _pair(text: Text, line: int) -> tuple[str, str]:
    """Return a line of a text, from 1, and its translation; blank if there is no such line."""
    return next(islice(text.corpus.pairs(text.split), max(0, line - 1), None), ("", ""))


def _reference(where: Sentence, system: Translator) -> list[Line]:
    """Return the reference of a line of a text as tokens."""
    if where.text is None or where.line is None:
        return []
    _, reference = _pair(where.text, where.line)
    return [Line("reference", "target", system.pipeline.target.tokenizer.split(reference))]


def _by_place(rows: list[dict[str, object]]) -> pd.DataFrame:
    return pd.DataFrame(rows).set_index("key").sort_values(["line", "place"], kind="stable")
