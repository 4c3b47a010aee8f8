"""Translating typed text with several systems."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.findings import legible
from nmtlab.analysis.access.needs import DECODING
from nmtlab.analysis.access.texts import Text, by_title, texts
from nmtlab.analysis.attention.weights import attention, attention_figure
from nmtlab.analysis.lexical.tokens import token_figure, token_probabilities
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.examples import example
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Line, Selection, lines_of
from nmtlab.dashboards.frame.sentences import MAX_LETTERS
from nmtlab.dashboards.frame.systems import described_runs, left_out, mentioned, of_one_pair, of_one_source, system_of
from nmtlab.dashboards.parts.intervention import InterventionControls
from nmtlab.dashboards.parts.side_by_side import Best, SideBySide, Translated, translations_finding
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import offer, show_if
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.errors import NmtlabError, RunError
from nmtlab.figures.theme import with_subtitle
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.search.scores import formula
from nmtlab.text.corpora.context import SEPARATOR
from nmtlab.text.corpora.corpus import Direction
from nmtlab.text.corpora.lines import is_blank
from nmtlab.translation import Translator
from nmtlab.workspace import Workspace


def _in_address(runs: Sequence[Run], sentence: Sentence) -> dict[str, str]:
    if not sentence.source:
        return {}
    several = any(len(run.directions) > 1 for run in runs)
    way = dict(zip(("from", "into"), sentence.direction, strict=True)) if sentence.direction and several else {}
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
_ENGINE = "Engine: nmtlab, since CTranslate2 shows neither attention nor the probabilities of tokens."
_MAX_LINES = 100
_MAX_BEAM = 500
_DEFAULT = ("default", "")
"""The choice of the language of each run's first corpus that fits the other choice."""


class TranslatePage(Page):
    """Each line beside its translations; the n-best list, token probabilities and attention of a selected one."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._rows: list[dict[str, object]] = []
        self._texts: dict[str, str] = {}
        none = "No run with weights yet: train one on the page Train."
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none=none)
        wide = {"width": "100%"}
        self.typed = widgets.Textarea(
            placeholder="Type or paste text, one sentence per line, and click outside the box to translate",
            continuous_update=False,
            rows=5,
            layout=wide,
        )
        self.source = widgets.Dropdown(description="From", options=[_DEFAULT], layout=wide)
        self.target = widgets.Dropdown(description="Into", options=[_DEFAULT], layout=wide)
        self.beam = widgets.Text(description="Beam", continuous_update=False, layout=wide)
        self.best = widgets.IntSlider(description="n-best", value=3, min=1, max=10, continuous_update=False)
        self.begun = widgets.Text(
            description="Prefix", placeholder="start of the translations", continuous_update=False, layout=wide
        )
        self.must = widgets.Text(
            description="Must occur",
            placeholder="words or phrases, with commas between",
            continuous_update=False,
            layout=wide,
        )
        self.found = Table("Translations: select one to inspect it", pick="one", height="20em")
        self.answer, self.lines, self.hint, self.inspected = Answer(), SideBySide(), Note(), Note()
        self.tokens, self.attention, self.unattending = Chart(), Chart(), Note()
        self.work, self.intervention = Work(self.guarded), InterventionControls(self.guarded)
        self.origin = widgets.Text()
        self.selection = Selection(PAGE, (self.tokens, self.attention), (self.found,))
        state = {
            "runs": self.runs.table, "from": self.source, "into": self.target, "text": self.typed, "beam": self.beam,
            "best": self.best, "begin": self.begun, "must": self.must, "pick": self.found, "origin": self.origin,
            "selected": self.selection,
        }  # fmt: skip
        requested = state.keys() - {"pick", "origin", "selected"}
        attended = self.unattending, self.attention, self.intervention
        details = (self.inspected, self.tokens, *attended, self.selection)
        sections = [
            Section(("runs",), (), self._offer),
            Section(requested, (self.answer, self.lines, self.hint, self.found, self.work), self._start),
            Section(requested | {"pick", "origin"}, details, self._inspect),
            Section(state, (), lambda: self.intervention.follow(self.selection.token)),
        ]
        body = [
            self.answer, self.work, self.lines, self.hint,
            Fold("tokens", "How sure is it of each token?", self.inspected, self.selection, self.tokens, opened=True),
            Fold("best", "What else did each system consider? The n-best lists", self.found),
            Fold(
                "attention", "Where does it attend, and what would it generate if it attended elsewhere?",
                *attended,
            ),
        ]  # fmt: skip
        rail = [self.runs, self.typed, self.source, self.target, self.beam, self.best, self.begun, self.must]
        super().__init__(PAGE, state, sections, body, rail, self.runs.refresh)

    def _offer(self) -> None:
        """Offer the languages of the runs, if any has several directions, and say which beams are their own."""
        own = sorted({run.recipe.search.beam_size for run in self.runs.chosen})
        self.beam.placeholder = f"own: {', '.join(map(str, own))}" if own else ""
        several = any(len(run.directions) > 1 for run in self.runs.chosen)
        ways = [way for run in self.runs.chosen for way in run.directions] if several else []
        for place, control in enumerate((self.source, self.target)):
            codes = dict.fromkeys(way[place] for way in ways)
            offer(control, [_DEFAULT, *((code, code) for code in codes)])
            show_if(several, control)

    def _directed(self) -> list[Run]:
        """Return the runs that translate in the chosen direction, opened in it, and can be given the beginning."""
        found, unable = [], {run.name for run in self._from_the_end()}
        for run in self.runs.chosen:
            if run.name in unable:
                continue
            with suppress(RunError):
                found.append(run.directed(self.source.value, self.target.value))
        return found

    def _from_the_end(self) -> list[Run]:
        """Return the runs that write from right to left, if a beginning is asked for: they cannot be given one."""
        asked = self.begun.value.strip()
        return [run for run in self.runs.chosen if asked and run.recipe.text.reversed_target]

    def _lines(self) -> dict[int, tuple[str, list[Run]]]:
        """Return each line that is not blank, by its number in the box, with the runs that translate its language.

        Typed text is taken to be in the source language of the first run; without any, each language gets an example.
        """
        runs = self._directed()
        if not is_blank(self.typed.value):
            typed = [(n, one) for n, one in enumerate(self.typed.value.splitlines(), start=1) if not is_blank(one)]
            return {n: (one[:MAX_LETTERS], of_one_source(runs)) for n, one in typed[:_MAX_LINES]} if runs else {}
        by_language: dict[str, list[Run]] = {}
        for run in runs:
            by_language.setdefault(run.direction[0], []).append(run)
        examples = [(example(able[0], self._workspace), able) for able in by_language.values()]
        return dict(enumerate(((line, able) for line, able in examples if line), start=1))

    def _search_of(self, own: SearchSettings) -> SearchSettings:
        """Return a run's search with the beam that is asked for, if any is.

        Raises:
            NmtlabError: it is no size of a beam.
        """
        asked = self.beam.value.strip()
        if not asked:
            return own
        if not asked.isdecimal() or not 1 <= int(asked) <= _MAX_BEAM:
            raise NmtlabError(f"beam {asked!r}: no number from 1 to {_MAX_BEAM}", "leave it empty for each run's own")
        return own.model_copy(update={"beam_size": int(asked)})

    def _start(self) -> None:
        self._rows, lines = [], self._lines()
        if not lines:
            if self.runs.chosen:
                self.answer.say(_no_beginning(self._from_the_end()) or "Type a sentence to translate.")
            return
        self.hint.say(self._explained(lines))
        self.work.start("translating", sum(len(able) for _, able in lines.values()), self._translate(lines))

    def _explained(self, lines: Mapping[int, tuple[str, list[Run]]]) -> str:
        """Say which runs are left out, and what of the text."""
        unable, able = self._from_the_end(), {one.name for _, some in lines.values() for one in some}
        without = {run.name for run in unable}
        runs = [run for run in self.runs.chosen if run.name not in without]
        said = [left_out(runs, [run for run in runs if run.name in able]), _no_beginning(unable)]
        if is_blank(self.typed.value):
            said.append("Example sentences, one for each source language, since the box is empty.")
        elif max(map(len, self.typed.value.splitlines())) > MAX_LETTERS:
            said.append(f"Lines are cut after {MAX_LETTERS:,} letters.")
        if len(lines) == _MAX_LINES:
            said.append(f"At most {_MAX_LINES} lines are translated.")
        if reading := [run for run in runs if run.recipe.text.context]:
            said.append(f"Of a document, {mentioned(reading)} can be given: sentence before {SEPARATOR} sentence.")
        said.append(_ENGINE)
        return " ".join(filter(None, said))

    def _translate(self, lines: Mapping[int, tuple[str, list[Run]]]) -> Iterator[None]:
        references = {run.direction: self._references(run) for _, able in lines.values() for run in able[:1]}
        done: list[Translated] = []
        for number, (line, runs) in lines.items():
            reference = references[runs[0].direction].get(line, "")
            done.append(Translated(number, line, reference, runs[0].direction[1], {}))
            for run in runs:
                self._rows += (found := self._of(run, number, line))
                best = Best(self._texts[str(found[0]["key"])], float(str(found[0]["log p"])))
                done[-1] = done[-1]._replace(best={**done[-1].best, run.label: best})
                self._show(done)
                yield

    def _show(self, done: Sequence[Translated]) -> None:
        self.found.show(_by_rank(self._rows))
        if not self.found.chosen:
            self.found.choose(self.found.frame.index[:1])
        self.lines.show(done)
        self.answer.say(translations_finding(done))

    def _references(self, run: Run) -> dict[str, str]:
        """Return the references of the lines of a run's texts."""
        offered = [text for text in texts(run, self._workspace) if text.corpus.direction == run.direction]
        return {source: reference for text in offered for source, reference in text.corpus.pairs(text.split)}

    def _of(self, run: Run, number: int, line: str) -> list[dict[str, object]]:
        system = system_of(run)
        search = self._search_of(system.settings)
        translator = Translator(system.model, system.pipeline, search, system.lexicon)
        begun = self.begun.value.strip()
        best = min(self.best.value, search.beam_size)
        must = [phrase for phrase in map(str.strip, self.must.value.split(",")) if phrase]
        prefixes, phrases = [begun] if begun else None, [must] if must else None
        (found,) = translator.translate([line], n_best=best, prefixes=prefixes, must=phrases)
        keys = [f"{run.name}/{number}/{rank}" for rank in range(1, len(found.texts) + 1)]
        self._texts |= dict(zip(keys, found.texts, strict=True))
        return [
            {
                "line": number,
                "rank": rank,
                "key": key,
                "run": run.label,
                "translation": legible(self._texts[key]),
                "log p": round(hypothesis.log_prob, 2),
                "tokens": len(hypothesis.tokens),
                formula(search, system.model.plans_length): round(hypothesis.score, 2),
            }
            for rank, (key, hypothesis) in enumerate(zip(keys, found.hypotheses, strict=True), start=1)
        ]

    def _inspect(self) -> None:
        lines = self._lines()
        if not lines or self.found.value is None:
            return
        picked = self.found.frame.loc[self.found.value]
        source, able = lines[picked["line"]]
        run, target = next(run for run in able if run.label == picked["run"]), self._texts[self.found.value]
        system, where = system_of(run), self._where(source, self.runs.chosen, run.direction)
        typed = "an example" if is_blank(self.typed.value) else "a typed sentence"
        of = described_runs([run], f"line {where.line} of {where.title}" if where.line else typed)
        self.tokens.show(with_subtitle(token_figure(token_probabilities(system, source, target)), of))
        self.inspected.say(f"Inspecting {mentioned([run])} on: {source}")
        if not run.recipe.model.attends:
            self.attention.clear()
            self.intervention.clear()
            self.selection.offer(self.runs.chosen, where, _reference(where, system))
            self.unattending.say(f"{mentioned([run])} has no attention.")
            return
        weights = attention(system, source, target).assign(run=run.label)
        self.attention.show(with_subtitle(attention_figure(weights), of))
        self.selection.offer(self.runs.chosen, where, [*lines_of(weights), *_reference(where, system)])
        self.intervention.offer(system, source, target, weights)
        self.unattending.say("")

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


def _no_beginning(runs: Sequence[Run]) -> str:
    """Say which runs cannot be given a beginning; empty without any."""
    writes = "writes" if len(runs) == 1 else "write"
    return f"{mentioned(runs)} {writes} from right to left and cannot be given a beginning." if runs else ""


def _pair(text: Text, line: int) -> tuple[str, str]:
    """Return a line of a text, from 1, and its translation; blank if there is no such line."""
    return next(islice(text.corpus.pairs(text.split), max(0, line - 1), None), ("", ""))


def _reference(where: Sentence, system: Translator) -> list[Line]:
    """Return the reference of a line of a text as tokens."""
    if where.text is None or where.line is None:
        return []
    _, reference = _pair(where.text, where.line)
    return [Line("reference", "target", system.pipeline.target.tokenizer.split(reference))]


def _by_rank(rows: list[dict[str, object]]) -> pd.DataFrame:
    return pd.DataFrame(rows).set_index("key").sort_values(["line", "rank"], kind="stable")
