"""Speed against quality: what `nmtlab efficiency` measured, with the Pareto front."""

from collections.abc import Collection
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.search.translation_speed import (
    COSTS,
    NOISE,
    PLACE,
    SETTING,
    efficiency_figure,
    efficiency_finding,
    frontier,
    medians,
    published_efficiency,
    stored_efficiency,
)
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import offer
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.workspace import Workspace

PAGE = About(
    place=12,
    group="Results",
    title="Efficiency",
    question="Which engine, precision and beam give the best translations for their time, memory or size?",
    name="efficiency",
)

_NONE = "Nothing measured yet: run 'nmtlab efficiency RUN' for one run or more."
_ELSEWHERE = (
    "The faint points that the legend offers, systems of the efficiency task of WNMT 2018 (Birch et al. 2018; "
    "newstest2015), were measured on another text and other hardware: do not compare them with these."
)
_IDLE = 0.5  # load average up to which a machine counts as idle
_COLUMNS = {
    "front": "Pareto", "run": "run", "engine": "engine", "precision": "precision", "beam_size": "beam",
    "batch_tokens": "batch tokens", "threads": "threads", "bleu": "BLEU", "milliseconds": "ms per sentence",
    "processor_milliseconds": "CPU ms per sentence",
    "words_per_second": "words per second", "memory_mib": "memory, MiB", "size_mib": "on disk, MiB", "rounds": "rounds",
}  # fmt: skip

_OFTEN_COMMON = ("run", "batch_tokens", "threads", "rounds")
"""Settings that are often the same in all lines, and then only widen the table."""


class EfficiencyPage(Page):
    """Settings measured on one text and machine, in a figure and a table."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._stored = self._found = self._shown = pd.DataFrame()
        self.text = widgets.Dropdown(description="Text", options=[])
        self.cost = widgets.Dropdown(description="Cost", options=[(name, cost) for cost, name in COSTS.items()])
        self.answer, self.hint, self.damaged, self.chart = Answer(), Note(), Note(), Chart()
        self.lines = Table("Settings: select one to mark it in the figure", pick="one", height="30em")
        self.chart.on_click(self._clicked)
        self._look()
        super().__init__(
            PAGE,
            {"text": self.text, "cost": self.cost, "line": self.lines},
            [
                Section(("text", "cost"), (), self._read),
                Section(("text", "cost"), (self.lines,), self._list),
                Section(("text", "cost"), (self.hint,), self._explain),
                Section(("text", "cost", "line"), (self.answer, self.chart), self._draw),
            ],
            [
                self.damaged,
                self.answer,
                self.chart,
                Fold("settings", "What was measured of each setting?", self.lines),
                Fold("method", "How was it measured?", self.hint),
            ],
            [self.text, self.cost],
            self._look,
        )

    def _look(self) -> Collection[str]:
        """Read what is stored, and return the changed names of the state."""
        stored, damaged = stored_efficiency(self._workspace)
        names = ", ".join(path.name for path in damaged)
        self.damaged.say(f"Damaged, and left out: {names}." if names else "")
        if stored.equals(self._stored):
            return ()
        self._stored, self._found = stored, medians(stored)
        offer(self.text, tuple(dict.fromkeys(_place(line) for line in self._found.itertuples())))
        return ("text",)

    def _read(self) -> None:
        self._shown = pd.DataFrame()
        if self.text.value:
            found = self._found[[_place(line) == self.text.value for line in self._found.itertuples()]]
            keys = pd.Index([_key(line) for line in found.itertuples()])
            self._shown = found.assign(frontier=frontier(found, self.cost.value, margin=NOISE)).set_index(keys)

    def _list(self) -> None:
        if len(self._shown):
            self.lines.show(_table(self._shown))

    def _explain(self) -> None:
        if len(self._shown):
            self.hint.say(f"{_measured(self._shown)} {_ELSEWHERE}")

    def _draw(self) -> None:
        if self._shown.empty:
            self.answer.say(_NONE if self._stored.empty else "Choose what to show.")
        else:
            title = f"BLEU and {COSTS[self.cost.value].partition(',')[0]} on {self._shown['corpus'].iloc[0]}"
            chosen = self.lines.value or ""
            self.chart.show(efficiency_figure(self._shown, self.cost.value, title, published_efficiency(), chosen))
            self.answer.say(efficiency_finding(self._shown, self.cost.value))

    def _clicked(self, point: dict[str, Any]) -> None:
        if point["customdata"]:
            self.lines.choose(point["customdata"][:1])


def efficiency_page(workspace: Workspace | None = None) -> EfficiencyPage:
    """Return the page."""
    return EfficiencyPage(workspace or Workspace.find())


def _place(line: tuple) -> str:
    """Return the text and the kind of machine of a line, whose numbers can be compared."""
    corpus, split, sentences, machine = (getattr(line, name) for name in PLACE)
    return f"{corpus} {split}, {sentences:,} sentences; {machine}"


def _key(line: tuple) -> str:
    return " · ".join(str(getattr(line, name)) for name in SETTING)


def _table(found: pd.DataFrame) -> pd.DataFrame:
    """Return lines for display, the better ones first."""
    marked = found.assign(front=found["frontier"].map({True: "●", False: ""})).sort_values("bleu", ascending=False)
    return marked[list(_COLUMNS)].drop(columns=_common(found)).rename(columns=_COLUMNS)


def _common(found: pd.DataFrame) -> list[str]:
    """Return the settings that all of several lines have in common."""
    return [name for name in _OFTEN_COMMON if len(found) > 1 and found[name].nunique() == 1]


def _measured(found: pd.DataFrame) -> str:
    """Say how some lines were measured."""
    load = found["load_average"].max()
    beside = (
        f" Other work ran on the machine (load average {load:.1f}): take processor time, and ratios."
        if load > _IDLE
        else ""
    )
    signatures = "; ".join(found["signature"].unique())
    common = ", ".join(f"{_COLUMNS[name]} {found[name].iloc[0]}" for name in _common(found))
    common = f" The same everywhere: {common}." if common else ""
    return (
        "Medians of the rounds; each measurement runs in a separate process, less the time of an empty input. ● and a "
        f"filled point: more than {NOISE:g} BLEU better than the cheaper ones of these; less may be chance on 1,000 "
        "sentences. Sizes are of the files on disk: the weights of nmtlab are stored in half precision if the run is "
        f"packed, those of CTranslate2 in the precision named.{beside}{common} BLEU is {signatures}."
    )
