"""What models lose with their smallest weights, or at a lower rank."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import ipywidgets as widgets
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.lexical.pruning import (
    CUT,
    EVERY,
    PRUNED,
    PRUNING,
    PUBLISHED,
    SHARES,
    SHOWN,
    at_share,
    cut_figure,
    pruning_figure,
)
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import described_runs, left_out, of_one_pair
from nmtlab.dashboards.parts.text_menu import TextMenu
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.figures.theme import with_subtitle
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

PAGE = About(
    place=94,
    group="Why",
    title="Pruned weights",
    question="What does a model lose with its smallest weights, or at a lower rank, and which words go first?",
    name="pruning",
    needs=PRUNING.needs,
)

FIRST = ("small-tr-en.tied.s1", "small-tr-en.fixnorm.s1")
_SAMPLE = 100
_SETTINGS = len(PRUNED) * len(SHARES)
_NO_TEXT = "No text of these runs is here: open a workspace with their corpus, or choose packed runs with sentences."


class _Way(NamedTuple):
    """How models are made lighter: the analysis, its figure for a share, and how to read it."""

    analysis: Analysis
    figure: Callable[[pd.DataFrame, float], go.Figure]
    read: str


_WAYS = {
    "values": _Way(
        PRUNING,
        pruning_figure,
        "The same share of every matrix is set to 0, and nothing is trained again. See, Luong and Manning (2016) take "
        f"{percent(PUBLISHED)} from a model of 216 M weights at hardly any loss.",
    ),
    "rank": _Way(
        CUT,
        cut_figure,
        "Every matrix loses the same share of its singular values, the smallest ones, and nothing is trained again. It "
        "is stored as two factors where that takes fewer numbers.",
    ),
}
"""By their key in the address."""

_READ = (
    f"{_SAMPLE} sentences of the text, at most. {{}} On the right, tokens of the references but UNKs: solid with "
    "lighter word vectors, dotted with a lighter network between them."
)
_NAMES = {
    "run": "run", "pruned": "pruned", "share": "taken of it, %", "saved": "saved of all, %", "bleu": "BLEU",
    EVERY: "loss of a token, nats",
}  # fmt: skip


class PruningPage(Page):
    """BLEU by the share that is pruned, and the loss of tokens by their frequency; computed in steps, and stored."""

    def __init__(self, workspace: Workspace) -> None:
        self.runs = RunChooser(workspace, PAGE.needs, FIRST)
        self.text = TextMenu(workspace)
        shares = [(percent(share), share) for share in SHARES[1:]]
        self.share = widgets.Dropdown(description="Taken", options=shares, value=SHOWN)
        self.how = widgets.Dropdown(
            description="Lighter by", options=[("smallest values at 0", "values"), ("a lower rank", "rank")]
        )
        self.answer, self.chart, self.hint, self.work = Answer(), Chart(), Note(), Work(self.guarded)
        self.table = Table("What is lost: BLEU, and nats a token by its frequency in training")
        state = {"runs": self.runs.table, "text": self.text, "how": self.how, "share": self.share}
        sections = [
            Section(("runs",), (), self._offer),
            Section(("runs", "text", "how"), (self.work, self.answer, self.hint), self._begin),
            Section(("runs", "text", "how", "share"), (self.chart, self.table), self._draw),
        ]
        body = [
            self.answer, self.work, self.chart, self.hint,
            Fold("losses", "How much does each part lose?", self.table),
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs, self.text, self.how, self.share], self.runs.refresh)

    @property
    def _shown(self) -> list[Run]:
        """The runs that translate in the direction of the chosen text, opened in it."""
        text = self.text.text
        return of_one_pair(self.runs.chosen, text.corpus.direction) if text else []

    def _offer(self) -> None:
        self.text.fill(of_one_pair(self.runs.chosen))

    def _begin(self) -> None:
        """Say what is stored, and compute the rest in the background."""
        runs = self._shown
        if not runs:
            self.answer.say(_NO_TEXT if self.runs.chosen else "Select a run with weights.")
            return
        self.hint.say(f"{left_out(self.runs.chosen, runs)} {_READ.format(self._way.read)}".strip())
        known = self._known()
        waiting = "Being computed: the text is translated and forced."
        self.answer.say(self._way.analysis.finding(known) if len(known) else waiting)
        missing = [run for run in runs if self._way.analysis.stored(run, **self._asked) is None]
        if missing:
            self.work.start("measuring", len(missing) * _SETTINGS, self._compute(missing, self._way.analysis))

    def _compute(self, runs: list[Run], how: Analysis) -> Iterator[int]:
        for run in runs:
            yield from how.steps(run, **self._asked)
            self.answer.say(how.finding(self._known()))
            self._draw()

    @property
    def _way(self) -> _Way:
        return _WAYS[self.how.value]

    @property
    def _asked(self) -> dict[str, object]:
        return {**self.text.arguments, "sample": _SAMPLE}

    def _known(self) -> pd.DataFrame:
        """Return what is stored of the shown runs."""
        stored = [(run.label, self._way.analysis.stored(run, **self._asked)) for run in self._shown]
        known = [found.assign(run=label) for label, found in stored if found is not None and len(found)]
        return pd.concat(known, ignore_index=True) if known else pd.DataFrame()

    def _draw(self) -> None:
        found = self._known()
        if found.empty:
            return
        subtitle = described_runs(self._shown, str(self.text.value))
        self.chart.show(with_subtitle(self._way.figure(found, self.share.value), subtitle))
        table = at_share(found, self.share.value)
        table[["share", "saved"]] = (100 * table[["share", "saved"]]).round()
        self.table.show(table.assign(pruned=table["pruned"].map(PRUNED)).round(2).rename(columns=_NAMES))


def pruning_page(workspace: Workspace | None = None) -> PruningPage:
    """Return the page."""
    return PruningPage(workspace or Workspace.find())
