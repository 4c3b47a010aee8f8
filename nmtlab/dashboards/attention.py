"""Attention of several systems in one sentence (thesis Figure 3.3)."""

from collections.abc import Collection, Iterator, Mapping

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.attention import attention_of, peak_shifts, shift_summary
from nmtlab.analysis.lexical_choice import lexical_choice
from nmtlab.analysis.measure import answers
from nmtlab.analysis.reference_links import kept_links
from nmtlab.analysis.word_pairs import forced_attention, pair_of_words, piece_links
from nmtlab.dashboards.about import ATTENTION
from nmtlab.dashboards.chart import Chart
from nmtlab.dashboards.columns import columns, row
from nmtlab.dashboards.page import Note, Page, heading
from nmtlab.dashboards.runs import RunChooser
from nmtlab.dashboards.sentences import SentenceChooser
from nmtlab.dashboards.systems import can_decode, of_one_pair, system_of
from nmtlab.dashboards.table import Table
from nmtlab.dashboards.work import Work
from nmtlab.errors import CorpusError
from nmtlab.plots import attention_figure
from nmtlab.runs.run import Run
from nmtlab.text.links import Link
from nmtlab.workspace import Workspace

FIRST = ("small-tr-en.tied.s1", "small-tr-en.fixnorm.s1", "small-tr-en.fixnorm-lex.s1")
_QUANTITIES = ("left shift", "alignment error", "right copies")


class AttentionPage(Page):
    """Heatmaps of one sentence, the links of its words over them, what is copied, and a pinned sentence to compare."""

    def __init__(self, workspace: Workspace) -> None:
        self.runs = RunChooser(workspace, accepts=can_decode, first=FIRST)
        self.sentences = SentenceChooser(workspace)
        self.layer = widgets.Dropdown(description="Layer", options=[1], layout={"width": "11em"})
        self.head = widgets.Dropdown(description="Head", options=[1], layout={"width": "11em"})
        self.said = widgets.ToggleButtons(
            description="Target", options=[("reference", "reference"), ("own translation", "own")]
        )
        self.pin = widgets.Button(description="Pin this sentence", tooltip="Keep it below, to compare others with it")
        self.pinned = widgets.Text(layout={"display": "none"})
        self.chart, self.pinned_chart, self.hint = Chart(), Chart(), Note()
        self.pinned_chart.layout.display = "none"
        self.shifts = Table("In this sentence: distance of attention's peak from the linked word, in words")
        self.copies = Table("Unknown words in own translations, and what is copied for them")
        self.measured = Table("Over the whole test text, as measured (left shift in words; the others are shares)")
        self.work = Work(self.guarded)
        self.pin.on_click(lambda _: self._pin())
        state = {
            "runs": self.runs.table, **self.sentences.state, "target": self.said, "layer": self.layer,
            "head": self.head, "pinned": self.pinned,
        }  # fmt: skip
        body = [
            columns(self.runs, self.sentences),
            row(self.said, self.layer, self.head, self.pin),
            self.hint, self.chart, self.pinned_chart,
            self.work, columns(self.shifts, self.copies),
            heading("And on the whole?"), self.measured,
        ]  # fmt: skip
        super().__init__(ATTENTION, state, self._answer, body, self.runs.refresh)

    def _answer(self, changed: set[str]) -> None:
        runs = self.runs.chosen
        if "runs" in changed:
            self.sentences.offer(runs)
            self.measured.show(_measured(runs))
        elif "text" in changed:
            self.sentences.show()
        source = self.sentences.source
        if not runs or not source:
            self.hint.say("Pick runs that have their weights here, and a sentence.")
            return
        target = self.sentences.reference if self.said.value == "reference" else None
        runs = of_one_pair(runs)
        weights = _weights(runs, source, target)
        self._offer_heads(weights)
        links, whose = self._links(runs[0])
        self._draw(self.chart, weights, _rings(runs, source, target, links) if target else {})
        self._draw_pinned(runs, changed)
        if changed - {"layer", "head", "pinned"}:
            self.work.start("looking closer", len(runs) + 1, self._details(runs, source, target, links), waits=True)
        told = f"Rings: {whose}." if target and links else "There are no links for this sentence."
        self.hint.say(f"{source}  →  {target or 'what each system says itself'}  —  {told}")

    def _details(self, runs: list[Run], source: str, target: str | None, links: Collection[Link]) -> Iterator[None]:
        """Fill the tables below the heatmaps, which take longer: behind them, and not at all if one goes on at once."""
        self.shifts.show(_shifts(runs, source, target, links))
        yield
        rows = []
        for run in runs:
            rows.append(_copies(run, source))
            self.copies.show(pd.DataFrame(rows))
            yield

    def _offer_heads(self, weights: pd.DataFrame) -> None:
        for control, column in ((self.layer, "layer"), (self.head, "head")):
            options = tuple(range(1, int(weights[column].max()) + 1))
            if options != tuple(control.options):
                before = control.value
                control.options = options
                control.value = before if before in options else options[-1]

    def _links(self, run: Run) -> tuple[Collection[Link], str]:
        text, line = self.sentences.chosen_text, self.sentences.line
        if text is None or line is None:
            return (), ""
        try:
            links, true = kept_links(text.corpus, text.split)
        except CorpusError:
            return (), ""
        return links[line - 1], "words that belong together" if true else "words that an aligner has put together"

    def _draw(self, chart: Chart, weights: pd.DataFrame, links: Mapping[str, Collection[Link]]) -> None:
        chart.show(attention_figure(weights, links, self.layer.value, self.head.value))

    def _pin(self) -> None:
        reference = self.sentences.reference if self.said.value == "reference" else None
        self.pinned.value = f"{self.sentences.source}\t{reference or ''}"

    def _draw_pinned(self, runs: list[Run], changed: set[str]) -> None:
        if not self.pinned.value or not changed & {"pinned", "runs", "layer", "head"}:
            return
        source, _, target = self.pinned.value.partition("\t")
        self._draw(self.pinned_chart, _weights(runs, source, target or None), {})
        self.pinned_chart.layout.display = ""


def attention_page(workspace: Workspace | None = None) -> AttentionPage:
    """Return the page."""
    return AttentionPage(workspace or Workspace.find())


def _weights(runs: list[Run], source: str, target: str | None) -> pd.DataFrame:
    frames = [attention_of(run.name, system_of(run), source, target) for run in runs]
    return pd.concat(frames, ignore_index=True)


def _rings(runs: list[Run], source: str, target: str, links: Collection[Link]) -> dict[str, Collection[Link]]:
    """Return the links of words between the tokens of each run."""
    return {run.name: piece_links(pair_of_words(system_of(run).pipeline, source, target, links)) for run in runs}


def _shifts(runs: list[Run], source: str, target: str | None, links: Collection[Link]) -> pd.DataFrame:
    if target is None or not links:
        return pd.DataFrame()
    rows = []
    for run in runs:
        system = system_of(run)
        pair = pair_of_words(system.pipeline, source, target, links)
        rows.append(peak_shifts(run.name, [pair], forced_attention(system, [pair])))
    summary = shift_summary(pd.concat(rows), by=["run"])
    return summary[["run", "words", "mean", "left", "on", "right"]].round(2)


def _copies(run: Run, source: str) -> dict[str, str]:
    translation = system_of(run).translate([source])[0]
    replaced = translation.replacements[0] if translation.replacements else ()
    copied = ", ".join(f"{place + 1}. word: {word}" for place, _, word in replaced)
    return {"run": run.name, "translation": translation.text, "copied for unknown words": copied or "none"}


def _measured(runs: list[Run]) -> pd.DataFrame:
    rows = []
    for run in runs:
        for answer in answers(run, lexical_choice)[:1]:
            values = answer.frame().set_index("quantity")["value"]
            rows.append({"run": run.name, **{name: round(values[name], 3) for name in _QUANTITIES if name in values}})
    return pd.DataFrame(rows)
