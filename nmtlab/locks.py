"""One process at a time: a lock on a file, which the system gives up when its holder ends, however it ends."""

import time
from pathlib import Path
from typing import TextIO

import portalocker
from portalocker import LockFlags
from portalocker.exceptions import LockException

_TRIES = 100
_PAUSE = 0.01  # seconds


def lock(path: Path) -> TextIO | None:
    """Return a file, open for appending and locked, or None where another process holds it.

    The lock is held until the file is closed, in this process and in those that have inherited it. Whoever only looks
    whether a file is locked holds it for a moment, so this waits a second before it gives up.

    Args:
        path: of the file, which is made.
    """
    file = path.open("a", encoding="utf-8")
    for _ in range(_TRIES):
        if try_lock(file.fileno()):
            return file
        time.sleep(_PAUSE)
    file.close()
    return None


def try_lock(file: int) -> bool:
    """Lock an open file, by its number, until it is closed; return whether nobody else holds it."""
    try:
        portalocker.lock(file, LockFlags.EXCLUSIVE | LockFlags.NON_BLOCKING)
    except LockException:
        return False
    return True


def is_locked(path: Path) -> bool:
    """Return whether another process holds a file; several may look at once."""
    try:
        with path.open(encoding="utf-8") as file:
            portalocker.lock(file, LockFlags.SHARED | LockFlags.NON_BLOCKING)
    except LockException:
        return True
    except FileNotFoundError:
        return False
    return False
