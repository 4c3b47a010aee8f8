"""File locks for one process at a time; the system releases a lock when its holder ends, however it ends.

Some network disks have no locks. There work goes on without them, after a warning, and no lock counts as held.
"""

import time
import warnings
from functools import cache
from pathlib import Path
from typing import TextIO

import portalocker
from portalocker import LockFlags
from portalocker.exceptions import AlreadyLocked, LockException

_EXCLUSIVE = LockFlags.EXCLUSIVE | LockFlags.NON_BLOCKING
_TRIES = 100
_PAUSE = 0.01  # seconds


def lock(path: Path) -> TextIO | None:
    """Return a file, open for appending and locked if the disk has locks, or None if another process holds it.

    The lock is held until the file is closed, in this process and in those that inherited it. `is_locked` holds it for
    a moment too, so this retries for a second before giving up.

    Args:
        path: of the file, which is created if missing.
    """
    file = path.open("a", encoding="utf-8")
    for _ in range(_TRIES):
        try:
            portalocker.lock(file, _EXCLUSIVE)
        except AlreadyLocked:
            time.sleep(_PAUSE)
            continue
        except LockException as error:
            _warn(getattr(error.__cause__, "strerror", "") or str(error))
        return file
    file.close()
    return None


def try_lock(file: int) -> bool:
    """Lock an open file, given its descriptor, until it is closed; return whether this process now holds the lock."""
    try:
        portalocker.lock(file, _EXCLUSIVE)
    except LockException:
        return False
    return True


def is_locked(path: Path) -> bool:
    """Return whether another process holds the lock on a file; processes may check concurrently."""
    try:
        with path.open(encoding="utf-8") as file:
            portalocker.lock(file, LockFlags.SHARED | LockFlags.NON_BLOCKING)
    except AlreadyLocked:
        return True
    except (LockException, FileNotFoundError):
        return False
    return False


@cache
def _warn(reason: str) -> None:
    """Warn once in this process that locks do not work."""
    warnings.warn(
        f"this disk has no file locks ({reason}): do not train or measure a run in two processes at once", stacklevel=3
    )
