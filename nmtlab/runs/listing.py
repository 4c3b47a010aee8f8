"""The runs of a workspace: found by name, listed and removed."""

from contextlib import nullcontext
from pathlib import Path

from nmtlab.errors import NmtlabError
from nmtlab.files import remove_folder
from nmtlab.runs.run import LOCK, Run, held
from nmtlab.workspace import Workspace


def open_run(name: str, workspace: Workspace) -> Run:
    """Return the run of that name: of the workspace's own runs or, if it is none of them, of the gallery.

    Raises:
        RunError: there is none, or the name is not allowed.
    """
    own = workspace.run_folder(name)
    packed = workspace.gallery / name
    return _gallery_run(packed, workspace) if packed.is_dir() and not own.exists() else Run(own)


def list_runs(workspace: Workspace) -> tuple[list[Run], dict[str, str]]:
    """Return the runs and, of folders that cannot be opened as one, by name, what is wrong.

    The workspace's own come first, the newest first; then those of the gallery by name, except where a run of one's
    own has the name.
    """
    own = sorted(_folders(workspace.runs), key=lambda f: (f.stat().st_mtime, f.name), reverse=True)
    names = {folder.name for folder in own}
    gallery = sorted(folder for folder in _folders(workspace.gallery) if folder.name not in names)
    runs: list[Run] = []
    broken: dict[str, str] = {}
    for folder in (*own, *gallery):
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
    """Remove a run's folder, whole or damaged; of a link to one, the link alone.

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
