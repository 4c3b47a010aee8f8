"""Attention of several systems on one sentence (thesis Figure 3.3), and other measures of what a word is read for."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import ipywidgets as widgets
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.findings import legible
from nmtlab.analysis.access.needs import ATTENDS, NEURAL, ONE_SOURCE, WEIGHTS
from nmtlab.analysis.access.reference_links import kept_links
from nmtlab.analysis.access.texts import Text
from nmtlab.analysis.access.word_pairs import forced_attention, pair_of_words, piece_links
from nmtlab.analysis.attention.confidence import CONFIDENCE
from nmtlab.analysis.attention.grammar import SOURCE_HEADS
from nmtlab.analysis.attention.places import PEAK_PLACES, farthest_off, linked_sentences
from nmtlab.analysis.attention.shift import PEAK_COUNTS, peak_shifts, shift_summary
from nmtlab.analysis.attention.weights import attention, attention_figure, peaks_finding
from nmtlab.analysis.attribution.contributions import contribution_figure, contributions, contributions_finding
from nmtlab.analysis.lexical.lexical_choice import LEXICAL_CHOICE
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Selection, lines_of
from nmtlab.dashboards.frame.sentences import SentenceChooser
from nmtlab.dashboards.frame.systems import described_runs, left_out, system_of
from nmtlab.dashboards.frame.views import answers
from nmtlab.dashboards.parts.agreement import Agreement
from nmtlab.dashboards.parts.claims import ClaimsSection
from nmtlab.dashboards.parts.contrast import ContrastControls
from nmtlab.dashboards.parts.finder import Finder
from nmtlab.dashboards.parts.grammar import Grammar
from nmtlab.dashboards.parts.heads import Heads
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, columns, offer, show_if
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.errors import CorpusError
from nmtlab.figures.theme import with_subtitle
from nmtlab.runs.run import Run
from nmtlab.text.corpora.links import Link
from nmtlab.workspace import Workspace

PAGE = About(
    place=30,
    group="Why",
    title="Attention",
    question=(
        "Where does each system attend as it generates a word, and how far is that from the source word it "
        "translates? (thesis Figure 3.3)"
    ),
    name="attention",
    needs=(NEURAL, ATTENDS, WEIGHTS, ONE_SOURCE),
    tokens={
        ("source", True): "Which target words attend to it?",
        ("target", True): "Which source words does it depend on?",
    },
    illustrates=(PEAK_COUNTS, SOURCE_HEADS, "left-shift", "alignment-error", "right-copies"),
)

FIRST = ("small-tr-en.tied.s1", "small-tr-en.fixnorm.s1", "small-tr-en.fixnorm-lex.s1")
SENTENCE = ("small-tr-en.tied.s1 (packed dev)", 51)
"""In which tied attends mostly to the first word, and fixnorm+lex to the aligned ones."""
_SHARES = {"alignment error": "AER, %", "right copies": "correct copies, %"}
_MANY = 20  # sentences that are offered where attention is farthest off


Rings = Mapping[str, Collection[Link]]
"""Linked places of source and target tokens, by run."""


class _Read(NamedTuple):
    """A sentence and its target, if it is not the systems' own, as some systems read it."""

    runs: list[Run]
    source: str
    target: str | None
    weights: pd.DataFrame
    links: Collection[Link]
    rings: Rings


class AttentionPage(Page):
    """Heatmaps of a sentence with its word alignment, copied words, and a pinned sentence to compare.

    They show attention, or the contributions of the source words by another method.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none="Select a run with weights.")
        self.sentences = SentenceChooser(workspace, lambda: self.runs.chosen, first=SENTENCE)
        self.layer = widgets.Dropdown(description="Layer", options=[1], layout={"width": "11em"})
        self.head = widgets.Dropdown(description="Head", options=[1], layout={"width": "11em"})
        self.explained = ContrastControls()
        self.heads = Heads(self._choose_head)
        self.agreement = Agreement(self.guarded)
        self.grammar = Grammar(self.sentences)
        self.said = widgets.ToggleButtons(
            description="Target", options=[("reference", "reference"), ("own translation", "own")]
        )
        self.pin = button("Pin this sentence", self._pin, self.guarded, tooltip="Keep it below for comparison")
        self.pinned = widgets.Text(layout={"display": "none"})
        self._languages = ("", "")
        self._read: _Read | None = None
        self._kept: dict[Text, tuple[list[frozenset[Link]], bool]] = {}  # links of the chosen text
        self.answer, self.chart, self.pinned_chart, self.hint = Answer(), Chart(), Chart(), Note()
        self.where, self.strip = Answer(), Chart()
        self.finder = Finder("Sentences with the fewest attention peaks on the aligned word", self.sentences)
        self.shifts = Table("Mean left shift of attention from the aligned word, in words (positive: too far left)")
        self.copies = Table("Unknown words in each system's translation, and the source words copied for them")
        self.measured = Table(
            "Mean left shift in words (positive: too far left; more attention peaks than links on the first word are a "
            "sink there, not a shift by a word), alignment error rate (AER) and correct copies"
        )
        self.work, self.details, self.counting = (Work(self.guarded) for _ in range(3))
        others = (self.heads.chart, self.sentences.table, self.copies)
        self.selection = Selection(PAGE, (self.chart, self.pinned_chart), others)
        self.heads.chart.on_token(self.selection.select)
        state = {
            "runs": self.runs.table, **self.sentences.state, "target": self.said, "layer": self.layer,
            "head": self.head, **self.explained.state, "attention": self.heads.kind, "pinned": self.pinned,
            "selected": self.selection,
        }  # fmt: skip
        pair, explained, drawn = {*self.sentences.inputs, "target"}, self.explained.state.keys(), {"layer", "head"}
        sections = [
            *self.sentences.sections,
            Section(("runs", "text"), (), self._let_go),
            Section(pair, (self.selection, self.hint), self._read_pair),
            Section(pair | {"show"}, (), self._offer),
            Section(("selected", "show"), (), lambda: self.explained.follow(self.selection.token)),
            Section(pair | explained | drawn, (self.answer, self.chart, self.work), self._draw),
            Section(("runs", "text"), (self.counting, self.where, self.strip, self.measured), self._start_counting),
            Section(("runs", "text"), (self.finder,), self._find),
            Section(pair, (self.details, self.shifts, self.copies), self._start_details),
            Section(pair | {"attention"}, (self.heads,), self._show_heads),
            Section(("runs", "text"), (self.agreement,), self._show_agreement),
            Section({"runs", "text", "pinned"} | drawn, (self.pinned_chart,), self._draw_pinned),
        ]
        self._pins = Fold("pinned", "How does the pinned sentence compare?", self.pinned_chart)
        far = self.counting, self.where, self.strip, self.measured
        claims = ClaimsSection(("runs",), PEAK_COUNTS.metrics)
        spread = answers(
            CONFIDENCE, self.runs, "Means over the run's own translations of its packed sentences, in nats"
        )
        body = [
            self.answer, self.work, self.chart, self.hint, self.selection,
            Fold("text", "How far off is attention over a whole text?", *far, opened=True),
            Fold("claims", "Is it a shift or a sink? What the claims say, over seeds", claims),
            Fold("farthest", "In which sentences is attention farthest off?", self.finder),
            Fold("confidence", "Is attention focused, and does it cover the source?", spread),
            Fold("sentence", "How far off is it in this sentence, and which unknown words were copied?",
                 self.details, columns(self.shifts, self.copies)),
            Fold("heads", "What does each head of a Transformer attend to?", self.heads),
            self.grammar.fold,
            Fold("methods", "How often does each method point to the aligned word?", self.agreement),
            self._pins,
        ]  # fmt: skip
        rail = [
            self.runs, self.sentences, self.said, self.explained.shown, self.layer, self.head, self.explained, self.pin,
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, rail, self.runs.refresh)

    def _let_go(self) -> None:
        """Forget the pinned sentence if the languages change."""
        if (runs := self.sentences.runs) and runs[0].direction != self._languages:
            self._languages, self.pinned.value = runs[0].direction, ""

    def _show_agreement(self) -> None:
        if runs := self.sentences.runs:
            self.agreement.show(runs, self.sentences.chosen_text)

    def _read_pair(self) -> None:
        """Read the attention of all systems on the sentence, and its links; say what is shown."""
        self._read = None
        chosen, runs, source = self.runs.chosen, self.sentences.runs, self.sentences.source
        if not source:
            self.hint.say("Type a sentence." if chosen else "")
            return
        wanted = self.said.value == "reference"
        target = self.sentences.reference if wanted else None
        weights = _weights(runs, source, target)
        links, origin = self._links(runs[0])
        self._read = _Read(runs, source, target, weights, links, _rings(runs, source, target, links))
        self.selection.offer(chosen, self.sentences.where, lines_of(weights))
        self.hint.say(f"{left_out(chosen, runs)} {_alignment(wanted, target, origin if links else '')}".strip())

    def _offer(self) -> None:
        """Offer the layers and heads, or the target tokens."""
        show_if(self.explained.is_attention, self.layer, self.head)
        if self._read:
            weights = self._read.weights
            for control, column in ((self.layer, "layer"), (self.head, "head")):
                options = range(1, int(weights[column].max()) + 1)
                offer(control, options, otherwise=options[-1])
            self.explained.offer(weights)

    def _draw(self) -> None:
        if not (read := self._read):
            return
        if not self.explained.is_attention:
            self.work.start("explaining", len(read.runs), self._contributions(read), waits=True)
            return
        self.chart.show(self._heatmaps(read.weights, read.rings))
        self.answer.say(peaks_finding(read.weights, read.rings, self.layer.value, self.head.value))

    def _draw_pinned(self) -> None:
        if self.pinned.value and self.sentences.runs:
            source, _, target = self.pinned.value.partition("\t")
            weights = _weights(self.sentences.runs, source, target or None)
            figure = attention_figure(weights, {}, self.layer.value, self.head.value)
            self.pinned_chart.show(with_subtitle(figure, described_runs(self.sentences.runs, "the pinned sentence")))

    def _heatmaps(self, weights: pd.DataFrame, rings: Rings) -> go.Figure:
        figure = attention_figure(weights, rings, self.layer.value, self.head.value)
        return with_subtitle(figure, self._about)

    @property
    def _about(self) -> str:
        return described_runs(self.sentences.runs, self.sentences.where.place)

    def _show_heads(self) -> None:
        if self._read:
            self.heads.show(self._read.runs, self._read.source, self._read.target, self.sentences.where.place)

    def _start_details(self) -> None:
        if self._read:
            self.details.start("measuring", len(self._read.runs) + 1, self._details(self._read), waits=True)

    def _details(self, read: "_Read") -> Iterator[None]:
        """Fill the tables of the sentence in the background."""
        self.shifts.show(
            _shifts(read.runs, read.source, read.target, read.links) if read.target and read.links else pd.DataFrame(),
            why="This target has no word links.",
        )
        yield
        rows = []
        for run in read.runs:
            rows.append(_copies(run, read.source))
            self.copies.show(pd.DataFrame(rows))
            yield

    @property
    def _directed(self) -> list[Run]:
        return [self.sentences.directed(run) for run in self.runs.chosen]

    def _start_counting(self) -> None:
        """Show what is stored of whole texts, and count the rest in the background."""
        runs = self._directed
        if runs:
            self._show_measured()
            self.counting.start("counting peaks", 2 * len(runs), self._count(runs), waits=True)

    def _count(self, runs: Sequence[Run]) -> Iterator[None]:
        placed = [run for run in runs if PEAK_PLACES.fits(run)]
        for run in placed:
            PEAK_PLACES.of(run)
            yield
        if placed:
            found = PEAK_PLACES.view(placed)
            self.where.say(found.finding)
            self.strip.show(with_subtitle(found.figure, described_runs(placed, "sentences packed from dev")))
        else:
            self.where.say("These runs have no sentences with word links.")
        for run in runs:
            if (text := linked_sentences(run)) and not PEAK_COUNTS.answers(run):
                PEAK_COUNTS.of(run, corpus=text, part="dev")
                self._show_measured()
            yield

    def _show_measured(self) -> None:
        self.measured.show(pd.DataFrame([row for run in self._directed if (row := _measured(run))]))

    def _find(self) -> None:
        """Find sentences of the packed text in which the attention of the first run that has one is farthest off."""
        run = next((run for run in self.sentences.runs if PEAK_PLACES.fits(run)), None)
        text = self.sentences.chosen_text
        lines = farthest_off(PEAK_PLACES.of(run))[:_MANY] if run and text and text.packed else ()
        self.finder.offer(lines, "Only sentences packed with a run are searched, and only with word links.")

    def _contributions(self, read: "_Read") -> Iterator[None]:
        frames = []
        for run in read.runs:
            method, instead = self.explained.asked(run)
            found = contributions(system_of(run), read.source, read.target, method, instead)
            frames.append(found.assign(run=run.label))
            figure = contribution_figure(pd.concat(frames), method, read.rings)
            self.chart.show(with_subtitle(figure, self._about))
            yield
        self.answer.say(contributions_finding(pd.concat(frames), read.rings))

    def _choose_head(self, layer: int, head: int) -> None:
        """Show the heatmap of a head that was clicked."""
        if head and self.explained.is_attention:
            self.layer.value, self.head.value = layer, head

    def _links(self, run: Run) -> tuple[Collection[Link], str]:
        text, line = self.sentences.chosen_text, self.sentences.line
        if text is None or line is None:
            return (), ""
        if text not in self._kept:
            try:
                self._kept = {text: kept_links(text.corpus, text.split)}
            except CorpusError:
                return (), ""
        links, true = self._kept[text]
        return links[line - 1], "gold alignment" if true else "automatic alignment"

    def _pin(self) -> None:
        reference = self.sentences.reference if self.said.value == "reference" else None
        self.pinned.value = f"{self.sentences.source}\t{reference or ''}"
        self._pins.opened = True


def attention_page(workspace: Workspace | None = None) -> AttentionPage:
    """Return the page."""
    return AttentionPage(workspace or Workspace.find())


def _alignment(wanted: bool, target: str | None, origin: str) -> str:
    """Say what the rings are, if there are any, and whether a reference is `wanted` that is not there."""
    if wanted and target is None:
        return "There is no reference: each system's own translation is shown."
    return f"Rings: {origin}." if target and origin else "No alignment for this target."


def _weights(runs: list[Run], source: str, target: str | None) -> pd.DataFrame:
    frames = [attention(system_of(run), source, target).assign(run=run.label) for run in runs]
    return pd.concat(frames, ignore_index=True)


def _rings(runs: list[Run], source: str, target: str | None, links: Collection[Link]) -> Rings:
    """Return the links of words between the tokens of each run."""
    if target is None:
        return {}
    return {run.label: piece_links(pair_of_words(system_of(run).pipeline, source, target, links)) for run in runs}


def _shifts(runs: list[Run], source: str, target: str, links: Collection[Link]) -> pd.DataFrame:
    rows = []
    for run in runs:
        system = system_of(run)
        pair = pair_of_words(system.pipeline, source, target, links)
        rows.append(peak_shifts(run.label, [pair], forced_attention(system, [pair])))
    summary = shift_summary(pd.concat(rows), by=["run"]).set_index("run").reindex([run.label for run in runs])
    shown = summary.reset_index()[["run", "words", "mean", "left", "on", "right"]]
    return shown.rename(columns={"mean": "left shift"}).round(2)


def _copies(run: Run, source: str) -> dict[str, str]:
    translation = system_of(run).translate([source])[0]
    replaced = translation.replacements[0] if translation.replacements else ()
    copied = ", ".join(f"word {position + 1}: {word}" for position, _, word in sorted(replaced))
    return {"run": run.label, "translation": legible(translation.text), "copied for unknown words": copied or "none"}


def _measured(run: Run) -> dict[str, str | float]:
    """Return what is stored of a run's attention on whole texts, by column; empty if nothing is."""
    found = LEXICAL_CHOICE.answers(run)[:1]
    values = found[0].frame().set_index("quantity")["value"].to_dict() if found else {}
    shift = {"left shift": round(values["left shift"], 2)} if "left shift" in values else {}
    others = {shown: round(100 * values[name]) for name, shown in _SHARES.items() if name in values}
    known = shift | _first_word(run) | others
    return {"run": run.label, **known} if known else {}


def _first_word(run: Run) -> dict[str, str | float]:
    """Return the shares of attention peaks and of links on the first word: of the test text, or else of another."""
    parts = {answer.question.arguments["part"]: answer for answer in PEAK_COUNTS.answers(run)}
    if not parts:
        return {}
    part = max(parts)  # test, or else dev
    counts = parts[part].frame()
    first, linked = (round(100 * counts[of].sum() / counts["words"].sum()) for of in ("first", "first_linked"))
    over = f"{len(counts)} {part} sentences"
    return {"peaks on the first word, %": first, "links to the first word, %": linked, "both counted in": over}
