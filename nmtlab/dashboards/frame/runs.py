"""A table to choose runs of a workspace from."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import Need
from nmtlab.dashboards.frame.chips import Chips, LongTable, panel
from nmtlab.dashboards.frame.listed import (
    about_runs,
    by_fact,
    group_of,
    grouped,
    limits,
    omitted,
    row_of,
    run_table,
    test_scores,
)
from nmtlab.dashboards.frame.saved import CHOOSER
from nmtlab.dashboards.frame.systems import mentioned
from nmtlab.dashboards.widgets.fullnames import FullNames
from nmtlab.dashboards.widgets.note import Note, html
from nmtlab.runs.index import RunIndex, changes
from nmtlab.runs.kept import Trace
from nmtlab.runs.listing import open_run
from nmtlab.runs.naming import labelled
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


class RunChooser(widgets.VBox):
    """The chosen runs as chips, and a panel with all by text, newest first, with their scores, to choose from.

    `chosen` are the chosen runs, with short names as labels, as they were when they were chosen or last changed.

    Args:
        workspace: workspace with the runs.
        needs: of the runs that the page can show; nothing if not given.
        first: names of the runs to choose initially, if available; otherwise the newest run.
        many: whether several runs can be chosen.
        title: title of the table.
        none: what to say if there is none to choose.
    """

    def __init__(
        self,
        workspace: Workspace,
        needs: Sequence[Need] | None = None,
        first: Sequence[str] = (),
        many: bool = True,
        title: str = "Runs",
        none: str = "",
    ) -> None:
        self._workspace, self._needs, self._first, self._none = workspace, needs or (), first, none
        self._seen: dict[str, Trace] | None = None
        self.chosen: list[Run] = []
        self._test = test_scores(workspace)
        self.table = LongTable(title, pick="many" if many else "one")
        self._chips = Chips("Choose runs" if many else "Choose a run", self.table, "runs")
        self._names, self._facts, self._warning = FullNames(), html("", "nmtlab-note"), Note()
        self._omitted = html("", "nmtlab-note")
        over = panel(self.table, self._omitted)
        super().__init__([self._chips, self._facts, self._warning, over, self._names])
        self.add_class(CHOOSER)
        self.table.observe(lambda _: self._read(), "value")
        self.refresh()

    def spread(self) -> None:
        """Show the list itself, and not in a panel."""
        self.table.send_rows()
        self.children = [self.table, self._omitted, self._facts, self._warning, self._names]

    @property
    def first(self) -> Run | None:
        """The first of the chosen runs, if any is."""
        return next(iter(self.chosen), None)

    def _read(self) -> None:
        """Read the chosen runs; show their names, what they cannot do, and which have seen dev or test pairs."""
        names = self.table.value or ()
        names = (names,) if isinstance(names, str) else names
        self.chosen = labelled([open_run(name, self._workspace) for name in names])
        self.table.labels = {run.name: run.label for run in self.chosen}
        self._names.names = {run.label: run.name for run in self.chosen if run.label != run.name}
        self._chips.chips = [self._chip(run) for run in self.chosen]
        self._facts.value = about_runs(self.chosen)
        none = "No run is chosen: choose one above." if len(self.table.frame) else self._none
        overlaps = " ".join(
            f"{mentioned(some)}: {fact}." for fact, some in by_fact(self.chosen, lambda run: run.overlap)
        )
        self._warning.say(overlaps if self.chosen else none)

    def _chip(self, run: Run) -> dict[str, str]:
        row = self.table.frame.loc[run.name]
        scores = ", ".join(f"{name} {row[name]}" for name in ("dev BLEU", "test BLEU") if pd.notna(row.get(name)))
        title = "; ".join(filter(None, [run.name, scores, limits(run)]))
        return {"key": run.name, "label": run.label, "title": title, "group": group_of(run)}

    def refresh(self) -> Collection[str]:
        """Update the list if runs were added, removed or changed; return `runs` if a chosen one has changed."""
        seen = changes(self._workspace)
        if seen == self._seen:
            return ()
        before, self._seen = self._seen, seen
        index = RunIndex(self._workspace)
        found = index.read(lambda name: self._lack(name, index) or self._row(name, index))
        index.save()
        rows = {name: row for name, row in found.items() if not isinstance(row, str)}
        lacks = {name: lack for name, lack in found.items() if isinstance(lack, str)}
        self._list(rows)
        self._omitted.value = omitted(lacks, list(index.broken))
        changed = before is not None and any(before.get(name) != seen.get(name) for name in self.table.chosen)
        if changed or not self.chosen:
            self._read()
        return ("runs",) if changed else ()

    def _lack(self, name: str, index: RunIndex) -> str:
        """Return what a run lacks for the page, if anything."""
        unmet = (need.lack for need in self._needs if not index.fact(name, need.lack, need.met))
        return next(unmet, "")

    def _row(self, name: str, index: RunIndex) -> dict[str, Any]:
        row = index.fact(name, "row", row_of)
        state = "packed" if row["packed"] else index.status(name)
        return {**row, "test BLEU": round(self._test.get(name, math.nan), 1), "state": state}

    def _list(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """List runs; if none of the chosen ones is among them any more, choose others, unless the user chose none."""
        cleared = len(self.table.frame) > 0 and not self.table.chosen
        wanted = [name for name in self._first if name in rows] or list(rows)[:1]
        ordered = [rows[name] for name in grouped(rows, self.table.chosen or wanted)]
        self.table.show(run_table(ordered), [row["group"] for row in ordered])
        if not self.table.chosen and not cleared:
            self.table.choose(wanted)
