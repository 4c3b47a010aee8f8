"""The runs of a workspace: found by name, listed and removed."""

from contextlib import nullcontext
from pathlib import Path

from nmtlab.errors import RunError, noting
from nmtlab.files import remove_folder
from nmtlab.runs.environment import provenance
from nmtlab.runs.lock import LOCK
from nmtlab.runs.packed import (
    machine_of,
    machines_in,
    open_evidence,
    open_packed,
    packed_archives,
    packed_runs,
)
from nmtlab.runs.run import ENVIRONMENT, Run, not_found
from nmtlab.runs.writer import held
from nmtlab.workspace import Workspace

_GOES_ON = ("training", "interrupted", "stopped")  # such a run reads its corpora again


def open_run(name: str, workspace: Workspace) -> Run:
    """Return the run `name`: the workspace's or, failing that, a packed one that the workspace shows.

    Raises:
        RunError: there is no such run, the name is not allowed, or its archive is damaged.
    """
    folder = workspace.run_folder(name)
    if folder.exists():
        return Run(folder)
    if packed := open_packed(name, workspace):
        return packed
    raise not_found(name, packed_archives(workspace).keys() | {folder.name for folder in _folders(workspace.runs)})


def open_run_of(name: str, machine: str, workspace: Workspace) -> Run | None:
    """Return the run `name` that was trained on a kind of machine; None if it is neither here nor in the evidence.

    A run of that name from another machine is another training: processors round differently.
    """
    folder = workspace.run_folder(name)
    here = Run(folder) if folder.is_dir() else None
    for run in (here, open_packed(name, workspace), open_evidence(name, workspace)):
        if run and provenance(run.environment)["machine"] == machine:
            return run
    return None


def list_runs(workspace: Workspace) -> tuple[list[Run], dict[str, str]]:
    """Return the runs, and what cannot be opened as a run: name of a folder or an archive -> what is wrong,
    and what to do.

    The workspace's runs come first, newest first, then the packed ones by name. A run of the workspace hides a packed
    one of the same name.
    """
    trained = sorted(_folders(workspace.runs), key=lambda f: (f.stat().st_mtime, f.name), reverse=True)
    names = {folder.name for folder in trained}
    packed, broken = packed_runs(workspace)
    runs: dict[str, Run] = {}
    for folder in trained:
        with noting(broken, folder.name):
            check_complete(folder)
            runs[folder.name] = checked(Run(folder))
    for name in (name for name in packed if name not in names):
        with noting(broken, name):
            runs[name] = checked(packed[name])
    return list(runs.values()), dict(sorted(broken.items()))


def machines_of_runs(workspace: Workspace) -> set[tuple[str, str]]:
    """Return the name of each run, packed ones included, with the kind of its machine.

    Two runs of a name, one trained here and one packed, count both. The machine is as `provenance` names it, and empty
    for a run that cannot be read.
    """
    trained = {(folder.name, machine_of(folder)) for folder in _folders(workspace.runs)}
    return trained | machines_in(workspace.evidence / "runs")


def unfinished_runs(corpus: str, workspace: Workspace) -> list[Run]:
    """Return the runs of the workspace that need a corpus to go on, those in training first.

    Args:
        corpus: its name.
        workspace: where the runs are; those that cannot be read are left out.
    """
    runs = [run for run in list_runs(workspace)[0] if not run.origin.packed and run.status in _GOES_ON]
    using = [run for run in runs if any(named.name == corpus for named in run.recipe.corpora)]
    return sorted(using, key=lambda run: run.status != "training")


def remove_run(folder: Path) -> None:
    """Remove a run's folder, intact or damaged; if it is a link, remove only the link.

    Raises:
        RunError: another process is training the run.
    """
    if folder.is_symlink():
        folder.unlink()
        return
    with nullcontext() if (folder / LOCK).is_dir() else held(folder):
        remove_folder(folder)


def check_complete(folder: Path) -> None:
    """Raise `RunError` if a folder lacks a file that every run has from its beginning."""
    missing = [name for name in ("recipe.toml", ENVIRONMENT) if not (folder / name).exists()]
    if missing:
        raise RunError(f"incomplete run ({missing[0]} is missing)", f"'nmtlab runs remove {folder.name}' removes it")


def checked(run: Run) -> Run:
    """Read what a list of runs shows; raises the error of a damaged run."""
    _ = run.recipe, run.environment, run.status, run.origin.packed
    return run


def _folders(parent: Path) -> list[Path]:
    return [folder for folder in parent.glob("[!.]*") if folder.is_dir()]
