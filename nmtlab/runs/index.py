"""What lists say of the runs of a workspace, kept in its cache: only new and changed runs are opened."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nmtlab.errors import noting
from nmtlab.runs.archive import archives
from nmtlab.runs.kept import Trace, read_kept, trace, write_kept
from nmtlab.runs.lock import going_on
from nmtlab.runs.schemas import Status
from nmtlab.workspace import Workspace

if TYPE_CHECKING:  # it takes a second, and an index that is complete does without
    from nmtlab.runs.run import Run

T = TypeVar("T")

_GOING_ON = ("training", "interrupted")  # a lock tells which, and has no time
_TRAINED = ("recipe.toml", "metrics.jsonl", "checkpoints/best.safetensors")
_REST = ("environment.json", "packed.json", "imported.json", "inheritance.json", "probes/g.jsonl")
_NOTES = ("measures", "translations")
_FOLDERS = ("vocabulary", "probes", "probes/embedding_norms", *_NOTES)


class RunIndex:
    """Facts about the runs of a workspace, by name and in the order of `list_runs`, as they are at its creation.

    A fact is any JSON value that follows from the files of a run and from what is stored of it; `broken` notes what
    cannot be opened. `save` keeps the facts for other processes.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.broken: dict[str, str] = {}
        trained = sorted(_folders(workspace.runs), key=lambda one: (one.stat().st_mtime, one.name), reverse=True)
        self._trained = {folder.name: folder for folder in trained}
        packed = archives(workspace.evidence / "runs")
        self._places = self._trained | {name: packed[name] for name in sorted(packed) if name not in self._trained}
        notes = _notes(workspace)
        self._traces = {name: [*_trace(place), *notes.get(name, ())] for name, place in self._places.items()}
        stored = read_kept(self._file)
        self._facts = {
            name: stored[name][1] if name in stored and stored[name][0] == times else {}
            for name, times in self._traces.items()
        }
        self._runs: dict[str, Run] = {}
        self._new = False

    @property
    def trained(self) -> list[str]:
        """The names of the runs in the workspace's folder of runs, newest first."""
        return list(self._trained)

    def read(self, facts: Callable[[str], T]) -> dict[str, T]:
        """Return what a function says of each run, given its name; `broken` notes the runs for which it fails."""
        found: dict[str, T] = {}
        for name, place in self._places.items():
            with noting(self.broken, place.name):
                found[name] = facts(name)
        return found

    def fact(self, name: str, key: str, read: "Callable[[Run], Any]") -> Any:
        """Return a fact about a run: the stored one or, if there is none, what `read` says.

        Raises:
            NmtlabError, OSError: the run is damaged.
        """
        facts = self._facts[name]
        if key not in facts:
            facts[key] = read(self._run(name))
            self._new = True
        return facts[key]

    def status(self, name: str) -> Status:
        """Return the status of a run as it is now. Errors as `fact`."""
        status = self.fact(name, "status", lambda run: run.status)
        return going_on(self._trained[name]) if status in _GOING_ON and name in self._trained else status

    def save(self) -> None:
        """Store the facts, if there are new ones and the workspace can be written to."""
        if self._new:
            found = {name: [self._traces[name], facts] for name, facts in self._facts.items() if facts}
            write_kept(self._file, found)

    @property
    def _file(self) -> Path:
        return self._workspace.cache / "runs.json"

    def _run(self, name: str) -> "Run":
        if name not in self._runs:
            self._runs[name] = self._opened(name)
        return self._runs[name]

    def _opened(self, name: str) -> "Run":
        from nmtlab.runs.listing import check_complete, checked
        from nmtlab.runs.packed import packed_run
        from nmtlab.runs.run import Run

        if name not in self._trained:
            return checked(packed_run(self._places[name], self._workspace))
        check_complete(self._places[name])
        return checked(Run(self._places[name]))


def changes(workspace: Workspace) -> dict[str, Trace]:
    """Return, by run name, what changes when a run is added, removed or trained further, but not by what is measured.

    The time of a folder also changes when a measure is stored in it.
    """
    found = {name: trace([path]) for name, path in archives(workspace.evidence / "runs").items()}
    return found | {
        path.name: trace(path / file for file in _TRAINED) if path.is_dir() else trace([path])
        for path in sorted(workspace.runs.glob("[!.]*"))
    }


def _trace(place: Path) -> Trace:
    if place.is_file():
        return trace([place])
    times = trace(place / name for name in (*_TRAINED, *_REST, *_FOLDERS))
    is_child = (place / "inheritance.json").exists()  # whose parent may come and go beside it
    return [*times, *(trace([place.parent]) if is_child else ())]


def _notes(workspace: Workspace) -> dict[str, Trace]:
    """Return the traces of what is stored of packed runs, by the runs' names."""
    found: dict[str, Trace] = {}
    for folder in sorted(_folders(workspace.notes)):
        found.setdefault(folder.name.rpartition("-")[0], []).extend(trace(folder / name for name in _NOTES))
    return found


def _folders(parent: Path) -> list[Path]:
    return [folder for folder in parent.glob("[!.]*") if folder.is_dir()]
