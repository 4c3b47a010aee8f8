"""Choosing among the runs of a workspace."""

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
    """The runs there are, newest first, with their scores; what cannot be opened is named.

    Args:
        workspace: whose runs.
        accepts: which of them the page can ask something.
        first: names of the runs that are chosen at first, where they are there; else the first of all.
        many: whether several can be chosen.
        title: above them.
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
        self.table.observe(lambda _: self._tell(), "value")
        self.refresh()

    @property
    def chosen(self) -> list[Run]:
        """The chosen runs, read anew."""
        names = self.table.value or ()
        return [open_run(name, self._workspace) for name in ((names,) if isinstance(names, str) else names)]

    def _tell(self) -> None:
        """Say which of the chosen runs have learned from dev or test, and what those that are packed cannot show."""
        facts: dict[str, list[str]] = {}
        for run in self.chosen:
            for fact in (run.overlap, run.limitations):
                facts.setdefault(fact, []).append(run.name)
        self._lacking.say(" ".join(f"{', '.join(names)}: {fact}." for fact, names in facts.items() if fact))

    def refresh(self) -> Collection[str]:
        """List the runs anew if there is another one or one has gone on; say `runs` if a chosen one has."""
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
            except NmtlabError:  # a file that only this question reads is damaged
                broken[run.name] = ""
        self.table.show(pd.DataFrame(fitting.values(), index=list(fitting)))
        if not self.table.chosen:
            names = list(fitting)
            self.table.choose([name for name in self._first if name in names] or names[:1])
        self._note.say(_named(len({run.name for run in runs} - fitting.keys() - broken.keys()), broken))
        chosen = set(self.table.chosen)
        return ("runs",) if any(name in chosen and before.get(name) != seen[name] for name in seen) else ()


def _facts(run: Run) -> dict[str, object]:
    corpus, scores = run.recipe.corpus, run.metrics("validation").get("bleu")
    return {
        "run": run.name,
        "pair": f"{corpus.source}-{corpus.target}",
        "dev BLEU": float("nan") if scores is None or not len(scores) else round(float(scores.max()), 1),
        "updates": run.best_step,
        "state": "packed" if run.packed else run.status,
    }


def _named(unfit: int, broken: Collection[str]) -> str:
    sentences = []
    if unfit:
        sentences.append(f"{unfit} more {'run has' if unfit == 1 else 'runs have'} nothing to say to this question.")
    if broken:
        sentences.append(f"Not whole, and left out: {', '.join(broken)}; 'nmtlab runs show' says what is missing.")
    return " ".join(sentences)


_MADE_IN_TRAINING = ("recipe.toml", "metrics.jsonl", "checkpoints/best.safetensors")
"""Files whose times are compared: a folder's time changes too when an answer about the run is stored in it."""


def _trace(workspace: Workspace) -> dict[str, tuple[int, ...]]:
    """Return what changes when a run comes, goes or goes on, by its name."""
    folders = [path for parent in (workspace.gallery, workspace.runs) for path in sorted(parent.glob("[!.]*"))]
    return {path.name: tuple(_time(path / file) for file in _MADE_IN_TRAINING) for path in folders}


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
