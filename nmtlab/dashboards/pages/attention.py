"""Attention of several systems on one sentence (thesis Figure 3.3), and other measures of what a word is read for."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import ipywidgets as widgets
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.needs import DECODING
from nmtlab.analysis.access.reference_links import kept_links
from nmtlab.analysis.access.word_pairs import forced_attention, pair_of_words, piece_links
from nmtlab.analysis.attention.places import linked_sentences
from nmtlab.analysis.attention.shift import PEAK_COUNTS, peak_shifts, shift_summary
from nmtlab.analysis.attention.weights import attention, attention_figure
from nmtlab.analysis.attribution.contributions import contribution_figure, contributions
from nmtlab.analysis.lexical.lexical_choice import LEXICAL_CHOICE
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Selection, lines_of
from nmtlab.dashboards.frame.sentences import SentenceChooser
from nmtlab.dashboards.frame.systems import left_out, system_of
from nmtlab.dashboards.parts.agreement import Agreement
from nmtlab.dashboards.parts.contrast import ContrastControls
from nmtlab.dashboards.parts.heads import Heads
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, columns, offer, show_if
from nmtlab.dashboards.widgets.note import Note, heading
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.errors import CorpusError
from nmtlab.figures.theme import isolated
from nmtlab.runs.run import Run
from nmtlab.text.corpora.links import Link
from nmtlab.workspace import Workspace

PAGE = About(
    place=30,
    group="Why",
    title="Attention",
    question=(
        "Where does each system attend as it generates a word, and how far is that from the source word it "
        "translates? (thesis Figure 3.3) Which source words does its choice depend on?"
    ),
    name="attention",
    needs=DECODING,
    tokens={
        ("source", True): "Which target words attend to it?",
        ("target", True): "Which source words does it depend on?",
    },
    illustrates=(PEAK_COUNTS, "left-shift", "alignment-error", "right-copies"),
)

FIRST = ("small-tr-en.tied.s1", "small-tr-en.fixnorm.s1", "small-tr-en.fixnorm-lex.s1")
_QUANTITIES = ("alignment error", "right copies")


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
        self.sentences = SentenceChooser(workspace, lambda: self.runs.chosen)
        self.layer = widgets.Dropdown(description="Layer", options=[1], layout={"width": "11em"})
        self.head = widgets.Dropdown(description="Head", options=[1], layout={"width": "11em"})
        self.explained = ContrastControls()
        self.heads = Heads(self._choose_head)
        self.agreement = Agreement(self.guarded)
        self.said = widgets.ToggleButtons(
            description="Target", options=[("reference", "reference"), ("own translation", "own")]
        )
        self.pin = button("Pin this sentence", self._pin, self.guarded, tooltip="Keep it below for comparison")
        self.pinned = widgets.Text(layout={"display": "none"})
        self._languages = ("", "")
        self._read: _Read | None = None
        self.chart, self.pinned_chart, self.hint = Chart(), Chart(), Note()
        self.shifts = Table(
            "In this sentence: mean left shift of attention from the linked word, in words (positive: too far left)"
        )
        self.copies = Table("Unknown words in each system's translation, and the source words copied for them")
        self.measured = Table(
            "Mean left shift in words (positive: too far left; more attention peaks than links on the first word are a "
            "sink there, not a shift by a word), alignment error rate and share of correct copies"
        )
        self.work = Work(self.guarded)
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
            Section(("selected", "show"), (), lambda: self.explained.follow(self.selection.token)),
            *self.sentences.sections,
            Section(("runs", "text"), (self.measured,), self._show_measured),
            Section(("runs", "text"), (self.agreement,), self._show_agreement),
            Section(pair, (self.selection, self.hint), self._read_pair),
            Section(pair | {"show"}, (), self._offer),
            Section(pair | explained | drawn, (self.chart,), self._draw),
            Section({"runs", "text", "pinned"} | drawn, (self.pinned_chart,), self._draw_pinned),
            Section(pair | {"attention"}, (self.heads,), self._show_heads),
            Section(pair | explained, (self.work, self.shifts, self.copies), self._start),
        ]
        body = [
            self.hint, self.selection, self.work, self.chart, self.pinned_chart,
            columns(self.shifts, self.copies), self.heads,
            heading("Over the whole test set"), self.measured,
            self.agreement,
        ]  # fmt: skip
        rail = [
            self.runs, self.sentences, self.said, self.explained.shown, self.layer, self.head, self.explained, self.pin,
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, rail, self.runs.refresh)

    def _show_agreement(self) -> None:
        if runs := self.sentences.runs:
            if runs[0].direction != self._languages:
                self._languages, self.pinned.value = runs[0].direction, ""
            self.agreement.show(runs, self.sentences.chosen_text)

    def _read_pair(self) -> None:
        """Read the attention of all systems on the sentence, and its links; say what is shown."""
        self._read = None
        chosen, runs, source = self.runs.chosen, self.sentences.runs, self.sentences.source
        if not source:
            self.hint.say("Type a sentence." if chosen else "")
            return
        target = self.sentences.reference if self.said.value == "reference" else None
        weights = _weights(runs, source, target)
        links, origin = self._links(runs[0])
        self._read = _Read(runs, source, target, weights, links, _rings(runs, source, target, links))
        self.selection.offer(chosen, self.sentences.where, lines_of(weights))
        alignment = f"Rings: {origin}." if target and links else "No alignment for this target."
        shown = isolated(target or "each system's own translation")
        self.hint.say(f"{left_out(chosen, runs)} {self.sentences.shown_source}  →  {shown}  —  {alignment}".strip())

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
        if self._read and self.explained.is_attention:
            self.chart.show(self._heatmaps(self._read.weights, self._read.rings))

    def _draw_pinned(self) -> None:
        if self.pinned.value and self.sentences.runs:
            source, _, target = self.pinned.value.partition("\t")
            self.pinned_chart.show(self._heatmaps(_weights(self.sentences.runs, source, target or None), {}))

    def _heatmaps(self, weights: pd.DataFrame, rings: Rings) -> go.Figure:
        return attention_figure(weights, rings, self.layer.value, self.head.value)

    def _show_heads(self) -> None:
        if self._read:
            self.heads.show(self._read.runs, self._read.source, self._read.target)

    def _start(self) -> None:
        if self._read:
            steps = 2 * len(self._read.runs) + 1 + len(self.runs.chosen)
            self.work.start("measuring", steps, self._details(self._read), waits=True)

    def _details(self, read: "_Read") -> Iterator[None]:
        """Fill the slower heatmaps, and the tables below them, in the background."""
        if not self.explained.is_attention:
            yield from self._contributions(read)
        if read.target and read.links:
            self.shifts.show(_shifts(read.runs, read.source, read.target, read.links))
        yield
        rows = []
        for run in read.runs:
            rows.append(_copies(run, read.source))
            self.copies.show(pd.DataFrame(rows))
            yield
        for run in self._directed:
            if (text := linked_sentences(run)) and not PEAK_COUNTS.answers(run):
                PEAK_COUNTS.of(run, corpus=text, part="dev")
                self._show_measured()
            yield

    @property
    def _directed(self) -> list[Run]:
        return [self.sentences.directed(run) for run in self.runs.chosen]

    def _show_measured(self) -> None:
        if self.sentences.runs:
            self.measured.show(pd.DataFrame([row for run in self._directed if (row := _measured(run))]))

    def _contributions(self, read: "_Read") -> Iterator[None]:
        frames = []
        for run in read.runs:
            asked = self.explained.asked(run)
            found = contributions(system_of(run), read.source, read.target, *asked)
            frames.append(found.assign(run=run.label))
            self.chart.show(contribution_figure(pd.concat(frames), self.explained.method, read.rings))
            yield

    def _choose_head(self, layer: int, head: int) -> None:
        """Show the heatmap of a head that was clicked."""
        if head and self.explained.is_attention:
            self.layer.value, self.head.value = layer, head

    def _links(self, run: Run) -> tuple[Collection[Link], str]:
        text, line = self.sentences.chosen_text, self.sentences.line
        if text is None or line is None:
            return (), ""
        try:
            links, true = kept_links(text.corpus, text.split)
        except CorpusError:
            return (), ""
        return links[line - 1], "gold alignment" if true else "automatic alignment"

    def _pin(self) -> None:
        reference = self.sentences.reference if self.said.value == "reference" else None
        self.pinned.value = f"{self.sentences.source}\t{reference or ''}"


def attention_page(workspace: Workspace | None = None) -> AttentionPage:
    """Return the page."""
    return AttentionPage(workspace or Workspace.find())


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
    summary = shift_summary(pd.concat(rows), by=["run"])
    shown = summary[["run", "words", "mean", "left", "on", "right"]]
    return shown.rename(columns={"mean": "left shift"}).round(2)


def _copies(run: Run, source: str) -> dict[str, str]:
    translation = system_of(run).translate([source])[0]
    replaced = translation.replacements[0] if translation.replacements else ()
    copied = ", ".join(f"word {position + 1}: {word}" for position, _, word in replaced)
    return {"run": run.label, "translation": translation.text, "copied for unknown words": copied or "none"}


def _measured(run: Run) -> dict[str, str | float]:
    """Return what is stored of a run's attention on whole texts, by column; empty if nothing is."""
    found = LEXICAL_CHOICE.answers(run)[:1]
    values = found[0].frame().set_index("quantity")["value"].round(3).to_dict() if found else {}
    shift = {"left shift": values["left shift"]} if "left shift" in values else {}
    others = {name: values[name] for name in _QUANTITIES if name in values}
    known = shift | _first_word(run) | others
    return {"run": run.label, **known} if known else {}


def _first_word(run: Run) -> dict[str, str | float]:
    """Return the shares of attention peaks and of links on the first word: of the test text, or else of another."""
    parts = {answer.question.arguments["part"]: answer for answer in PEAK_COUNTS.answers(run)}
    if not parts:
        return {}
    part = max(parts)  # test, or else dev
    counts = parts[part].frame()
    first, linked = (round(counts[of].sum() / counts["words"].sum(), 3) for of in ("first", "first_linked"))
    over = f"{len(counts)} {part} sentences"
    return {"peaks on the first word": first, "links to the first word": linked, "both counted in": over}
