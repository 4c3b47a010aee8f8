"""The runs of a workspace: found by name, listed and removed."""

from contextlib import nullcontext
from pathlib import Path

from nmtlab.errors import NmtlabError
from nmtlab.files import remove_folder
from nmtlab.runs.run import LOCK, Run, held
from nmtlab.workspace import Workspace


def open_run(name: str, workspace: Workspace) -> Run:
    """Return the run `name` from the workspace's runs or, failing that, from the gallery.

    Raises:
        RunError: there is no such run, or the name is not allowed.
    """
    folder = workspace.run_folder(name)
    packed = workspace.gallery / name
    return _gallery_run(packed, workspace) if packed.is_dir() and not folder.exists() else Run(folder)


def list_runs(workspace: Workspace) -> tuple[list[Run], dict[str, str]]:
    """Return the runs, and the folders that cannot be opened as runs: name -> what is wrong.

    The workspace's runs come first, newest first, then those of the gallery by name. A run of the workspace hides one
    of the same name in the gallery.
    """
    trained = sorted(_folders(workspace.runs), key=lambda f: (f.stat().st_mtime, f.name), reverse=True)
    names = {folder.name for folder in trained}
    gallery = sorted(folder for folder in _folders(workspace.gallery) if folder.name not in names)
    runs: list[Run] = []
    broken: dict[str, str] = {}
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


def _gallery_run(folder: Path, workspace: Workspace) -> Run:
    return Run(folder, workspace.cache / "gallery")


def _folders(parent: Path) -> list[Path]:
    return [folder for folder in parent.glob("[!.]*") if folder.is_dir()]
