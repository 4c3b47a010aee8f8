"""A person's grids, and the tables of the thesis beside the published values, down to trainings and sentences."""

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.metric import Metric
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.links import line_key
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.parts.trainings import Trainings
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import offer, show_if
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.grids.declared.declaration import GRID
from nmtlab.grids.declared.declaration import Table as Declaration
from nmtlab.grids.declared.labels import caveats, drawn_labels, labelled, published_name, system_labels
from nmtlab.grids.results.collected import published
from nmtlab.grids.results.judgement import GRID_RULE, RULE
from nmtlab.grids.results.measures import measures_of
from nmtlab.grids.results.results import Results
from nmtlab.grids.results.scored import Scored
from nmtlab.grids.results.signatures import printed_signatures, signatures
from nmtlab.grids.results.stored_grids import stored_grids
from nmtlab.grids.results.summary import in_words, rounded, with_published
from nmtlab.grids.running.cells import NOT_RUN
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims, overall
from nmtlab.thesis.measured import all_measured
from nmtlab.thesis.shown.tables import Shown, table_figure, table_finding
from nmtlab.workspace import Workspace

PAGE = About(
    place=10,
    group="Results",
    title="Tables",
    question=(
        "Which systems differ, in your grids and in the tables of the thesis, and how do these compare with what was "
        "published?"
    ),
    name="tables",
)

_FIRST = "table-3.6.small"


class TablesPage(Page):
    """A table with its figure, the trainings of the selected line and the sentences of the selected training."""

    def __init__(self, workspace: Workspace) -> None:
        grids = stored_grids(workspace)
        self._stored = {one.name: one for one in (*grids, *all_measured(workspace))}
        titles = [(_title(one), name) for name, one in self._stored.items()]
        self.table = widgets.Dropdown(description="Table", options=titles)
        self.measure = widgets.Dropdown(description="Measure", options=[])
        self.draw = widgets.ToggleButtons(
            description="Draw", options=[("differences", "difference"), ("values", "value")]
        )
        self.answer, self.chart, self.hint = Answer(), Chart(), Note()
        self.lines = Table("Means over the seeds: select a line for its trainings", pick="one", height="24em")
        self.claims = Table("Claims", height="24em")
        self.trainings, self._workspace = Trainings(workspace, PAGE), workspace
        self._cells = self._whole = self._summary = self._begun = pd.DataFrame()
        self._drawn_lines: dict[str, str] = {}
        self.chart.on_click(self._clicked)
        if _FIRST in self._stored and not grids:
            self.table.value = _FIRST
        state = {
            "table": self.table, "measure": self.measure, "draw": self.draw, "line": self.lines,
            "training": self.trainings.table, "sentence": self.trainings.lines, "selected": self.trainings.selection,
        }  # fmt: skip
        line = {"table", "measure", "line"}
        sections = [
            Section(("table",), (), self._open),
            Section(("table",), (self.claims,), self._judge),
            Section(("table", "measure"), (), self._sum_up),
            Section(("table", "measure"), (self.hint,), self._explain),
            Section(("table", "measure"), (self.lines,), self._list),
            Section(("table", "measure", "draw"), (self.answer, self.chart), self._draw),
            Section(line, (self.trainings.table,), self._offer),
            Section(line | {"training"}, (self.trainings.lines,), self.trainings.look),
            Section(line | {"training", "sentence"}, (self.trainings.selection,), self.trainings.look_closer),
        ]
        self._behind = Fold("behind", "Which trainings and sentences are behind a number?", self.lines, self.trainings)
        body = [
            self.answer, self.chart, self._behind,
            Fold("claims", "What do the claims about this table say?", self.claims),
            Fold("sources", "Where are the numbers from, and how are they compared?", self.hint),
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.table, self.measure, self.draw])

    @property
    def _chosen(self) -> Results:
        return self._stored[self.table.value]

    @property
    def _measure(self) -> Metric:
        return measures_of(self._chosen.table)[self.measure.value]

    def _open(self) -> None:
        """Read the numbers of the chosen table."""
        self._cells = self._whole = self._summary = self._begun = pd.DataFrame()
        if self.table.value is None:
            return
        stored = self._chosen
        cells, whole = stored.cells, stored.summary()
        measured = set(cells["metric"])
        metrics = [metric for metric in measures_of(stored.table).values() if metric.key in measured]
        offer(self.measure, [(metric.label, metric.key) for metric in metrics])
        show_if(stored.table.baseline, self.draw)
        self._cells, self._whole = cells, whole

    def _judge(self) -> None:
        claims = [claim for claim in declared_claims() if claim.stored == self.table.value]
        if claims:
            self.claims.show(overall(measured_claims(self._chosen.folder, claims, self._workspace)))

    def _sum_up(self) -> None:
        whole = self._whole
        self._summary = self._begun = pd.DataFrame()
        if len(whole):
            summary = with_published(whole[whole["metric"] == self.measure.value], self._chosen.table)
            begun = summary["row"].isin(self._cells.loc[self._cells["status"] != NOT_RUN, "row"])
            self._summary, self._begun = summary, summary[begun]

    def _list(self) -> None:
        if self._summary.empty:
            return
        self.lines.show(_lines(self._begun, self._chosen, _difference(self._chosen.table, self._measure)))
        if not self.lines.chosen:
            self.lines.choose(list(self.lines.frame.index[:1]))

    def _explain(self) -> None:
        if self._summary.empty:
            return
        stored, measure, summary = self._chosen, self._measure, self._summary
        waiting = summary[~summary["row"].isin(self._begun["row"]) & (summary["missing"] > 0)]
        not_begun = labelled(waiting, stored.table, stored.scale)["row"]
        left_out = _missing(not_begun.unique()) + _earlier(self._cells, stored.table)
        self.hint.say(_provenance(stored, measure) + left_out, _reading(stored, measure))

    def _draw(self) -> None:
        if self._summary.empty:
            self.answer.say("No measured table here yet: run 'nmtlab grid' or 'nmtlab reproduce TABLE --save'.")
            return
        table, scale = self._chosen.table, self._chosen.scale
        named = drawn_labels(self._summary, table, scale)
        show: Shown = self.draw.value if table.baseline else "value"
        baseline = system_labels(table).get(table.baseline, "")
        self._drawn_lines = dict(zip(_keys(named), _keys(self._summary), strict=True))
        self.chart.show(table_figure(named, table.title, show, baseline, published_name(scale)))
        found = labelled(self._begun, table, scale)
        self.answer.say(table_finding(found, system_labels(table).get(table.baseline, ""), self._measure.better))

    def _offer(self) -> None:
        if self._summary.empty:
            return
        cells = self._cells[self._cells["metric"] == self.measure.value]
        picked = cells[[key == self.lines.value for key in _keys(cells)]]
        same_row = cells[cells["row"].isin(picked["row"])]
        row = picked["row"].iloc[0] if len(picked) else None
        scored = Scored.of(self._chosen, self._measure, row) if row else None
        self.trainings.offer(picked, same_row[same_row["column"] == self._chosen.table.baseline], scored)

    def _clicked(self, point: dict[str, Any]) -> None:
        self._behind.opened = True
        self.lines.choose([self._drawn_lines.get(line_key(point["meta"], point["customdata"][0]), "")])


def tables_page(workspace: Workspace | None = None) -> TablesPage:
    """Return the page."""
    return TablesPage(workspace or Workspace.find())


def _title(stored: Results) -> str:
    scale = "" if stored.scale == GRID else f", {stored.scale}"
    return f"{stored.table.name}{scale}: {stored.table.title}"


def _keys(lines: pd.DataFrame) -> list[str]:
    return [line_key(pair, system) for pair, system in zip(lines["row"], lines["column"], strict=True)]


def _difference(table: Declaration, measure: Metric) -> str:
    """Return the difference that is compared, in words; empty if there is no baseline."""
    if not table.baseline:
        return ""
    baseline = system_labels(table)[table.baseline]
    return f"|system| − |{baseline}|" if measure.better == "zero" else f"system − {baseline}"


def _lines(summed: pd.DataFrame, stored: Results, difference: str) -> pd.DataFrame:
    """Return the lines of a summary for display."""
    keys, summed = _keys(summed), labelled(summed, stored.table, stored.scale)
    names = {"row": "text", "column": "system", "mean": "measured", "bounds": "measured, 95 %", "seeds": "seeds"}
    summed = summed.assign(bounds=_bounds(summed, "mean_low", "mean_high"))
    if difference:
        summed = summed.assign(compared=_bounds(summed, "low", "high"))
        names |= {"difference": difference, "compared": "95 % interval", "interval": "interval covers"}
        names |= {"verdict": "verdict", "reason": "why undecided", "q": "q", "detectable": "detectable effect"}
        names |= {"bound": "equivalence bound"}
    names["diverged"] = "diverged"
    if summed["published"].ne("").any():
        name, last = published_name(stored.scale), "published_difference" if difference else "published"
        names |= {"published": name} | {last: "published difference" if difference else name}
        summed = summed.assign(**{last: summed[last] + summed["published_mark"]})
    shown = rounded(summed[list(names)]).rename(columns=names)
    return shown.set_index(pd.Index(keys))


def _bounds(lines: pd.DataFrame, low: str, high: str) -> list[str]:
    return [in_words(*ends) for ends in zip(lines[low], lines[high], strict=True)]


def _provenance(stored: Results, measure: Metric) -> str:
    """Say where a table comes from, and what its differences are."""
    table = stored.table
    parts = [f"Produced by '{stored.command}'; cells in {stored.path().name}."]
    if sources := list(published(table.name)["source"].unique()):
        other = "" if stored.scale == "thesis" else " Its text is another one: compare differences, not scores."
        parts.append(f"Published: {'; '.join(sources)}.{other}")
    if table.baseline:
        better = "below" if measure.better != "higher" else "above"
        parts.append(f"Differences are {_difference(table, measure)}; better is {better} 0.")
    return " ".join(parts)


def _missing(not_begun: Sequence[str]) -> str:
    """Say which texts of a table have no numbers yet, after a space; empty if all have."""
    return f" Not run yet: {' · '.join(not_begun)}." if len(not_begun) else ""


def _reading(stored: Results, measure: Metric) -> str:
    """Say what counts as a difference, what the systems lack, and how the score was computed."""
    table = stored.table
    rule = RULE if stored.scale != GRID else " ".join([*(f"{one}." for one in stored.decisions), GRID_RULE])
    parts = [rule] if table.baseline else []
    if published(table.name)["mark"].any():
        parts.append(f"Marks on published values: {table.marks}.")
    parts += [f"{caveat}." for caveat in caveats(table)]
    parts += [f"Signature of {line}." for line in printed_signatures(_signatures(stored, measure))]
    return " ".join(parts)


def _signatures(stored: Results, measure: Metric) -> pd.DataFrame:
    found = signatures(stored.table, stored.scale)
    return found[found["metric"] == measure.key]


def _earlier(cells: pd.DataFrame, table: Declaration) -> str:
    """Say which measures of a table's cells the table no longer has, after a space; empty if there are none."""
    others = [name for name in cells["metric"].unique() if name not in measures_of(table)]
    return f" Measured earlier by other definitions, and not shown: {', '.join(others)}." if others else ""
