"""The runs of a workspace: found by name, listed and removed."""

from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path

from nmtlab.errors import NmtlabError
from nmtlab.files import remove_folder
from nmtlab.runs.bundle import bundled_runs, bundles, opened_bundle
from nmtlab.runs.environment import provenance
from nmtlab.runs.run import ENVIRONMENT, LOCK, Run
from nmtlab.runs.writer import held
from nmtlab.workspace import Workspace


def open_run(name: str, workspace: Workspace) -> Run:
    """Return the run `name` from the workspace's runs or, failing that, from the gallery: a folder, or in a bundle.

    Raises:
        RunError: there is no such run, the name is not allowed, or a bundle is damaged.
    """
    folder = workspace.run_folder(name)
    if folder.exists():
        return Run(folder)
    packed = workspace.packed_runs / name
    if not packed.is_dir():
        packed = bundled_runs(bundles(workspace.packed_runs), workspace.cache).get(name, packed)
    return _gallery_run(packed, workspace) if packed.is_dir() else Run(folder)


def list_runs(workspace: Workspace) -> tuple[list[Run], dict[str, str]]:
    """Return the runs, and the folders and bundles that cannot be opened as runs: name -> what is wrong.

    The workspace's runs come first, newest first, then those of the gallery by name. A run of the workspace hides one
    of the same name in the gallery.
    """
    trained = sorted(_folders(workspace.runs), key=lambda f: (f.stat().st_mtime, f.name), reverse=True)
    names = {folder.name for folder in trained}
    packed, broken = _bundled(workspace)
    packed |= {folder.name: folder for folder in _folders(workspace.packed_runs)}
    gallery = [packed[name] for name in sorted(packed.keys() - names)]
    runs: list[Run] = []
    for folder in (*trained, *gallery):
        try:
            run = Run(folder) if folder.parent == workspace.runs else _gallery_run(folder, workspace)
            _ = run.recipe, run.environment, run.status, run.packed
            runs.append(run)
        except NmtlabError as error:
            broken[folder.name] = error.problem
        except OSError as error:
            broken[folder.name] = error.strerror or str(error)
    return runs, broken


def machines_of_runs(workspace: Workspace) -> set[tuple[str, str]]:
    """Return the name of each run, those in the gallery and its intact bundles included, with the kind of its machine.

    Two runs of a name, one in the workspace and one in the gallery, count both. The machine is as `provenance` names
    it, and empty for a run that cannot be read.
    """
    folders = [*_folders(workspace.runs), *_folders(workspace.packed_runs), *_bundled(workspace)[0].values()]
    return {(folder.name, _machine(folder, _changed(folder))) for folder in folders}


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


def _bundled(workspace: Workspace) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the runs in the bundles of the gallery, and the bundles that cannot be opened."""
    found: dict[str, Path] = {}
    broken: dict[str, str] = {}
    for file in bundles(workspace.packed_runs):
        try:
            found = {**opened_bundle(file, workspace.cache), **found}
        except NmtlabError as error:
            broken[file.name] = error.problem
        except OSError as error:
            broken[file.name] = error.strerror or str(error)
    return found, broken


@lru_cache(maxsize=4096)
def _machine(folder: Path, changed: int) -> str:
    """Return the kind of machine of a run, cached until the time of modification of its environment differs."""
    try:
        return provenance(Run(folder).environment)["machine"] if changed else ""
    except NmtlabError:
        return ""


def _changed(folder: Path) -> int:
    try:
        return (folder / ENVIRONMENT).stat().st_mtime_ns
    except OSError:
        return 0


def _gallery_run(folder: Path, workspace: Workspace) -> Run:
    return Run(folder, workspace.cache / "gallery")


def _folders(parent: Path) -> list[Path]:
    return [folder for folder in parent.glob("[!.]*") if folder.is_dir()]
