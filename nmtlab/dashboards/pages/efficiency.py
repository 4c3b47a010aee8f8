"""Speed against quality: what `nmtlab efficiency` measured, with the Pareto front, and where the time goes."""

import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

import ipywidgets as widgets
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.search.efficiency_figure import COSTS, SCORES, efficiency_figure, efficiency_finding, setting
from nmtlab.analysis.search.speed_over_seeds import against, fastest_within, over_seeds, spread
from nmtlab.analysis.search.stored_speed import (
    NOISE,
    PLACE,
    PRICES,
    SETTING,
    marked,
    medians,
    priced,
    published_efficiency,
    stored_efficiency,
    stored_times,
)
from nmtlab.analysis.search.time_figures import (
    parts_figure,
    parts_finding,
    sentences_figure,
    sentences_finding,
    steps_figure,
    steps_finding,
)
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, offer, row, show_if
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.figures.view import View
from nmtlab.figures.words import number
from nmtlab.jobs import Job
from nmtlab.runs.listing import open_run
from nmtlab.runs.naming import short_names
from nmtlab.runs.packed import open_evidence
from nmtlab.runs.run import Run
from nmtlab.thesis.shown.distillation import distillation_view
from nmtlab.thesis.tables.students import DISTILLED
from nmtlab.workspace import Workspace

PAGE = About(
    place=12,
    group="Results",
    title="Efficiency",
    question="Which system gives the best translations for its time, memory, size or price, and where does time go?",
    name="efficiency",
)

_NONE = "Nothing measured yet: run 'nmtlab efficiency RUN' for one run or more."
_ELSEWHERE = (
    "The grey points, systems of the efficiency task of WNMT 2018 (Birch et al. 2018; newstest2015, prices on "
    "newstest2014), were measured on another text and other hardware: do not compare them with these."
)
_UNTIMED = "Where the time goes was not measured on this text: 'nmtlab efficiency RUN' measures it with the rest."
_UNTAUGHT = f"Not measured: 'nmtlab reproduce {DISTILLED.name} --scale small --save' trains teachers and students."
_JOB = ".efficiency"  # hidden among the jobs, which are trainings
_MEASURE = (sys.executable, "-m", "nmtlab", "efficiency")
_IDLE = 0.5  # load average up to which a machine counts as idle
_COLUMNS = {
    "front": "Pareto", "run": "run", "engine": "engine", "precision": "precision", "beam_size": "beam",
    "shortlist": "shortlist", "batch_tokens": "batch tokens", "threads": "threads", "bleu": "BLEU", "chrf": "chrF",
    "milliseconds": "ms per sentence",
    "processor_milliseconds": "CPU ms per sentence",
    "words_per_second": "words per second", "dollars": "USD per million words", "memory_mib": "memory, MiB",
    "size_mib": "on disk, MiB", "rounds": "rounds", "seeds": "seeds",
}  # fmt: skip

_TIMES = ("milliseconds", "processor_milliseconds")
_NO_SPEED = "Choose a time as the cost."
_LOSSES = (0.5, 2.0)
"""Points of a score that a faster system may lose."""

_OFTEN_COMMON = ("run", "shortlist", "batch_tokens", "threads", "rounds", "seeds")
"""Settings that are often the same in all lines, and then only widen the table."""


class EfficiencyPage(Page):
    """Settings measured on one text and machine, in a figure and a table, and where their time goes."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._names: dict[str, str] = {}
        self._stored = self._found = self._each = self._shown = self._times = pd.DataFrame()
        self.text = widgets.Dropdown(description="Text", options=[])
        self.score = widgets.Dropdown(description="Quality", options=[("BLEU", "bleu")])
        self.cost = widgets.Dropdown(description="Cost", options=[(name, cost) for cost, name in COSTS.items()])
        self.price = widgets.Text(description="USD an hour", value=f"{PRICES['cpu']}", continuous_update=False)
        self.run = widgets.Text(description="Run", placeholder="name of a run", continuous_update=False)
        self.answer, self.hint, self.damaged, self.chart, self.job = Answer(), Note(), Note(), Chart(), Note()
        self.lines = Table("Settings: select one to mark it in the figure", pick="one", height="30em")
        self.ratios, self.faster = Note(), Table("Against the selected setting, or the slowest")
        self.taught = ViewSection(_distillation, ("text",), "Means over seeds", missing=lambda: _UNTAUGHT)
        self.chart.on_click(self._clicked)
        state = {
            "text": self.text, "score": self.score, "cost": self.cost, "price": self.price, "line": self.lines,
        }  # fmt: skip
        folds = [
            self._fold("parts", "Where does the time go?", parts_figure, parts_finding),
            self._fold("steps", "What does a step cost as sentences end?", steps_figure, steps_finding),
            self._fold("alone", "How long does one sentence take?", sentences_figure, sentences_finding),
        ]
        body = [
            self.damaged, self.answer, self.chart, *(fold for _, fold in folds),
            Fold("faster", "How many times as fast, for how much less?", self.ratios, self.faster),
            Fold("distillation", "What does a teacher do to its students' search?", self.taught),
            Fold("settings", "What was measured of each setting?", self.lines),
            Fold("method", "How was it measured?", self.hint),
            Fold("measure", "Measure a run", row(self.run, button("Measure", self._measure, self.guarded)), self.job),
        ]  # fmt: skip
        self._look()
        sections = [*self._sections(), *(section for section, _ in folds)]
        super().__init__(PAGE, state, sections, body, [self.text, self.score, self.cost, self.price], self._look)

    def _sections(self) -> list[Section]:
        chosen = ("text", "score", "cost", "price")
        return [
            Section(chosen, (), self._read),
            Section(chosen, (self.lines,), self._list),
            Section(("text", "score", "cost"), (self.hint,), self._explain),
            Section((*chosen, "line"), (self.answer, self.chart), self._draw),
            Section((*chosen, "line"), (self.ratios, self.faster), self._show_ratios),
        ]

    def _fold(
        self,
        name: str,
        title: str,
        figure: Callable[[pd.DataFrame, str], go.Figure],
        finding: Callable[[pd.DataFrame], str],
    ) -> tuple[Section, Fold]:
        """Return a section on where the time goes, and the fold with it."""
        said, chart = Note(), Chart()

        def show() -> None:
            times = self._times[[_place(line) == self.text.value for line in self._times.itertuples()]]
            said.say(_UNTIMED if times.empty else f"{finding(times)}{_beside(times)}")
            if len(times):
                chart.show(figure(times, f"{title} On {times['corpus'].iloc[0]}"))

        return Section(("text",), (said, chart), show), Fold(name, title, said, chart)

    def _look(self) -> Collection[str]:
        """Read what is stored, and return the changed names of the state."""
        self._tell_job()
        (stored, damaged), (times, also) = stored_efficiency(self._workspace), stored_times(self._workspace)
        names = ", ".join(path.name for path in (*damaged, *also))
        self.damaged.say(f"Damaged, and left out: {names}." if names else "")
        if stored.equals(self._stored) and times.equals(self._times):
            return ()
        self._stored, self._found, self._times = stored, medians(stored), times
        offer(self.text, tuple(dict.fromkeys(_place(line) for line in self._found.itertuples())))
        return ("text",)

    def _measure(self) -> None:
        """Measure the named run in the background; the page shows it once it is measured."""
        run = open_run(self.run.value.strip(), self._workspace)
        Job.start(self._workspace.jobs / _JOB, [*_MEASURE, run.name])
        self._tell_job()

    def _tell_job(self) -> None:
        """Say how far the last measurement is."""
        with suppress(NmtlabError):  # there was none
            job = Job.open(self._workspace.jobs / _JOB)
            state = "Measuring" if job.alive else job.last_error or "Measured"
            self.job.say(f"{state}. {job.tail(1)}" if job.alive or not job.last_error else state)

    def _read(self) -> None:
        self._shown = pd.DataFrame()
        asked = self.cost.value == "dollars"
        show_if(asked, self.price)
        if self.text.value:
            found = self._found[[_place(line) == self.text.value for line in self._found.itertuples()]]
            known = [(name, score) for score, name in SCORES.items() if found[score].notna().any()]
            offer(self.score, known)
            self._each = priced(found, _number(self.price.value) if asked else PRICES["cpu"])
            systems = over_seeds(self._each)
            keys = pd.Index([_key(line) for line in systems.itertuples()])
            self._shown = marked(systems, self.cost.value, self.score.value).set_index(keys)
            self._names = self._short_names(systems[systems["engine"] != "echo"])

    def _list(self) -> None:
        if len(self._shown):
            self.lines.show(_table(self._named(self._shown), self.cost.value, self.score.value))

    def _explain(self) -> None:
        if len(self._shown):
            self.hint.say(_measured(self._shown) + (f" {_ELSEWHERE}" if self.score.value == "bleu" else ""))

    def _draw(self) -> None:
        if self._shown.empty:
            self.answer.say(_NONE if self._stored.empty else "Choose what to show.")
        else:
            cost, score = self.cost.value, self.score.value
            title = f"{SCORES[score]} and {COSTS[cost].partition(',')[0]} on {self._shown['corpus'].iloc[0]}"
            shown, chosen = self._named(self._shown), self.lines.value or ""
            self.chart.show(efficiency_figure(shown, cost, title, published_efficiency(), chosen, score))
            self.answer.say(efficiency_finding(shown, cost, score))

    def _show_ratios(self) -> None:
        """Compare with the selected setting, or the slowest; other costs than times say nothing of speed."""
        cost, score = self.cost.value, self.score.value
        known = [
            frame[(frame["engine"] != "echo") & (frame[cost] > 0)] for frame in (self._shown, self._each) if len(frame)
        ]
        if not (known and len(known[0]) and cost in _TIMES):
            self.ratios.say(_NO_SPEED if known else "")
            self.faster.show(pd.DataFrame())
            return
        systems, each = known
        chosen = self.lines.value if self.lines.value in systems.index else systems[cost].idxmax()
        named = self._named(systems)
        found = self._named(against(each, systems.loc[chosen], cost, score))
        found = found.assign(label=[setting(row, named) for _, row in found.iterrows()])
        alike = found[found["engine"] == systems.loc[chosen, "engine"]]
        base = setting(named.loc[chosen], named)
        self.ratios.say(f"Against {base}, with the same engine: {fastest_within(alike, _LOSSES, SCORES[score])}.")
        self.faster.show(_ratios(found, SCORES[score]))

    def _short_names(self, systems: pd.DataFrame) -> dict[str, str]:
        """Return what some systems are called, by their names; those whose runs are not here keep theirs."""
        runs: dict[str, Run] = {}
        for name, one in zip(systems["run"], systems["first"], strict=True):
            with suppress(NmtlabError):
                runs[name] = open_evidence(one, self._workspace) or open_run(one, self._workspace)
        short = short_names([*runs.values()], [run.name for name, run in runs.items() if name != run.name])
        return {name: short[run.name] for name, run in runs.items()} if len(runs) > 1 else {}

    def _named(self, found: pd.DataFrame) -> pd.DataFrame:
        return found.assign(run=[self._names.get(name, name) for name in found["run"]])

    def _clicked(self, point: dict[str, Any]) -> None:
        if point["customdata"]:
            self.lines.choose(point["customdata"][:1])


def efficiency_page(workspace: Workspace | None = None) -> EfficiencyPage:
    """Return the page."""
    return EfficiencyPage(workspace or Workspace.find())


def _distillation() -> View | None:
    with suppress(NmtlabError):  # not measured
        return distillation_view()
    return None


def _number(price: str) -> float:
    """Return a price that was typed.

    Raises:
        NmtlabError: it is no number.
    """
    try:
        return float(price)
    except ValueError as error:
        raise NmtlabError(f"price {price!r}: no number", "give US dollars an hour, as 0.102") from error


def _place(line: tuple) -> str:
    """Return the text and the kind of machine of a line, whose numbers can be compared."""
    corpus, split, sentences, machine = (getattr(line, name) for name in PLACE)
    return f"{corpus} {split}, {sentences:,} sentences; {machine}"


def _key(line: tuple) -> str:
    return " · ".join(str(getattr(line, name)) for name in SETTING)


def _table(found: pd.DataFrame, cost: str, score: str) -> pd.DataFrame:
    """Return lines for display, the better ones first."""
    lines = found.assign(front=found["frontier"].map({True: "●", False: ""})).sort_values(score, ascending=False)
    asked = {"chrf": found["chrf"].notna().any(), "dollars": cost == "dollars"}
    left_out = [*_common(found), *(name for name, is_asked in asked.items() if not is_asked)]
    return lines[list(_COLUMNS)].drop(columns=left_out).rename(columns=_COLUMNS)


def _ratios(found: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return how the settings compare with another, for display, the fastest first."""
    lines = found.sort_values("faster", ascending=False)
    shown = {
        "setting": lines["label"],
        "times as fast": [number(value, 2) for value in lines["faster"]],
        "95 %": [spread(row, "faster", 2) for _, row in lines.iterrows()],
        score: [number(value, 2, sign=True) for value in lines["gain"]],
        f"{score}, 95 %": [spread(row, "gain", 2, sign=True) for _, row in lines.iterrows()],
        "seeds": lines["seeds"],
    }
    return pd.DataFrame(shown)


def _common(found: pd.DataFrame) -> list[str]:
    """Return the settings that all of several systems have in common."""
    systems = found[found["engine"] != "echo"]
    return [name for name in _OFTEN_COMMON if len(systems) > 1 and systems[name].nunique() == 1]


def _beside(found: pd.DataFrame) -> str:
    """Warn of other work that ran beside a measurement."""
    load = found["load_average"].max()
    busy = f" Other work ran on the machine (load average {load:.1f}) and lengthens all times: compare their ratios."
    return busy if load > _IDLE else ""


def _measured(found: pd.DataFrame) -> str:
    """Say how some lines were measured."""
    beside = _beside(found[found["engine"] != "echo"])
    signatures = "; ".join(found["signature"].unique())
    common = ", ".join(f"{_COLUMNS[name]} {found[name].iloc[0]}" for name in _common(found))
    common = f" The same everywhere: {common}." if common else ""
    return (
        "Medians of the rounds, with 95 % intervals of resampled test sets where they are known; of several seeds, the "
        "means, with 95 % intervals over them (Student's t; Welch's of differences). Each measurement runs in a "
        "separate process, less the time of an empty input. ● and a filled point: more than "
        f"{NOISE:g} points better than the cheaper ones of these; less may be chance on 1,000 sentences. A line joins "
        "two points that differ in one setting: point at its middle to see what that does. echo copies the source. The "
        "price of a million words is that of the hours that they take. Sizes are of the files on disk: the weights of "
        "nmtlab are stored in half precision if the run is packed, those of CTranslate2 in the precision named."
        f"{beside}{common} BLEU is {signatures}."
    )
