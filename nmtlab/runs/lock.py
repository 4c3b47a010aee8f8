"""The lock that a process holds in the folder of a run while it trains or removes it."""

from pathlib import Path

from nmtlab.locks import is_locked
from nmtlab.reading import reading
from nmtlab.runs.schemas import Status

LOCK = ".lock"


def going_on(folder: Path) -> Status:
    """Return whether a run that has not ended is in training now, or was interrupted."""
    with reading(folder / LOCK, "check that it is a regular file that you may read"):
        return "training" if is_locked(folder / LOCK) else "interrupted"
