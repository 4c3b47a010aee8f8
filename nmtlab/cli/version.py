"""`nmtlab --version`."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer

import nmtlab
from nmtlab.errors import DISTRIBUTION, NmtlabError
from nmtlab.workspace import Workspace
from nmtlab_workbench import other_project


def show_version(wanted: bool) -> None:
    """Print the versions of nmtlab, Python and torch, the folders of nmtlab and of the data, and end the command.

    Raises:
        NmtlabError: the folder is also that of another project, or of another version.
    """
    if not wanted:
        return
    folder, installed = Path(nmtlab.__file__).parent, _installed(DISTRIBUTION)
    print(f"nmtlab {nmtlab.__version__} in {folder}{'' if installed else ', which is not installed'}")
    print(f"data in {Workspace.find().data.absolute()}")
    print(f"Python {platform.python_version()}, torch {_installed('torch') or 'is not installed'}")
    if other := other_project():
        raise NmtlabError(*other)
    if installed and installed != nmtlab.__version__:
        raise NmtlabError(
            f"{DISTRIBUTION} {installed} is installed, but the folder is of version {nmtlab.__version__}",
            f"install {DISTRIBUTION} again",
        )
    raise typer.Exit


def _installed(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
