"""The command `nmtlab`, outside of the folder `nmtlab`, where another project of that name may overwrite files."""

import sys
from importlib.metadata import PackageNotFoundError, version


def main() -> None:
    """Run the command; if the other project is in the way, print what to do, and end with exit code 2."""
    try:
        from nmtlab.cli import main as command
    except ImportError:
        if other := other_project():
            sys.stderr.write(f"nmtlab: {'; '.join(other)}\n")
            sys.exit(2)
        raise
    command()


def other_project() -> tuple[str, str] | None:
    """Return what is wrong, and what to do, if the index's package `nmtlab` is installed in this folder; else None."""
    try:
        found = version("nmtlab")
    except PackageNotFoundError:
        return None
    return (
        f"the package nmtlab {found}, another project of that name, is installed in the same folder",
        "run 'pip uninstall nmtlab nmtlab-workbench', and install nmtlab-workbench again",
    )
