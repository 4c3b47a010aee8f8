"""A table to choose runs of a workspace from."""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import ipywidgets as widgets

from nmtlab.analysis.access.needs import Need, unmet
from nmtlab.dashboards.frame.listed import group_of, grouped, omitted, row_of, run_table
from nmtlab.dashboards.frame.page import Note, html
from nmtlab.dashboards.frame.saved import CHOOSER
from nmtlab.dashboards.frame.systems import mentioned
from nmtlab.dashboards.widgets.fullnames import FullNames
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.experiments.measured import scores_on_test
from nmtlab.runs.listing import list_runs, open_run
from nmtlab.runs.naming import labelled
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


class RunChooser(widgets.VBox):
    """The runs of a workspace by text, newest first, with their scores; those that are left out are named.

    Args:
        workspace: workspace with the runs.
        needs: of the runs that the page can show.
        first: names of the runs to choose initially, if available; otherwise the newest run.
        many: whether several runs can be chosen.
        title: title of the table.
    """

    def __init__(
        self,
        workspace: Workspace,
        needs: Sequence[Need] = (),
        first: Sequence[str] = (),
        many: bool = True,
        title: str = "Runs",
    ) -> None:
        self._workspace, self._needs, self._first = workspace, needs, first
        self._seen: dict[str, tuple[int, ...]] = {}
        self._test = scores_on_test(workspace)
        self.table = Table(title, pick="many" if many else "one", height="13em")
        self._names, self._omitted, self._lacking = FullNames(), html("", "nmtlab-note"), Note()
        super().__init__([self.table, self._omitted, self._lacking, self._names])
        self.add_class(CHOOSER)
        self.table.observe(lambda _: self._show_chosen(), "value")
        self.refresh()

    @property
    def chosen(self) -> list[Run]:
        """The chosen runs, read again from disk, with short names as labels."""
        names = self.table.value or ()
        names = (names,) if isinstance(names, str) else names
        return labelled([open_run(name, self._workspace) for name in names])

    def none_chosen(self, otherwise: str) -> str:
        """Return what to say if no run is chosen.

        Args:
            otherwise: what to say if there is none to choose.
        """
        return "No run is chosen: choose one above." if len(self.table.frame) else otherwise

    def _show_chosen(self) -> None:
        """Show what the chosen runs are called, which have seen dev or test pairs, and what they cannot show."""
        facts: dict[str, list[Run]] = {}
        chosen = self.chosen
        for run in chosen:
            for fact in (run.overlap, run.origin.limitations):
                facts.setdefault(fact, []).append(run)
        self.table.labels = {run.name: run.label for run in chosen}
        self._names.names = {run.label: run.name for run in chosen if run.label != run.name}
        self._lacking.say(" ".join(f"{mentioned(some)}: {fact}." for fact, some in facts.items() if fact))

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
        chosen = set(self.table.chosen)
        return ("runs",) if any(name in chosen and before.get(name) != seen[name] for name in seen) else ()

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
