"""File locks for one process at a time; the system releases a lock when its holder ends, however it ends."""

import time
from pathlib import Path
from typing import TextIO

import portalocker
from portalocker import LockFlags
from portalocker.exceptions import LockException

_TRIES = 100
_PAUSE = 0.01  # seconds


def lock(path: Path) -> TextIO | None:
    """Return a file, open for appending and locked, or None if another process holds it.

    The lock is held until the file is closed, in this process and in those that inherited it. `is_locked` holds it for
    a moment too, so this retries for a second before giving up.

    Args:
        path: of the file, which is created if missing.
    """
    file = path.open("a", encoding="utf-8")
    for _ in range(_TRIES):
        if try_lock(file.fileno()):
            return file
        time.sleep(_PAUSE)
    file.close()
    return None


def try_lock(file: int) -> bool:
    """Lock an open file, given its descriptor, until it is closed; return whether the lock was free."""
    try:
        portalocker.lock(file, LockFlags.EXCLUSIVE | LockFlags.NON_BLOCKING)
    except LockException:
        return False
    return True


def is_locked(path: Path) -> bool:
    """Return whether another process holds the lock on a file; processes may check concurrently."""
    try:
        with path.open(encoding="utf-8") as file:
            portalocker.lock(file, LockFlags.SHARED | LockFlags.NON_BLOCKING)
    except LockException:
        return True
    except FileNotFoundError:
        return False
    return False
