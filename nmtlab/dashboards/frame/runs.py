"""A table to choose runs of a workspace from."""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import ipywidgets as widgets

from nmtlab.analysis.access.needs import Need, unmet
from nmtlab.dashboards.frame.listed import group_of, grouped, omitted, row_of, run_table
from nmtlab.dashboards.frame.saved import CHOOSER
from nmtlab.dashboards.frame.systems import mentioned
from nmtlab.dashboards.widgets.fullnames import FullNames
from nmtlab.dashboards.widgets.note import Note, html
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.runs.listing import list_runs, open_run
from nmtlab.runs.naming import labelled
from nmtlab.runs.run import Run
from nmtlab.thesis.measured import scores_on_test
from nmtlab.workspace import Workspace


class RunChooser(widgets.VBox):
    """The runs of a workspace by text, newest first, with their scores; those that are left out are named.

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
        self._seen: dict[str, tuple[int, ...]] | None = None
        self.chosen: list[Run] = []
        self._test = scores_on_test(workspace)
        self.table = Table(title, pick="many" if many else "one", height="13em")
        self._names, self._omitted, self._facts = FullNames(), html("", "nmtlab-note"), Note()
        super().__init__([self.table, self._omitted, self._facts, self._names])
        self.add_class(CHOOSER)
        self.table.observe(lambda _: self._read(), "value")
        self.refresh()

    @property
    def first(self) -> Run | None:
        """The first of the chosen runs, if any is."""
        return next(iter(self.chosen), None)

    def _read(self) -> None:
        """Read the chosen runs; show their names, and which have seen dev or test pairs or cannot show all."""
        names = self.table.value or ()
        names = (names,) if isinstance(names, str) else names
        self.chosen = labelled([open_run(name, self._workspace) for name in names])
        facts: dict[str, list[Run]] = {}
        for run in self.chosen:
            for fact in (run.overlap, run.origin.limitations):
                facts.setdefault(fact, []).append(run)
        self.table.labels = {run.name: run.label for run in self.chosen}
        self._names.names = {run.label: run.name for run in self.chosen if run.label != run.name}
        none = "No run is chosen: choose one above." if len(self.table.frame) else self._none
        known = " ".join(f"{mentioned(some)}: {fact}." for fact, some in facts.items() if fact)
        self._facts.say(known if self.chosen else none)

    def refresh(self) -> Collection[str]:
        """Update the list if runs were added, removed or changed; return `runs` if a chosen one has changed."""
        seen = _trace(self._workspace)
        if seen == self._seen:
            return ()
        before, self._seen = self._seen, seen
        runs, broken = list_runs(self._workspace)
        fitting, rows, lacks = [], {}, {}
        for run in runs:
            try:
                if need := unmet(run, self._needs):
                    lacks[run.name] = need.lack
                else:
                    rows[run.name] = row_of(run, self._test.get(run.name, math.nan))
                    fitting.append(run)
            except NmtlabError:  # a file that only a need reads is damaged
                broken[run.name] = ""
        self._list(fitting, rows)
        self._omitted.value = omitted(lacks, list(broken))
        changed = before is not None and any(before.get(name) != seen.get(name) for name in self.table.chosen)
        if changed or not self.chosen:
            self._read()
        return ("runs",) if changed else ()

    def _list(self, runs: Sequence[Run], rows: Mapping[str, Mapping[str, object]]) -> None:
        """List runs; if none of the chosen ones is among them any more, choose others, unless the user chose none."""
        names, cleared = [run.name for run in runs], len(self.table.frame) > 0 and not self.table.chosen
        wanted = [name for name in self._first if name in names] or names[:1]
        ordered = grouped(runs, self.table.chosen or wanted)
        self.table.show(run_table([rows[run.name] for run in ordered]), [group_of(run) for run in ordered])
        if not self.table.chosen and not cleared:
            self.table.choose(wanted)


_WRITTEN_IN_TRAINING = ("recipe.toml", "metrics.jsonl", "checkpoints/best.safetensors")
"""Files whose modification times are compared: that of the folder also changes when a measure is stored in it."""


def _trace(workspace: Workspace) -> dict[str, tuple[int, ...]]:
    """Return, by run name, modification times that change when a run is added, removed or trained further."""
    parents = (workspace.evidence / "runs", workspace.gallery, workspace.runs)
    folders = [path for parent in parents for path in sorted(parent.glob("[!.]*"))]
    return {
        path.name: tuple(_time(path / file) for file in _WRITTEN_IN_TRAINING) if path.is_dir() else (_time(path),)
        for path in folders
    }


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
