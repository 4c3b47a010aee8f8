"""A table to choose runs of a workspace from."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import ipywidgets as widgets
import pandas as pd

from nmtlab.dashboards.page import Note
from nmtlab.dashboards.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.runs.listing import list_runs, open_run
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


class RunChooser(widgets.VBox):
    """The runs of a workspace, newest first, with their scores; runs that cannot be opened are named.

    Args:
        workspace: workspace with the runs.
        accepts: whether the page can show a run.
        first: names of the runs to choose initially, if available; otherwise the newest run.
        many: whether several runs can be chosen.
        title: title of the table.
    """

    def __init__(
        self,
        workspace: Workspace,
        accepts: Callable[[Run], bool] = lambda run: True,
        first: Sequence[str] = (),
        many: bool = True,
        title: str = "Runs",
    ) -> None:
        self._workspace, self._accepts, self._first = workspace, accepts, first
        self._seen: dict[str, tuple[int, ...]] = {}
        self.table = Table(title, pick="many" if many else "one", height="13em")
        self._note, self._lacking = Note(), Note()
        super().__init__([self.table, self._note, self._lacking])
        self.table.observe(lambda _: self._show_limits(), "value")
        self.refresh()

    @property
    def chosen(self) -> list[Run]:
        """The chosen runs, read again from disk."""
        names = self.table.value or ()
        return [open_run(name, self._workspace) for name in ((names,) if isinstance(names, str) else names)]

    def _show_limits(self) -> None:
        """Show which chosen runs were trained on dev or test pairs, and what packed ones cannot show."""
        facts: dict[str, list[str]] = {}
        for run in self.chosen:
            for fact in (run.overlap, run.limitations):
                facts.setdefault(fact, []).append(run.name)
        self._lacking.say(" ".join(f"{', '.join(names)}: {fact}." for fact, names in facts.items() if fact))

    def refresh(self) -> Collection[str]:
        """Update the list if runs were added, removed or changed; return `runs` if a chosen one has changed."""
        seen = _trace(self._workspace)
        if seen == self._seen:
            return ()
        before, self._seen = self._seen, seen
        runs, broken = list_runs(self._workspace)
        fitting = {}
        for run in runs:
            try:
                if self._accepts(run):
                    fitting[run.name] = _facts(run)
            except NmtlabError:  # a file that only `accepts` reads is damaged
                broken[run.name] = ""
        self.table.show(pd.DataFrame(fitting.values(), index=list(fitting)))
        if not self.table.chosen:
            names = list(fitting)
            self.table.choose([name for name in self._first if name in names] or names[:1])
        self._note.say(_named(len({run.name for run in runs} - fitting.keys() - broken.keys()), broken))
        chosen = set(self.table.chosen)
        return ("runs",) if any(name in chosen and before.get(name) != seen[name] for name in seen) else ()


def _facts(run: Run) -> dict[str, object]:
    scores = run.metrics("validation").get("bleu")
    return {
        "run": run.name,
        "pair": ", ".join(dict.fromkeys(f"{corpus.source}-{corpus.target}" for corpus in run.recipe.corpora)),
        "dev BLEU": float("nan") if scores is None or not len(scores) else round(float(scores.max()), 1),
        "updates": run.best_step,
        "state": "packed" if run.packed else run.status,
    }


def _named(unfit: int, broken: Collection[str]) -> str:
    sentences = []
    if unfit:
        sentences.append(f"{unfit} other {'run' if unfit == 1 else 'runs'} cannot be shown on this page.")
    if broken:
        sentences.append(f"Omitted as incomplete or damaged: {', '.join(broken)}; see 'nmtlab runs show NAME'.")
    return " ".join(sentences)


_WRITTEN_IN_TRAINING = ("recipe.toml", "metrics.jsonl", "checkpoints/best.safetensors")
"""Files whose modification times are compared: that of the folder also changes when a measure is stored in it."""


def _trace(workspace: Workspace) -> dict[str, tuple[int, ...]]:
    """Return, by run name, modification times that change when a run is added, removed or trained further."""
    folders = [path for parent in (workspace.packed_runs, workspace.runs) for path in sorted(parent.glob("[!.]*"))]
    return {
        path.name: tuple(_time(path / file) for file in _WRITTEN_IN_TRAINING) if path.is_dir() else (_time(path),)
        for path in folders
    }


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
